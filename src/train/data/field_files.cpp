// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/data/field_files.h"

#include <string>

#include "riesz/comm/error.h"
#include "riesz/train/config/schema.h"

namespace riesz {
namespace {

StoredArray open_array(const Config& config, const char* key, const std::string& place) {
  RIESZ_CHECK(!place.empty(), key, " names no file to learn from; add ", key, "=FILE.npy");
  try {
    return StoredArray(place);
  } catch (const Error& error) {
    throw Error(concat(error.what(), "; ", value_and_origin(config, key)));
  }
}

void check_dims(const Config& config, const char* key, const StoredArray& array, bool is_mask) {
  const std::size_t dims = array.shape().size();
  RIESZ_CHECK(dims == 3 || (dims == 4 && !is_mask), value_and_origin(config, key), " has the shape ",
              at::IntArrayRef(array.shape()), "; it must be (rows, height, width)",
              is_mask ? ": a label of each pixel" : " or (rows, channels, height, width)");
}

void check_rows_and_columns(const Config& config, const char* key, const StoredArray& array) {
  const std::vector<std::int64_t>& shape = array.shape();
  const std::int64_t height = shape[shape.size() - 2], width = shape.back();
  RIESZ_CHECK(height == width, value_and_origin(config, key), " has fields of ", height, " x ", width,
              "; a model is trained on fields with as many rows as columns: cut them out so");
  RIESZ_CHECK(height == config.model.image, value_and_origin(config, "model.image"), ", and ",
              value_and_origin(config, key), " has fields of ", height, " x ", width, "; set model.image to ",
              height);
}

}  // namespace

FieldFiles open_field_files(const Config& config) {
  const bool masks = config.data.task == "masks";
  FieldFiles files{open_array(config, "data.inputs", config.data.inputs),
                   open_array(config, "data.targets", config.data.targets)};
  check_dims(config, "data.inputs", files.inputs, false);
  check_dims(config, "data.targets", files.targets, masks);
  RIESZ_CHECK(!masks || at::isIntegralType(files.targets.type(), /*includeBool=*/true),
              value_and_origin(config, "data.targets"), " has elements of type ", files.targets.type(),
              "; labels are integers: write masks as such, or set data.task to \"fields\"");
  RIESZ_CHECK(files.rows() == files.targets.shape().front(), value_and_origin(config, "data.inputs"), " has ",
              files.rows(), " rows, and ", value_and_origin(config, "data.targets"), " has ",
              files.targets.shape().front(), "; each row of one belongs to that of the other");
  check_rows_and_columns(config, "data.inputs", files.inputs);
  check_rows_and_columns(config, "data.targets", files.targets);
  RIESZ_CHECK(channels_of(files.inputs) == config.model.channels, value_and_origin(config, "model.channels"),
              ", and ", value_and_origin(config, "data.inputs"), " has ", channels_of(files.inputs),
              "; set model.channels to that");
  return files;
}

std::int64_t channels_of(const StoredArray& fields) {
  return fields.shape().size() == 4 ? fields.shape()[1] : 1;
}

at::Tensor read_fields(const StoredArray& fields, const Box& box) {
  if (fields.shape().size() == 4) return fields.read(box);
  return fields.read({box[0], box[2], box[3]}).unsqueeze(1).narrow(1, 0, box[1].size());
}

}  // namespace riesz
