// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/jobs/tokenize.h"

#include <chrono>
#include <cstdio>

#include "riesz/app/models/pretrained.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/escaped.h"
#include "riesz/io/tokens/tokenize.h"
#include "riesz/partition/partition.h"
#include "riesz/train/config/number_text.h"

namespace riesz::app {
namespace {

std::string megabytes(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", bytes / 1e6);
  return text;
}

}  // namespace

std::string tokenize_report(const TokenizeWords& words, bool quiet) {
  const TokenizeRequest request{.files = {words.files.begin(), words.files.end()},
                                .folder = words.folder,
                                .tokenizer = words.tokenizer.empty() ? "" : weights_of(words.tokenizer),
                                .vocabulary = words.vocabulary,
                                .documents = {documents_of(words.documents), words.member}};
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const auto show = [&](const TokenizeProgress& mine) {
    if (Runtime::rank() != 0 || quiet) return;
    const double left =
        seconds() / static_cast<double>(mine.done) * static_cast<double>(mine.parts - mine.done);
    std::fprintf(stderr, "part %zu/%zu of rank 0  %s  %s/s  %s left\n", mine.done, mine.parts,
                 megabytes(static_cast<double>(mine.bytes)).c_str(),
                 megabytes(static_cast<double>(mine.bytes) / seconds()).c_str(), duration(left).c_str());
  };
  const Tokenized all = tokenize(Partition::world(), request, show);
  const auto number = [](std::uint64_t n) { return grouped(static_cast<std::int64_t>(n)); };
  return concat(number(all.documents), " documents, ", megabytes(static_cast<double>(all.bytes)), ", are ",
                number(all.tokens), " tokens in ", all.parts, all.parts == 1 ? " part" : " parts",
                all.kept > 0 ? concat(", of which ", all.kept, " were there") : "", "; took ",
                duration(seconds()), "\nwrote ",
                in_quotes((std::filesystem::path(words.folder) / "tokens.json").string()), "\n");
}

}  // namespace riesz::app
