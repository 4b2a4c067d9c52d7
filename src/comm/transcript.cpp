// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/transcript.h"

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

thread_local Transcript* innermost = nullptr;

std::string text_of(const Transcript::Labels& labels, std::size_t i) {
  return i < labels.size() ? labels[i]->text() : "nothing more";
}

}  // namespace

Transcript::Transcript() : outer_(std::exchange(innermost, this)) {}
Transcript::~Transcript() { innermost = outer_; }

void Transcript::note(const std::shared_ptr<const Label>& label) {
  for (Transcript* each = innermost; each != nullptr; each = each->outer_) each->labels_.push_back(label);
}

std::string difference(const Transcript::Labels& first, const Transcript::Labels& second) {
  const std::size_t most = std::max(first.size(), second.size());
  for (std::size_t i = 0; i < most; ++i) {
    if (i < first.size() && i < second.size() && first[i]->digest() == second[i]->digest() &&
        first[i]->text() == second[i]->text())
      continue;
    return concat("its operation ", i + 1, " that communicates was\n  ", text_of(first, i),
                  "\nthe first time and\n  ", text_of(second, i), "\nthe second");
  }
  return {};
}

}  // namespace riesz
