// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace riesz {

/// How a model has its images: square, in grey (1 channel) or in red, green and blue (3).
struct ImageForm {
  std::int64_t channels = 1;
  std::int64_t size = 28;
};

/// Pictures, and the number of what each shows.
struct ImageSet {
  at::Tensor images;               ///< (n, channels, size, size), bytes
  at::Tensor labels;               ///< (n), int64, below names.size()
  std::vector<std::string> names;  ///< of the labels

  std::int64_t count() const { return labels.size(0); }
  /// Those of these numbers, in their order.
  ImageSet of(const std::vector<std::int64_t>& numbers) const;
};

/// What a folder has: pictures to learn from, and others to measure by, if it says which; else those are of
/// count 0.
struct ImageSets {
  ImageSet learnt;
  ImageSet held_out;
};

/// Images (…, 1 or 3, height, width) of bytes in a form: the shorter side brought to its size, by the mean of
/// neighbours where that is smaller and between neighbours where it is larger (torch's bilinear with
/// antialias), then the middle of the longer side; colours to grey by 0.299, 0.587 and 0.114. What has the
/// form is left as it is.
at::Tensor to_form(const at::Tensor& images, const ImageForm& form);

/// The pictures of a folder, which has either
///
///     train-images-idx3-ubyte  train-labels-idx1-ubyte  t10k-images-idx3-ubyte  t10k-labels-idx1-ubyte
///
/// as MNIST and Fashion-MNIST, each with .gz or without, where t10k's are to measure by; or a folder of PNG
/// or JPEG files for each label, named as it, whose files are all those below it with such a name; or the
/// folders `train`, and `val` or `test`, of these: of both it is `val` that is measured by. Labels are
/// numbered in the order of their names. Hidden files are left out. Local; memory: the images, and one
/// file's.
/// @throws Error naming the file or the folder: what it should have, and has not; as `read_image` and
/// `read_idx` do.
ImageSets read_image_sets(const std::filesystem::path& folder, const ImageForm& form);

}  // namespace riesz
