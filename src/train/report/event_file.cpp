// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/event_file.h"

#include <array>
#include <bit>
#include <optional>

namespace riesz {
namespace {

std::array<std::uint32_t, 256> remainders() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? 0x82f63b78U : 0U);
    table[byte] = rest;
  }
  return table;
}

/// The lowest byte first.
std::string bytes_of(std::uint64_t number, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += static_cast<char>((number >> (8 * i)) & 0xff);
  return text;
}

std::string masked_checksum(std::string_view bytes) {
  return bytes_of(std::rotr(crc32c(bytes), 15) + 0xa282ead8U, 4);
}

// The parts of protocol buffers that events have: a field's number with the kind of what follows, and that.

std::string varint(std::uint64_t number) {
  std::string text;
  for (; number >= 128; number >>= 7) text += static_cast<char>((number & 127) | 128);
  return text + static_cast<char>(number);
}

std::string whole(std::uint64_t field, std::int64_t number) {
  return varint(field << 3) + varint(static_cast<std::uint64_t>(number));
}
std::string real(std::uint64_t field, double number) {
  return varint((field << 3) | 1) + bytes_of(std::bit_cast<std::uint64_t>(number), 8);
}
std::string single(std::uint64_t field, float number) {
  return varint((field << 3) | 5) + bytes_of(std::bit_cast<std::uint32_t>(number), 4);
}
std::string part(std::uint64_t field, const std::string& text) {
  return varint((field << 3) | 2) + varint(text.size()) + text;
}

/// Event: wall_time 1, step 2, file_version 3, summary 5; Summary: value 1; Value: tag 1, simple_value 2.
std::string event(double time, const Row& row) {
  std::string values;
  const auto add = [&](const char* tag, std::optional<double> value) {
    if (value) values += part(1, part(1, tag) + single(2, static_cast<float>(*value)));
  };
  add("loss/train", row.loss);
  add("loss/held_out", row.held_out_loss);
  add("iou/held_out", row.overlap);
  add("learning_rate", row.learning_rate);
  add("gradient_norm", row.gradient_norm);
  add("rate", row.rate);
  if (row.experts) {
    add("experts/expert_load", row.experts->expert_load);
    add("experts/dropped", row.experts->dropped);
    add("experts/gate_entropy", row.experts->gate_entropy);
  }
  return real(1, time) + whole(2, row.step) + part(5, values);
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = remainders();
  std::uint32_t rest = 0xffffffffU;
  for (const char byte : bytes) rest = (rest >> 8) ^ table[(rest ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~rest;
}

std::string tf_record(std::string_view bytes) {
  const std::string length = bytes_of(bytes.size(), 8);
  return length + masked_checksum(length) + std::string(bytes) + masked_checksum(bytes);
}

RowFormat event_file(double began) {
  return {tf_record(real(1, began) + part(3, "brain.Event:2")),
          [began](const Row& row) { return tf_record(event(began + row.seconds, row)); }};
}

}  // namespace riesz
