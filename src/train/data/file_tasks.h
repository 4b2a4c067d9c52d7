// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <vector>

#include "riesz/train/data/field_files.h"
#include "riesz/train/data/normalisation.h"
#include "riesz/train/data/row_numbers.h"
#include "riesz/train/data/task.h"

namespace riesz {

/// Rows of the files of data.inputs and data.targets. Each worker reads the boxes that it holds, and no more
/// bytes. The workers first read all rows once, each a share, and check their numbers.
class FileTask : public Task {
 public:
  std::int64_t held_out() const override { return rows_.held_out(); }
  Batch batch(std::int64_t first, std::int64_t rows) const override {
    return batch_of(rows_.trained(first, rows));
  }
  Batch held_out(std::int64_t begin, std::int64_t end) const override {
    return batch_of(RowNumbers::of_held_out(begin, end));
  }
  std::string describe() const override;
  std::uint64_t digest() const override { return digest_; }
  std::map<std::string, std::string> files() const override;

 protected:
  /// Collective over the job. @throws Error as `open_field_files`, `RowNumbers` and `FieldMoments`.
  FileTask(const Config& config, bool coordinates);

  /// The targets of the rows with these numbers.
  virtual Rows targets_of(std::vector<std::int64_t> numbers) const = 0;
  std::int64_t size() const { return files_.inputs.shape().back(); }

  FieldFiles files_;
  RowNumbers rows_;
  Normalisation normalisation_;

 private:
  Batch batch_of(const std::vector<std::int64_t>& numbers) const;
  Rows inputs_of(std::vector<std::int64_t> numbers) const;

  bool coordinates_;  // behind the channels of the file
  std::uint64_t digest_ = 0;
};

/// The labels of all pixels of images, from masks.
class MasksTask final : public FileTask {
 public:
  /// Collective over the job. @throws Error as `FileTask` and `check_labels`.
  explicit MasksTask(const Config& config);

  std::int64_t vocabulary() const override { return labels_; }
  /// "0", "1", …
  std::vector<std::string> label_names() const override;
  DataUnit unit() const override { return {.row = "image", .counted = "pixel", .each = size() * size()}; }
  std::vector<std::string> report(const Predict& model, const HeldOut& held_out) const override;
  /// Each row an image, the mean of its channels, its labels and those that the model gives.
  at::Tensor picture(const Predict& model, std::int64_t rows) const override;

 private:
  Rows targets_of(std::vector<std::int64_t> numbers) const override;

  std::int64_t labels_;
};

/// Fields from fields. The model is given two channels of coordinates besides, as `with_coordinates`.
class FieldsTask final : public FileTask {
 public:
  /// Collective over the job. @throws Error as `FileTask`, and on all workers naming a target without a norm
  /// in fp32, such as a field of zeros.
  explicit FieldsTask(const Config& config);

  std::int64_t vocabulary() const override { return channels_of(files_.targets); }
  DataUnit unit() const override {
    return {.row = "field", .counted = "field", .loss = "relative error in L2"};
  }
  std::vector<std::string> report(const Predict& model, const HeldOut& held_out) const override;
  /// Each row the first channel of a field, of its target and of what the model finds.
  at::Tensor picture(const Predict& model, std::int64_t rows) const override;

 private:
  Rows targets_of(std::vector<std::int64_t> numbers) const override;
};

}  // namespace riesz
