// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokens/sampling.h"

#include <algorithm>
#include <cmath>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

struct Candidate {
  TokenId id;
  double logit;
};

bool likelier(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

bool lower_id(const Candidate& a, const Candidate& b) { return a.id < b.id; }

void check_finite(bool finite) {
  RIESZ_CHECK(finite,
              "a token is to be chosen from logits that are not finite; the model's "
              "weights or its precision are at fault");
}

/// The greatest of the logits, without a penalty; of equal ones the first.
TokenId likeliest(const float* logits, std::size_t vocabulary) {
  std::size_t best = 0;
  bool finite = true;
  for (std::size_t id = 0; id < vocabulary; ++id) {
    finite = finite && logits[id] < INFINITY;  // no NaN either
    if (logits[id] > logits[best]) best = id;
  }
  check_finite(finite && vocabulary > 0 && logits[best] > -INFINITY);
  return static_cast<TokenId>(best);
}

/// Every token that can be chosen, with its logit after the penalty.
std::vector<Candidate> candidates(const float* logits, std::size_t vocabulary,
                                  const std::vector<TokenId>& text, double penalty) {
  std::vector<Candidate> all(vocabulary);
  for (std::size_t id = 0; id < vocabulary; ++id) all[id] = {static_cast<TokenId>(id), logits[id]};
  if (penalty != 1) {
    std::vector<bool> met(vocabulary);
    for (const TokenId id : text) {
      if (id >= vocabulary || met[id]) continue;
      met[id] = true;
      double& logit = all[id].logit;
      logit = logit > 0 ? logit / penalty : logit * penalty;
    }
  }
  std::erase_if(all, [](const Candidate& each) { return each.logit == -INFINITY; });
  const bool finite =
      std::all_of(all.begin(), all.end(), [](const Candidate& each) { return std::isfinite(each.logit); });
  check_finite(finite && !all.empty());
  return all;
}

/// Keeps as few of the likeliest as have the sum of all exp(logit) · p together.
void keep_top_p(std::vector<Candidate>& all, double p) {
  const auto weight = [&](const Candidate& each) { return std::exp(each.logit); };
  double sum = 0;
  for (const Candidate& each : all) sum += weight(each);
  const auto less_likely = [](const Candidate& a, const Candidate& b) { return likelier(b, a); };
  std::make_heap(all.begin(), all.end(), less_likely);
  auto rest = all.end();
  for (double kept = 0; rest != all.begin() && kept < p * sum;) {
    std::pop_heap(all.begin(), rest, less_likely);
    kept += weight(*--rest);
  }
  all.erase(all.begin(), rest);
  std::sort(all.begin(), all.end(), lower_id);
}

}  // namespace

void check_sampling(const SamplingOptions& options) {
  const auto finite = [](double x) { return std::isfinite(x); };
  RIESZ_CHECK(finite(options.repetition_penalty) && options.repetition_penalty > 0,
              "a repetition penalty of ", options.repetition_penalty, "; it is above 0, and 1 is none");
  RIESZ_CHECK(finite(options.temperature) && options.temperature >= 0, "a temperature of ",
              options.temperature, "; it is 0, for the likeliest token, or more");
  RIESZ_CHECK(options.top_k >= 0, "a top-k of ", options.top_k, "; it is 0, for all tokens, or more");
  RIESZ_CHECK(options.top_p > 0 && options.top_p <= 1, "a top-p of ", options.top_p,
              "; it is a probability above 0 and at most 1");
}

std::vector<TokenProbability> token_probabilities(const float* logits, std::size_t vocabulary,
                                                  const std::vector<TokenId>& text,
                                                  const SamplingOptions& options) {
  if (options.temperature == 0 && options.repetition_penalty == 1)
    return {{likeliest(logits, vocabulary), 1.0}};
  std::vector<Candidate> all = candidates(logits, vocabulary, text, options.repetition_penalty);
  const Candidate best = *std::min_element(all.begin(), all.end(), likelier);
  if (options.temperature == 0) return {{best.id, 1.0}};
  // The likeliest becomes 0 first, so that no temperature, however low, makes it infinite.
  for (Candidate& each : all) each.logit = (each.logit - best.logit) / options.temperature;
  const auto k = static_cast<std::size_t>(options.top_k);
  if (k > 0 && k < all.size()) {
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(k), all.end(), likelier);
    all.resize(k);
    std::sort(all.begin(), all.end(), lower_id);
  }
  if (options.top_p < 1) keep_top_p(all, options.top_p);
  std::vector<TokenProbability> result;
  double sum = 0;
  for (const Candidate& each : all) {
    result.push_back({each.id, std::exp(each.logit)});
    sum += result.back().probability;
  }
  for (TokenProbability& each : result) each.probability /= sum;
  return result;
}

TokenId choose_token(const float* logits, std::size_t vocabulary, const std::vector<TokenId>& text,
                     const SamplingOptions& options, double draw) {
  const std::vector<TokenProbability> all = token_probabilities(logits, vocabulary, text, options);
  double up_to = 0;
  for (const TokenProbability& each : all) {
    up_to += each.probability;
    if (draw < up_to) return each.id;
  }
  const auto last = std::find_if(all.rbegin(), all.rend(),
                                 [](const TokenProbability& each) { return each.probability > 0; });
  return last->id;
}

}  // namespace riesz
