// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace riesz {

/// A list of images, with the number of each one's label. `read_images` reads the pixels.
struct ImageList {
  std::filesystem::path array;               ///< the idx file that has them all as its rows; or empty
  std::vector<std::filesystem::path> files;  ///< of each image its own, where there is no array
  at::Tensor labels;                         ///< (n), int64, below names.size()
  std::vector<std::string> names;            ///< of the labels

  std::int64_t count() const { return labels.defined() ? labels.size(0) : 0; }
  /// The images of these numbers, in their order. @pre each has a file of its own
  ImageList subset(const std::vector<std::int64_t>& numbers) const;
};

/// The images of a folder. Unless it says which are held out, none are.
struct ImageLists {
  ImageList training;
  ImageList held_out;
};

/// Lists the images of a folder. The folder must have one of these:
///
/// - train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, as
///   MNIST and Fashion-MNIST have, each with .gz or without; t10k is held out;
/// - a folder for each label, named as the label, with PNG or JPEG files anywhere below it;
/// - the folder `train`, and `val` or `test`, each with a folder for each label; `val` is held out, or `test`
///   where there is no `val`.
///
/// Labels are numbered in the order of their names. Hidden files are left out. Local.
/// @throws Error naming the file or the folder and what it lacks, or two labels that print alike; also as
/// `read_idx`.
ImageLists list_images(const std::filesystem::path& folder);

/// How many images `list_images` lists; 0 where it throws. Local.
std::int64_t count_images(const std::filesystem::path& folder);

}  // namespace riesz
