// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "riesz/comm/recording/recording.h"
#include "riesz/verify/fault.h"

namespace riesz {

/// The part of a worker's recording that a picture of a fault shows. Private to src/verify.
struct ShownEvents {
  static constexpr std::size_t kSkipped = static_cast<std::size_t>(-1);

  int rank;
  std::size_t recording;
  std::size_t at;                   ///< the event at which the worker stands in the fault
  std::vector<std::size_t> events;  ///< in their order; `kSkipped` where others are left out
};

/// The workers of a fault, at most `most`, each with the events of the fault and some around each of them.
std::vector<ShownEvents> shown_events(const Fault& fault, const std::vector<Recording>& recordings,
                                      std::size_t most);

/// A text in lines of at most so many characters, divided between words. A longer word is cut.
std::vector<std::string> lines_of(const std::string& text, std::size_t characters);

}  // namespace riesz
