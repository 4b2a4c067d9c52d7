// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "riesz/comm/label.h"

namespace riesz {

/// A communication log: the labels of the operations by which its thread sends and receives while the log
/// lives, in order. Labels are equal if operator, spaces and direction are. Logs nest; a label goes into each
/// log of its thread. Background work, such as the moves of a team's buffers, goes into none.
class CommunicationLog {
 public:
  using Labels = std::vector<std::shared_ptr<const Label>>;

  CommunicationLog();
  ~CommunicationLog();
  CommunicationLog(const CommunicationLog&) = delete;
  CommunicationLog& operator=(const CommunicationLog&) = delete;

  /// Adds a label to this thread's logs. Called where match keys are taken.
  static void note(const std::shared_ptr<const Label>& label);

  const Labels& labels() const { return labels_; }

 private:
  Labels labels_;
  CommunicationLog* outer_;
};

/// The first difference of two logs, such as "AllReduce over tp … the first time, nothing the second"; empty
/// if there is none.
std::string difference(const CommunicationLog::Labels& first, const CommunicationLog::Labels& second);

}  // namespace riesz
