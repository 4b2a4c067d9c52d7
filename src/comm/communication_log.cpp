// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/communication_log.h"

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

thread_local CommunicationLog* innermost = nullptr;

std::string text_of(const CommunicationLog::Labels& labels, std::size_t i) {
  return i < labels.size() ? labels[i]->text() : "nothing more";
}

}  // namespace

CommunicationLog::CommunicationLog() : outer_(std::exchange(innermost, this)) {}
CommunicationLog::~CommunicationLog() { innermost = outer_; }

void CommunicationLog::note(const std::shared_ptr<const Label>& label) {
  for (CommunicationLog* each = innermost; each != nullptr; each = each->outer_)
    each->labels_.push_back(label);
}

std::string difference(const CommunicationLog::Labels& first, const CommunicationLog::Labels& second) {
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
