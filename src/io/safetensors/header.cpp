// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/safetensors/header.h"

#include <c10/core/ScalarType.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/json/strict_json.h"
#include "riesz/io/safetensors/types.h"

namespace riesz {
namespace {

constexpr const char* kMetadata = "__metadata__";
constexpr std::int64_t kLength = 8;

/// What messages begin with.
std::string of_file(const std::string& file) { return "cannot read " + in_quotes(file) + ": "; }
std::string of_tensor(const std::string& file, const std::string& tensor) {
  return of_file(file) + "tensor " + in_quotes(tensor) + ": ";
}

/// A list of integers that are not negative.
std::vector<std::int64_t> numbers(const Json& list, const std::string& what) {
  RIESZ_CHECK(list.is_array(), what, " is no list");
  std::vector<std::int64_t> result;
  for (const Json& number : list) {
    RIESZ_CHECK(number.is_number_unsigned() && number.get<std::uint64_t>() <= INT64_MAX, what, " has ",
                in_short(number.dump(-1, ' ', false, Json::error_handler_t::replace)),
                ", which is no integer from 0 to 2^63 - 1");
    result.push_back(number.get<std::int64_t>());
  }
  return result;
}

std::int64_t bytes_of(const StoredTensor& tensor, const std::string& what) {
  auto product = static_cast<std::int64_t>(c10::elementSize(tensor.type));
  for (const std::int64_t n : tensor.shape) {
    RIESZ_CHECK(!__builtin_mul_overflow(product, n, &product), what, "the shape ",
                at::IntArrayRef(tensor.shape), " has more than 2^63 - 1 bytes");
  }
  return product;
}

/// One tensor, its place still counted from the data's beginning.
StoredTensor tensor_in(const std::string& file, const std::string& name, const Json& object) {
  const std::string what = of_tensor(file, name);
  RIESZ_CHECK(object.is_object(), what, "it is no JSON object with dtype, shape and data_offsets");
  for (const auto& [member, value] : object.items()) {
    RIESZ_CHECK(member == "dtype" || member == "shape" || member == "data_offsets", what, "a member ",
                in_quotes(member), "; it may have dtype, shape and data_offsets only");
  }
  for (const char* member : {"dtype", "shape", "data_offsets"})
    RIESZ_CHECK(object.contains(member), what, "no ", member);
  RIESZ_CHECK(object["dtype"].is_string(), what, "its dtype is no text");
  const auto& type_name = object["dtype"].get_ref<const std::string&>();
  const auto type = safetensors_type(type_name);
  RIESZ_CHECK(type, what, "the dtype ", in_quotes(type_name), " is none of ", safetensors_names());
  StoredTensor tensor{name, *type, numbers(object["shape"], what + "its shape"), {}};
  const std::vector<std::int64_t> offsets = numbers(object["data_offsets"], what + "its data_offsets");
  RIESZ_CHECK(offsets.size() == 2 && offsets[0] <= offsets[1], what, "its data_offsets are ",
              at::IntArrayRef(offsets), ", not where it begins and where it ends");
  tensor.place = {offsets[0], offsets[1]};
  const std::int64_t bytes = bytes_of(tensor, what);
  RIESZ_CHECK(tensor.place.size() == bytes, what, "its data_offsets ", at::IntArrayRef(offsets), " have ",
              tensor.place.size(), " bytes, and ", type_name, " of ", at::IntArrayRef(tensor.shape), " has ",
              bytes);
  return tensor;
}

std::map<std::string, std::string> metadata_in(const std::string& file, const Json& object) {
  RIESZ_CHECK(object.is_object(), of_file(file), kMetadata, " is no JSON object");
  std::map<std::string, std::string> metadata;
  for (const auto& [name, value] : object.items()) {
    RIESZ_CHECK(value.is_string(), of_file(file), kMetadata, ": ", in_quotes(name), " is no text");
    metadata[name] = value.get<std::string>();
  }
  return metadata;
}

/// The data have each byte in one tensor.
void check_places(const std::string& file, const std::vector<StoredTensor>& tensors, std::int64_t data) {
  std::int64_t covered = 0;
  const StoredTensor* before = nullptr;
  for (const StoredTensor& tensor : tensors) {
    const std::string what = of_tensor(file, tensor.name);
    RIESZ_CHECK(tensor.place.begin >= covered, what, "it begins at byte ", tensor.place.begin,
                " of the data and overlaps ", in_quotes(before ? before->name : ""), ", which ends at ",
                covered);
    RIESZ_CHECK(tensor.place.begin == covered, what, "a hole of ", tensor.place.begin - covered,
                " bytes is before it; the data must have no holes");
    RIESZ_CHECK(tensor.place.end <= data, what, "it ends at byte ", tensor.place.end,
                " of the data, and the file has ", data, "; the file is cut off");
    covered = tensor.place.end;
    before = &tensor;
  }
  RIESZ_CHECK(covered == data, of_file(file), "it has ", data, " bytes of data, and its tensors ", covered,
              "; nothing may come after the last one");
}

}  // namespace

std::int64_t StoredTensor::numel() const {
  std::int64_t product = 1;
  for (const std::int64_t n : shape) product *= n;
  return product;
}

std::int64_t StoredTensor::bytes() const {
  return numel() * static_cast<std::int64_t>(c10::elementSize(type));
}

std::int64_t SafetensorsHeader::file_bytes() const {
  return tensors.empty() ? bytes : tensors.back().place.end;
}

SafetensorsHeader parse_header(const std::string& file, std::string_view text, std::int64_t file_bytes) {
  RIESZ_CHECK(text.starts_with('{'), of_file(file), "its head does not begin with {");
  const Json object = strict_json(of_file(file) + "its head", text, 2);
  SafetensorsHeader header;
  header.bytes = kLength + static_cast<std::int64_t>(text.size());
  for (const auto& [name, value] : object.items()) {
    if (name == kMetadata)
      header.metadata = metadata_in(file, value);
    else
      header.tensors.push_back(tensor_in(file, name, value));
  }
  std::sort(header.tensors.begin(), header.tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return std::tie(a.place.begin, a.place.end) < std::tie(b.place.begin, b.place.end);
  });
  check_places(file, header.tensors, file_bytes - header.bytes);
  for (StoredTensor& tensor : header.tensors) {
    tensor.place.begin += header.bytes;
    tensor.place.end += header.bytes;
  }
  return header;
}

namespace {

/// The JSON, without padding; `data` is where the data begin.
std::string json_text_of(const SafetensorsHeader& header, std::int64_t data) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  if (!header.metadata.empty()) object[kMetadata] = header.metadata;
  for (const StoredTensor& tensor : header.tensors) {
    object[tensor.name] = {{"dtype", safetensors_name(tensor.type)},
                           {"shape", tensor.shape},
                           {"data_offsets", {tensor.place.begin - data, tensor.place.end - data}}};
  }
  return object.dump();
}

}  // namespace

SafetensorsHeader lay_out(std::vector<StoredTensor> tensors, std::map<std::string, std::string> metadata) {
  std::sort(tensors.begin(), tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
    const int first = safetensors_order(a.type);
    const int second = safetensors_order(b.type);
    return first != second ? first > second : a.name < b.name;
  });
  SafetensorsHeader header{std::move(tensors), std::move(metadata), 0};
  std::int64_t end = 0;
  for (StoredTensor& tensor : header.tensors) {
    tensor.place = {end, end + tensor.bytes()};
    end = tensor.place.end;
  }
  const auto json = static_cast<std::int64_t>(json_text_of(header, 0).size());
  header.bytes = kLength + (json + 7) / 8 * 8;
  for (StoredTensor& tensor : header.tensors) {
    tensor.place.begin += header.bytes;
    tensor.place.end += header.bytes;
  }
  return header;
}

std::string header_bytes(const SafetensorsHeader& header) {
  std::string text = json_text_of(header, header.bytes);
  text.resize(static_cast<std::size_t>(header.bytes - kLength), ' ');
  RIESZ_CHECK(text.size() <= static_cast<std::size_t>(kLongestHeader), "safetensors: a head of ", text.size(),
              " bytes, for ", header.tensors.size(), " tensors; the longest is ", kLongestHeader);
  std::string bytes;
  for (int i = 0; i < kLength; ++i) bytes += static_cast<char>((text.size() >> (8 * i)) & 0xff);
  return bytes + text;
}

}  // namespace riesz
