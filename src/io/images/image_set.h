// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "riesz/io/images/image_form.h"

namespace riesz {

/// Images, and the number of each one's label.
struct ImageSet {
  at::Tensor images;               ///< (n, channels, size, size), bytes
  at::Tensor labels;               ///< (n), int64, below names.size()
  std::vector<std::string> names;  ///< of the labels

  std::int64_t count() const { return labels.size(0); }
  /// The images of these numbers, in their order.
  ImageSet of(const std::vector<std::int64_t>& numbers) const;
};

/// What a folder has: images to train on, and images to measure by. Where the folder does not say which are
/// held out, there are none of these.
struct ImageSets {
  ImageSet training;
  ImageSet held_out;
};

/// A file's image in the form, (channels, size, size). Local. @throws Error naming the file, as `read_image`
/// and `to_form`.
at::Tensor read_in_form(const std::filesystem::path& file, const ImageForm& form);

/// The images of a folder in a form (`to_form`). The folder has one of these:
///
/// - train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, as
///   MNIST and Fashion-MNIST have, each with .gz or without; t10k is held out;
/// - a folder for each label, named as the label, with PNG or JPEG files anywhere below it;
/// - the folder `train`, and `val` or `test`, each with a folder for each label; `val` is held out, or `test`
///   where there is no `val`.
///
/// Labels are numbered in the order of their names. Hidden files are left out. Local. Memory: the images, and
/// one file. @throws Error naming the file or the folder and what it lacks; as `read_image` and `read_idx`.
ImageSets read_image_sets(const std::filesystem::path& folder, const ImageForm& form);

/// How many it would read, by heads and names alone; 0 where it would refuse the folder. Local.
std::int64_t count_images(const std::filesystem::path& folder);

}  // namespace riesz
