// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "riesz/comm/label.h"

namespace riesz {

/// What a thread sends and receives in the streams of the program while it lives, in order: the labels of its
/// operations, which are alike where operator, spaces and direction are. Transcripts nest, and all of them
/// note. What goes on in the background, such as the moves of a team's buffers, is in none.
class Transcript {
 public:
  using Labels = std::vector<std::shared_ptr<const Label>>;

  Transcript();
  ~Transcript();
  Transcript(const Transcript&) = delete;
  Transcript& operator=(const Transcript&) = delete;

  /// This thread takes numbers for messages. Who takes them calls it.
  static void note(const std::shared_ptr<const Label>& label);

  const Labels& labels() const { return labels_; }

 private:
  Labels labels_;
  Transcript* outer_;
};

/// How two transcripts differ first: "AllReduce over tp … the first time, nothing the second"; empty where
/// they do not.
std::string difference(const Transcript::Labels& first, const Transcript::Labels& second);

}  // namespace riesz
