// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/data/byte_source.h"

#include <algorithm>
#include <cmath>

#include "riesz/comm/error.h"
#include "riesz/io/byte_text.h"
#include "riesz/io/draws.h"
#include "riesz/io/escaped.h"
#include "riesz/io/tokenizer/plain_tokenizer.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/train/config/schema.h"
#include "riesz/train/data/task.h"

namespace riesz {
namespace {

/// Of the byte tokenizer.
std::int64_t token_of(char byte) { return static_cast<unsigned char>(byte); }

}  // namespace

ByteSource::ByteSource(const Config& config)
    : bytes_(read_bytes(config.data.text)),
      length_(sequence_length(config)),
      trained_(std::llround((1 - config.data.held_out) * static_cast<double>(bytes_.size()))),
      seed_(static_cast<std::uint64_t>(config.train.seed)),
      origin_(config.data.text) {
  const std::int64_t rest = static_cast<std::int64_t>(bytes_.size()) - trained_;
  RIESZ_CHECK(std::min(trained_, rest) > length_, in_quotes(origin_), " is too short: of its ", bytes_.size(),
              " bytes, ", trained_, " would be trained on and ", rest,
              " held out, and each must be more than ",
              value_and_origin(config, config.data.length > 0 ? "data.length" : "model.context"),
              "; name a longer file, or set a shorter data.length");
  order_ = permutation((rest - 1) / length_, Draws(seed_, "held out"));
}

void ByteSource::window(std::int64_t start, std::int64_t* inputs, std::int64_t* targets) const {
  const char* const from = bytes_.data() + start;
  std::transform(from, from + length_, inputs, token_of);
  std::transform(from + 1, from + 1 + length_, targets, token_of);
}

void ByteSource::read(std::int64_t number, std::int64_t* inputs, std::int64_t* targets) const {
  Draws draws(seed_, "data", static_cast<std::uint64_t>(number));
  const auto start = static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(trained_ - length_)));
  window(start, inputs, targets);
}

void ByteSource::read_held_out(std::int64_t place, std::int64_t* inputs, std::int64_t* targets) const {
  window(trained_ + length_ * order_[static_cast<std::size_t>(place)], inputs, targets);
}

std::vector<TokenId> ByteSource::first_held_out(std::int64_t count) const {
  std::vector<TokenId> ids;
  for (std::int64_t i = 0; i < count; ++i)
    ids.push_back(static_cast<TokenId>(token_of(bytes_[static_cast<std::size_t>(trained_ + i)])));
  return ids;
}

Tokenizer ByteSource::tokenizer() const { return Tokenizer(byte_tokenizer()); }

std::uint64_t ByteSource::digest() const { return riesz::digest(bytes_); }

std::string ByteSource::describe() const {
  return concat("bytes of ", in_quotes(origin_), ": ", trained_, " to train on, ",
                static_cast<std::int64_t>(bytes_.size()) - trained_, " held out");
}

}  // namespace riesz
