// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/gguf/header.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/gguf/head_reader.h"
#include "riesz/io/gguf/read_metadata.h"

namespace riesz {
namespace {

constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr std::int64_t kLongestName = 64;     // of a tensor, as ggml has it
constexpr std::uint32_t kMostDims = 4;
constexpr std::int64_t kLeastMetadata = 8 + 1 + 4 + 1, kLeastTensor = 8 + 1 + 4 + 8 + 4 + 8;
constexpr std::int64_t kGreatestAlignment = std::int64_t{1} << 30;
constexpr const char* kAlignment = "general.alignment";

std::int64_t aligned(std::int64_t at, std::int64_t alignment) {
  return (at + alignment - 1) / alignment * alignment;
}

std::uint32_t read_version(HeadReader& in) {
  if (in.number<std::uint32_t>("its beginning") != kMagic)
    in.refuse("it does not begin with GGUF; it is no GGUF file, or it is damaged");
  const auto version = in.number<std::uint32_t>("its version");
  if (version != 0 && (version & 0xffff) == 0)
    in.refuse("its version is turned round: it is big-endian; only little-endian files are read");
  if (version != 2 && version != 3)
    in.refuse(concat("its version is ", version, "; 2 and 3 are read",
                     version == 1 ? "; make it anew with a llama.cpp of today" : ""));
  return version;
}

/// The bytes that so many elements of a type take; the shape is rows first.
std::int64_t bytes_of(HeadReader& in, const GgufType& type, const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1, bytes = 0;
  for (const std::int64_t n : shape) {
    if (n < 1) in.refuse(concat("a dim of ", n, " elements; each has 1 at least"));
    if (__builtin_mul_overflow(elements, n, &elements))
      in.refuse(concat("the shape ", at::IntArrayRef(shape), " has more than 2^63 - 1 elements"));
  }
  if (shape.back() % type.elements != 0)
    in.refuse(concat("its rows have ", shape.back(), " elements, no multiple of the ", type.elements,
                     " of a block of ", type.name));
  if (__builtin_mul_overflow(elements / type.elements, type.bytes, &bytes))
    in.refuse(concat("the shape ", at::IntArrayRef(shape), " has more than 2^63 - 1 bytes"));
  return bytes;
}

/// One tensor, its place still counted from the data's beginning.
GgufTensor read_tensor(HeadReader& in) {
  GgufTensor tensor{.name = in.text("its name", kLongestName)};
  if (tensor.name.empty()) in.refuse("it has no name");
  in.at_place("tensor " + in_quotes(tensor.name));
  const auto dims = in.number<std::uint32_t>("its number of dims");
  if (dims < 1 || dims > kMostDims)
    in.refuse(concat("it has ", dims, " dims; a tensor has 1 to ", kMostDims));
  for (std::uint32_t i = 0; i < dims; ++i) tensor.shape.push_back(in.number<std::int64_t>("a dim"));
  std::reverse(tensor.shape.begin(), tensor.shape.end());
  const auto number = in.number<std::uint32_t>("its type");
  tensor.type = gguf_type(number);
  if (tensor.type == nullptr)
    in.refuse(concat("its type is ", gguf_type_name(number), ", which is not read here; ", gguf_type_names(),
                     " are. Take the model in one of these"));
  const std::int64_t bytes = bytes_of(in, *tensor.type, tensor.shape);
  const auto begin = in.number<std::int64_t>("where it begins");
  std::int64_t end = 0;
  if (begin < 0 || __builtin_add_overflow(begin, bytes, &end))
    in.refuse(concat("it begins at byte ", static_cast<std::uint64_t>(begin),
                     " of the data, and would end beyond 2^63 - 1"));
  tensor.place = {begin, end};
  return tensor;
}

std::int64_t alignment_of(HeadReader& in, const GgufMetadata& metadata) {
  const std::int64_t alignment = metadata.integer(kAlignment, 32);
  in.at_place("metadata " + in_quotes(kAlignment));
  if (alignment < 1 || alignment > kGreatestAlignment || (alignment & (alignment - 1)) != 0)
    in.refuse(concat("it is ", alignment, "; it must be a power of two, at most ", kGreatestAlignment));
  return alignment;
}

/// The tensors lie one behind the other, each where the alignment first lets it.
void check_places(HeadReader& in, const GgufHeader& header, std::int64_t file_bytes) {
  std::int64_t covered = 0;
  const std::int64_t data = std::max<std::int64_t>(file_bytes - header.data, 0);
  const GgufTensor* before = nullptr;
  for (const GgufTensor& tensor : header.tensors) {
    in.at_place("tensor " + in_quotes(tensor.name));
    const auto [begin, end] = tensor.place;
    if (begin < covered)
      in.refuse(concat("it begins at byte ", begin, " of the data and overlaps ",
                       in_quotes(before ? before->name : ""), ", which ends at ", covered));
    if (begin % header.alignment != 0)
      in.refuse(concat("it begins at byte ", begin, " of the data, no multiple of the alignment, ",
                       header.alignment));
    if (begin - covered >= header.alignment)
      in.refuse(concat("a hole of ", begin - covered, " bytes is before it; less than the alignment, ",
                       header.alignment, ", may be"));
    if (end > data)
      in.refuse(
          concat("it ends at byte ", end, " of the data, and the file has ", data, "; the file is cut off"));
    covered = end;
    before = &tensor;
  }
  in.at_place("");
  if (data - covered >= header.alignment)
    in.refuse(concat("it has ", data, " bytes of data, and its tensors end at ", covered,
                     "; nothing may come after the last one"));
}

}  // namespace

std::int64_t GgufTensor::numel() const {
  std::int64_t product = 1;
  for (const std::int64_t n : shape) product *= n;
  return product;
}

GgufHeader read_gguf_header(const File& file) {
  HeadReader in(file, kLongestGgufHead);
  GgufHeader header{.version = read_version(in)};
  // Their number first, then that of the metadata, which come before them.
  const std::int64_t tensors = in.count("the list of its tensors", kLeastTensor);
  const std::int64_t metadata = in.count("its metadata", kLeastMetadata);
  header.metadata = read_metadata(in, file.path().string(), metadata);
  std::set<std::string> names;
  for (std::int64_t i = 0; i < tensors; ++i) {
    in.at_place(concat("tensor ", i + 1, " of ", tensors));
    header.tensors.push_back(read_tensor(in));
    if (!names.insert(header.tensors.back().name).second) in.refuse("the name stands there twice");
  }
  header.alignment = alignment_of(in, header.metadata);
  header.data = aligned(in.position(), header.alignment);
  std::sort(header.tensors.begin(), header.tensors.end(), [](const GgufTensor& a, const GgufTensor& b) {
    return std::tie(a.place.begin, a.place.end) < std::tie(b.place.begin, b.place.end);
  });
  check_places(in, header, file.bytes());
  for (GgufTensor& tensor : header.tensors) {
    tensor.place.begin += header.data;
    tensor.place.end += header.data;
  }
  return header;
}

}  // namespace riesz
