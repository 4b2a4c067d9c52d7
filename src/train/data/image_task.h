// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "riesz/io/images/image_set.h"
#include "riesz/io/images/preprocessing.h"
#include "riesz/io/tokens/seeded_permutation.h"
#include "riesz/train/data/task.h"

namespace riesz {

/// Image classification on a folder (`list_images`); each host has one copy of the images. Labels are
/// numbered in the order of config.labels, or where that is empty in the order of their names. Each epoch
/// visits the training images in an order of its own. Held out are those that the folder says, else a choice
/// by the seed. How far an image is shifted, and whether it is mirrored, is drawn by (seed, its place in
/// training). With data.skip_damaged files that cannot be read are left out. The draw of held-out images
/// counts them all the same, so repairing a file moves no other image between training and held-out.
class ImageTask final : public Task {
 public:
  /// Collective over the job.
  /// @throws Error as `list_images` and `read_images`, for any image. Also if there
  /// is one label alone, if nothing is left to hold out or to train on, or if config.labels are others than
  /// the folder's, naming them.
  explicit ImageTask(const Config& config);

  std::int64_t vocabulary() const override { return static_cast<std::int64_t>(training_.names.size()); }
  std::vector<std::string> label_names() const override { return training_.names; }
  DataUnit unit() const override { return {.row = "image", .counted = "image"}; }
  /// Inputs of (rows, channels, size, size) in fp32: (byte / 255 − data.mean) / data.deviation.
  Batch batch(std::int64_t first, std::int64_t rows) const override;
  std::int64_t held_out() const override { return held_out_.count(); }
  Batch held_out(std::int64_t begin, std::int64_t end) const override;
  std::string describe() const override;
  std::uint64_t digest() const override { return digest_; }
  /// The accuracy over all held-out images, and of the 10 labels with the lowest accuracy.
  std::vector<std::string> report(const Predict& model, const HeldOut& held_out) const override;

 private:
  /// Shifts and mirrors an image of bytes, by the draws of its place in training.
  void augment(const at::Tensor& image, std::int64_t place) const;

  std::string origin_;
  std::uint64_t seed_;
  std::int64_t shift_;
  bool mirror_;
  std::int64_t at_once_;  // images that the model sees in a call of the report
  Preprocessing preprocessing_;
  ImageSet training_;
  ImageSet held_out_;
  std::string skipped_;  // in words
  std::optional<SeededPermutation> held_out_order_;
  std::uint64_t digest_ = 0;
};

/// The numbers in a key's text, such as "0.485, 0.456, 0.406": one for all channels, or one for each.
/// @throws Error naming the key and the text.
std::vector<double> numbers_of_channels(const Config& config, const std::string& key,
                                        const std::string& text);

/// The preprocessing of an image by the keys, before the model sees it.
/// @throws Error as `numbers_of_channels`.
Preprocessing preprocessing_of(const Config& config);

}  // namespace riesz
