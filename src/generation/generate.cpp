// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/generation/generate.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/late_checks.h"
#include "riesz/generation/huge_pages.h"
#include "riesz/generation/ids.h"
#include "riesz/nn/context.h"
#include "riesz/nn/random/random.h"
#include "riesz/nn/stages/known_everywhere.h"
#include "riesz/nn/stages/lent_values.h"
#include "riesz/nn/vectors/shape.h"

namespace riesz {
namespace {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// The share of a step's time that goes into moving weights to huge pages.
constexpr double kShareOfHugePages = 0.1;

/// For this worker's weights, without those of a keeper, which may come and go.
HugePages huge_pages_for(const TextModel& model, const LentValues& lent) {
  std::vector<at::Tensor> weights = lent.here();
  for (const Parameter& parameter : model.module.parameters()) {
    if (!parameter.has_keeper()) weights.push_back(parameter.leaf());
  }
  return HugePages(weights);
}

/// Uniform in [0, 1): of the token at this place of a prompt's text.
double draw(std::uint64_t seed, std::size_t prompt, std::size_t place) {
  const auto words = philox(philox_key(seed, "generate"), place, prompt);
  const std::uint64_t bits = std::uint64_t{words[0]} << 32 | words[1];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

/// Prompts that are generated together.
class Group {
 public:
  Group(const TextModel& model, const GenerateOptions& options, const Listener& listener,
        HugePages& huge_pages, Generated& result)
      : model_(model), options_(options), listener_(listener), huge_pages_(huge_pages), result_(result) {}

  void add(std::size_t prompt, const std::vector<TokenId>& tokens) { rows_.push_back({prompt, tokens}); }

  void run() {
    cache_ = ModelCache(room());
    shortest_ = rows_[0].text.size();
    for (const Row& row : rows_) shortest_ = std::min(shortest_, row.text.size());
    const Stopwatch reading;
    at::Tensor logits = read(0, shortest_);
    result_.read += static_cast<std::int64_t>(shortest_ * rows_.size());
    result_.read_seconds += reading.seconds();
    const Stopwatch stepping;
    for (double before = 0; choose(logits);) {
      logits = step();
      const double now = stepping.seconds();
      huge_pages_.move(kShareOfHugePages * (now - std::exchange(before, now)));
    }
    result_.step_seconds += stepping.seconds();
  }

 private:
  struct Row {
    std::size_t prompt;
    std::vector<TokenId> text;  // and, once it has ended, what keeps its place in the batch
    bool ended = false;
  };

  /// Positions that the cache holds at most.
  std::int64_t room() const {
    std::int64_t longest = 0;
    for (const Row& row : rows_) longest = std::max(longest, static_cast<std::int64_t>(row.text.size()));
    return longest + std::min(model_.context - longest, options_.tokens);
  }

  std::int64_t cached() const { return static_cast<std::int64_t>(read_ - first_); }

  /// The logits (B, V) behind tokens [begin, end) of each row's text, some of them in a call.
  at::Tensor read(std::size_t begin, std::size_t end) {
    const auto part = static_cast<std::size_t>(options_.read_at_once);
    for (; end - begin > part; begin += part) call(begin, begin + part);
    const at::Tensor logits = known_everywhere(model_.module, call(begin, end)).to(at::kCPU, at::kFloat);
    settle_late_checks();
    return logits.contiguous();
  }

  Vector call(std::size_t begin, std::size_t end) {
    const auto B = static_cast<std::int64_t>(rows_.size()), T = static_cast<std::int64_t>(end - begin);
    const at::Tensor ids = at::empty({B, T}, at::kLong);
    auto* id = ids.mutable_data_ptr<std::int64_t>();
    for (const Row& row : rows_)
      id = std::copy_n(row.text.begin() + static_cast<std::ptrdiff_t>(begin), end - begin, id);
    read_ = end;
    return select(model_.next(detail::send_ids(model_.tokens, ids, device_), cache_), 1, 0);
  }

  /// A token for each row that has reached its text's end. Is there more to do?
  bool choose(const at::Tensor& logits) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      Row& row = rows_[i];
      if (row.text.size() > read_) continue;
      if (row.ended) {
        row.text.push_back(row.text.back());
        continue;
      }
      const auto V = static_cast<std::size_t>(logits.size(1));
      append(row, choose_token(logits.const_data_ptr<float>() + i * V,
                               std::min(V, static_cast<std::size_t>(model_.vocabulary)), row.text,
                               options_.sampling, draw(options_.seed, row.prompt, row.text.size())));
    }
    return std::any_of(rows_.begin(), rows_.end(), [](const Row& row) { return !row.ended; });
  }

  void append(Row& row, TokenId token) {
    if (read_ > shortest_) ++result_.written;
    row.text.push_back(token);
    GeneratedText& text = result_.texts[row.prompt];
    text.tokens.push_back(token);
    const bool goes_on = !listener_.take || listener_.take(row.prompt, token);
    const auto ends = [&](Ended why) {
      row.ended = true;
      text.why = why;
      if (listener_.ended) listener_.ended(row.prompt, why);
    };
    if (std::find(options_.end.begin(), options_.end.end(), token) != options_.end.end())
      ends(Ended::end);
    else if (!goes_on)
      ends(Ended::told);
    else if (static_cast<std::int64_t>(text.tokens.size()) >= options_.tokens)
      ends(Ended::tokens);
    else if (cached() >= model_.context && !options_.slide)
      ends(Ended::context);
  }

  at::Tensor step() {
    ++result_.steps;
    if (cached() < model_.context) return read(read_, read_ + 1);
    cache_.clear();
    ++result_.slid;
    const std::size_t end = read_ + 1;
    first_ = end - static_cast<std::size_t>(std::max<std::int64_t>(1, model_.context / 2));
    return read(first_, end);
  }

  const TextModel& model_;
  const at::Device device_ = detail::device_of(model_);
  const GenerateOptions& options_;
  const Listener& listener_;
  HugePages& huge_pages_;
  Generated& result_;
  std::vector<Row> rows_;
  ModelCache cache_;
  std::size_t first_ = 0;     // the place in the texts of the cache's first position
  std::size_t read_ = 0;      // how much of the texts the model has read
  std::size_t shortest_ = 0;  // of the prompts
};

void check_prompts(const TextModel& model, const std::vector<std::vector<TokenId>>& prompts) {
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const std::string which = prompts.size() > 1 ? concat("prompt ", i + 1) : std::string("the prompt");
    RIESZ_CHECK(!prompts[i].empty(), "generate: ", which, " has no tokens; there is nothing to go on with");
    RIESZ_CHECK(static_cast<std::int64_t>(prompts[i].size()) <= model.context, "generate: ", which, " has ",
                prompts[i].size(), " tokens, but the model's context is of ", model.context,
                "; give a shorter one");
    for (const TokenId id : prompts[i])
      RIESZ_CHECK(id < model.vocabulary, "generate: ", which, " has the token ", id,
                  ", but the model's vocabulary is of ", model.vocabulary,
                  "; the tokenizer is another model's");
  }
}

void check_options(const GenerateOptions& options) {
  check_sampling(options.sampling);
  RIESZ_CHECK(options.tokens >= 1 && options.at_once >= 1 && options.read_at_once >= 1,
              "generate: new tokens ", options.tokens, ", prompts at once ", options.at_once,
              ", tokens read at once ", options.read_at_once, "; each is at least 1");
}

}  // namespace

std::string to_string(Ended why) {
  switch (why) {
    case Ended::tokens:
      return "as many tokens as asked for";
    case Ended::end:
      return "end token";
    case Ended::told:
      return "stop text";
    case Ended::context:
      return "context full";
  }
  return "";
}

std::vector<std::vector<std::size_t>> prompt_groups(const std::vector<std::size_t>& lengths,
                                                    std::int64_t tokens, std::int64_t at_once) {
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lengths[a] < lengths[b]; });
  std::vector<std::vector<std::size_t>> groups;
  for (const std::size_t prompt : order) {
    const bool fits = !groups.empty() && groups.back().size() < static_cast<std::size_t>(at_once) &&
                      lengths[prompt] - lengths[groups.back()[0]] <= static_cast<std::size_t>(tokens);
    if (!fits) groups.emplace_back();
    groups.back().push_back(prompt);
  }
  return groups;
}

Generated generate(const TextModel& model, const std::vector<std::vector<TokenId>>& prompts,
                   const GenerateOptions& options, const Listener& listener) {
  check_options(options);
  check_prompts(model, prompts);
  const ContextScope evaluating({.training = false});
  const at::NoGradGuard no_gradient;
  const at::AutoDispatchBelowADInplaceOrView no_recorded_views;  // which only autograd would read
  Generated result;
  result.texts.resize(prompts.size());
  std::vector<std::size_t> lengths;
  for (const std::vector<TokenId>& prompt : prompts) lengths.push_back(prompt.size());
  const LentValues lent(model.module);  // else a tied table went to the last stage for each token
  HugePages huge_pages = huge_pages_for(model, lent);
  for (const std::vector<std::size_t>& group : prompt_groups(lengths, options.tokens, options.at_once)) {
    Group together(model, options, listener, huge_pages, result);
    for (const std::size_t prompt : group) together.add(prompt, prompts[prompt]);
    together.run();
  }
  return result;
}

}  // namespace riesz
