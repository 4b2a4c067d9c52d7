// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/data/adder_task.h"

#include <ATen/ops/argmax.h>
#include <ATen/ops/cat.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "riesz/comm/error.h"
#include "riesz/io/draws.h"
#include "riesz/partition/agreement/alike.h"

namespace riesz {
namespace {

constexpr std::int64_t kAtOnce = 1000;  // sums that the model answers in one call
constexpr std::int64_t kShown = 6;      // sums that the report prints

std::string percent(std::int64_t part, std::int64_t of) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f %%", 100.0 * static_cast<double>(part) / static_cast<double>(of));
  return text;
}

}  // namespace

AdderTask::AdderTask(const Config& config)
    : adder_(static_cast<int>(config.data.digits)), seed_(static_cast<std::uint64_t>(config.train.seed)) {
  const std::vector<std::int64_t> order = permutation(adder_.size(), Draws(seed_, "held out"));
  const auto count = std::llround(config.data.held_out * static_cast<double>(adder_.size()));
  RIESZ_CHECK(count >= 1 && count < adder_.size(), "data.held_out = ", config.data.held_out, " keeps ", count,
              " of ", adder_.size(),
              " sums out of training; at least one must be held out, and one trained on");
  held_out_.assign(order.begin(), order.begin() + count);
  training_.assign(order.begin() + count, order.end());
}

Batch AdderTask::batch_of(const std::vector<std::int64_t>& sums) const {
  const at::Tensor sequences = adder_.sequences(sums);
  at::Tensor targets = sequences.narrow(1, 1, length()).clone();  // one row's contiguous() would be a view
  targets.narrow(1, 0, adder_.question() - 1).fill_(-1);
  return {sequences.narrow(1, 0, length()).contiguous(), targets};
}

Batch AdderTask::batch(std::int64_t first, std::int64_t sequences) const {
  const auto n = static_cast<std::int64_t>(training_.size());
  std::vector<std::int64_t> sums;
  for (std::int64_t i = first; i < first + sequences; ++i) {
    if (i / n != epoch_) {
      epoch_ = i / n;
      order_ = permutation(n, Draws(seed_, "data", static_cast<std::uint64_t>(epoch_)));
    }
    sums.push_back(training_[static_cast<std::size_t>(order_[static_cast<std::size_t>(i % n)])]);
  }
  return batch_of(sums);
}

Batch AdderTask::held_out(std::int64_t begin, std::int64_t end) const {
  return batch_of({held_out_.begin() + begin, held_out_.begin() + end});
}

std::uint64_t AdderTask::digest() const {
  return riesz::digest(concat("sums of ", adder_.digits(), ", ", held_out_.size(), " held out by ", seed_));
}

std::string AdderTask::describe() const {
  return concat("sums of two numbers of ", adder_.digits(),
                adder_.digits() == 1 ? " digit: " : " digits: ", training_.size(), " to train on, ",
                held_out_.size(), " held out");
}

std::vector<std::int64_t> AdderTask::answers(const Predict& model,
                                             const std::vector<std::int64_t>& sums) const {
  at::Tensor ids = adder_.sequences(sums).narrow(1, 0, adder_.question());
  for (std::int64_t digit = 0; digit < adder_.answer(); ++digit) {
    ids = at::cat({ids, at::argmax(model(ids), 1, /*keepdim=*/true)}, 1);
  }
  std::vector<std::int64_t> found;
  const at::Tensor written = ids.narrow(1, adder_.question(), adder_.answer()).contiguous();
  const auto* digit = written.const_data_ptr<std::int64_t>();
  for (std::size_t row = 0; row < sums.size(); ++row, digit += adder_.answer()) {
    found.push_back(Adder::number({digit, digit + adder_.answer()}));
  }
  return found;
}

AdderTask::Score AdderTask::score(const Predict& model, const std::vector<std::int64_t>& sums) const {
  Score score;
  for (auto from = sums.begin(); from != sums.end();) {
    const auto to = from + std::min(kAtOnce, static_cast<std::int64_t>(sums.end() - from));
    const std::vector<std::int64_t> some(from, to);
    const std::vector<std::int64_t> found = answers(model, some);
    for (std::size_t i = 0; i < some.size(); ++i) {
      score.exact += found[i] == adder_.first(some[i]) + adder_.second(some[i]);
    }
    score.of += static_cast<std::int64_t>(some.size());
    from = to;
  }
  return score;
}

std::string AdderTask::sum_text(std::int64_t sum, std::int64_t answer) const {
  const std::int64_t a = adder_.first(sum), b = adder_.second(sum);
  char text[96];
  std::snprintf(text, sizeof text, "  %*lld + %*lld = %*lld  %s", adder_.digits(), static_cast<long long>(a),
                adder_.digits(), static_cast<long long>(b), adder_.digits() + 1,
                static_cast<long long>(answer), answer == a + b ? "right" : concat("wrong: ", a + b).c_str());
  return text;
}

std::vector<std::string> AdderTask::report(const Predict& model, const HeldOut&) const {
  const Score trained = score(model, training_);
  const Score held_out = score(model, held_out_);
  const Score all{trained.exact + held_out.exact, trained.of + held_out.of};
  std::vector<std::string> lines{"exact answers, greedily, all digits right:"};
  const auto line = [&](const char* name, const Score& s) {
    lines.push_back(concat("  ", name, percent(s.exact, s.of), "  (", s.exact, " of ", s.of, ")"));
  };
  line("trained on  ", trained);
  line("held out    ", held_out);
  line("all sums    ", all);

  lines.push_back("some held-out sums with the model's answers:");
  const std::vector<std::int64_t> shown(held_out_.begin(),
                                        held_out_.begin() + std::min(kShown, this->held_out()));
  const std::vector<std::int64_t> found = answers(model, shown);
  for (std::size_t i = 0; i < shown.size(); ++i) lines.push_back(sum_text(shown[i], found[i]));
  return lines;
}

}  // namespace riesz
