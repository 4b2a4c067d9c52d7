// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/data/token_task.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numbers>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/train/data/byte_source.h"
#include "riesz/train/data/folder_source.h"
#include "riesz/train/report/sample.h"

namespace riesz {
namespace {

/// Each row is written by write(row, inputs, targets).
Batch batch_of(std::int64_t rows, std::int64_t length,
               const std::function<void(std::int64_t, std::int64_t*, std::int64_t*)>& write) {
  const at::Tensor all = at::empty({2, rows, length}, at::kLong);
  auto* const inputs = all.mutable_data_ptr<std::int64_t>();
  auto* const targets = inputs + rows * length;
  for (std::int64_t row = 0; row < rows; ++row) write(row, inputs + row * length, targets + row * length);
  return {all.select(0, 0), all.select(0, 1)};
}

std::unique_ptr<const TokenSource> source_of(const Config& config) {
  if (config.data.task == "text") return std::make_unique<ByteSource>(config);
  return std::make_unique<FolderSource>(config);
}

}  // namespace

TokenTask::TokenTask(const Config& config)
    : length_(sequence_length(config)),
      seed_(static_cast<std::uint64_t>(config.train.seed)),
      sample_(config.data.sample),
      temperature_(config.data.temperature),
      source_(source_of(config)) {
  if (sample_ > 0) tokenizer_ = source_->tokenizer();
}

Batch TokenTask::batch(std::int64_t first, std::int64_t sequences) const {
  return batch_of(sequences, length_, [&](std::int64_t row, std::int64_t* inputs, std::int64_t* targets) {
    source_->read(first + row, inputs, targets);
  });
}

Batch TokenTask::held_out(std::int64_t begin, std::int64_t end) const {
  return batch_of(end - begin, length_, [&](std::int64_t row, std::int64_t* inputs, std::int64_t* targets) {
    source_->read_held_out(begin + row, inputs, targets);
  });
}

std::vector<std::string> TokenTask::report(const Predict& model, const HeldOut& held_out) const {
  char numbers[128];
  std::snprintf(numbers, sizeof numbers, "held-out perplexity: %.4f (%.4f bits per %s)",
                std::exp(held_out.loss), held_out.loss / std::numbers::ln2, source_->token());
  std::vector<std::string> lines{numbers};
  if (sample_ == 0) return lines;
  const std::int64_t before = std::max<std::int64_t>(1, length_ / 2);
  lines.push_back(concat("after the first ", before, " held-out ", source_->token(), "s, the model writes:"));
  const std::vector<TokenId> written =
      sample(model, source_->first_held_out(before), {sample_, vocabulary(), length_, temperature_, seed_});
  const std::vector<std::string> quoted = quoted_lines(printable(tokenizer_->decode(written)));
  lines.insert(lines.end(), quoted.begin(), quoted.end());
  return lines;
}

}  // namespace riesz
