// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// How fast texts become tokens on one core: the middle, the least and the greatest of some turns, of a text
// met for the first time and of one whose words are known; decoding; and learning a vocabulary. By a
// tokenizer's files, or with one that is learnt from the text.
//   tokenizer FILE [TOKENIZER]
#include "riesz/io/tokenizer/tokenizer.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/io/tokenizer/learn_tokenizer.h"
#include "riesz/io/tokenizer/tokenizer_files.h"

namespace riesz {
namespace {

constexpr int kTurns = 5;

template <typename Call>
double seconds(const Call& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Prints the rate of calls that each take a text of so many bytes; `make` is not timed.
template <typename Make, typename Call>
void report(const char* what, std::size_t bytes, const Make& make, const Call& call) {
  std::vector<double> rates;
  for (int turn = 0; turn < kTurns; ++turn) {
    auto made = make();
    rates.push_back(static_cast<double>(bytes) / 1e6 / seconds([&] { call(made); }));
  }
  std::sort(rates.begin(), rates.end());
  std::printf("%-14s %8.1f MB/s (%.1f to %.1f)\n", what, rates[kTurns / 2], rates.front(), rates.back());
}

int measure(const std::string& file, const std::string& path) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  RIESZ_CHECK(!text.empty(), "there is nothing in ", file);
  TokenizerParts learnt;
  if (path.empty()) {
    const double took = seconds([&] { learnt = learn_tokenizer({text}); });
    std::printf("learnt %zu tokens from %.1f MB in %.2f s\n", learnt.vocabulary.size(),
                static_cast<double>(text.size()) / 1e6, took);
  }
  const auto make = [&] { return path.empty() ? Tokenizer(learnt) : read_tokenizer(path); };
  const Tokenizer tokenizer = make();
  const std::vector<TokenId> ids = tokenizer.encode(text);
  std::printf("%zu bytes are %zu tokens, and %s\n", text.size(), ids.size(),
              tokenizer.decode(ids) == text ? "back the same bytes" : "BACK OTHER BYTES");
  report("encode, new", text.size(), make, [&](const Tokenizer& fresh) { fresh.encode(text); });
  report(
      "encode, known", text.size(), [&] { return tokenizer; },
      [&](const Tokenizer& used) { used.encode(text); });
  report(
      "decode", text.size(), [&] { return tokenizer; }, [&](const Tokenizer& used) { used.decode(ids); });
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "tokenizer FILE [TOKENIZER]\n"), 2;
  return riesz::measure(argv[1], argc > 2 ? argv[2] : "");
}
