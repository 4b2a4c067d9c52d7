// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/data/text_task.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "riesz/comm/error.h"
#include "riesz/io/byte_text.h"
#include "riesz/io/draws.h"
#include "riesz/io/escaped.h"
#include "riesz/partition/alike.h"
#include "riesz/train/config/schema.h"
#include "riesz/train/report/sample.h"

namespace riesz {
namespace {

/// The windows' first bytes are what is read, their last ones what should follow.
Batch batch_of(const at::Tensor& rows) {
  const std::int64_t length = rows.size(1) - 1;
  return {rows.narrow(1, 0, length).contiguous(), rows.narrow(1, 1, length).contiguous()};
}

}  // namespace

TextTask::TextTask(const Config& config)
    : bytes_(read_bytes(config.data.text)),
      length_(sequence_length(config)),
      trained_(std::llround((1 - config.data.held_out) * static_cast<double>(bytes_.size()))),
      seed_(static_cast<std::uint64_t>(config.train.seed)),
      sample_(config.data.sample),
      temperature_(config.data.temperature),
      origin_(config.data.text) {
  const std::int64_t rest = static_cast<std::int64_t>(bytes_.size()) - trained_;
  RIESZ_CHECK(std::min(trained_, rest) > length_, "\"", origin_, "\" is too short: of its ", bytes_.size(),
              " bytes, ", trained_, " would be trained on and ", rest,
              " held out, and each must be more than ",
              value_and_origin(config, config.data.length > 0 ? "data.length" : "model.context"),
              "; name a longer file, or set a shorter data.length");
  order_ = permutation((rest - 1) / length_, Draws(seed_, "held out"));
}

Batch TextTask::batch(std::int64_t first, std::int64_t sequences) const {
  std::vector<std::int64_t> starts;
  for (std::int64_t row = first; row < first + sequences; ++row) {
    Draws draws(seed_, "data", static_cast<std::uint64_t>(row));
    starts.push_back(static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(trained_ - length_))));
  }
  return batch_of(windows(bytes_, 0, starts, length_ + 1));
}

Batch TextTask::held_out(std::int64_t begin, std::int64_t end) const {
  std::vector<std::int64_t> starts(order_.begin() + begin, order_.begin() + end);
  for (std::int64_t& start : starts) start *= length_;
  return batch_of(windows(bytes_, trained_, starts, length_ + 1));
}

std::uint64_t TextTask::digest() const { return riesz::digest(bytes_); }

std::string TextTask::describe() const {
  return concat("bytes of \"", origin_, "\": ", trained_, " to train on, ",
                static_cast<std::int64_t>(bytes_.size()) - trained_, " held out");
}

std::vector<std::string> TextTask::report(const Predict& model, double held_out_loss) const {
  char bits[64];
  std::snprintf(bits, sizeof bits, "held-out loss: %.4f bits per byte", held_out_loss / std::numbers::ln2);
  std::vector<std::string> lines{bits};
  if (sample_ == 0) return lines;
  const std::int64_t before = std::max<std::int64_t>(1, length_ / 2);
  const std::string prompt =
      bytes_.substr(static_cast<std::size_t>(trained_), static_cast<std::size_t>(before));
  lines.push_back(concat("after the first ", prompt.size(), " held-out bytes, the model writes:"));
  std::vector<TokenId> ids;
  for (const char byte : prompt) ids.push_back(static_cast<unsigned char>(byte));
  std::string written;
  for (const TokenId id : sample(model, ids, {sample_, vocabulary(), length_, temperature_, seed_}))
    written += static_cast<char>(id);
  const std::vector<std::string> quoted = quoted_lines(printable(written));
  lines.insert(lines.end(), quoted.begin(), quoted.end());
  return lines;
}

}  // namespace riesz
