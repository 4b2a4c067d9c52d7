// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ostream>

#include "riesz/comm/counters.h"
#include "riesz/primitives/operator.h"

// How GoogleTest prints what it compares.
namespace riesz {

inline void PrintTo(const Partition& P, std::ostream* out) { *out << to_string(P); }
inline void PrintTo(const Space& X, std::ostream* out) { *out << to_string(X); }
inline void PrintTo(const Operator& A, std::ostream* out) {
  *out << to_string(A) << ", from " << to_string(A.domain()) << " to " << to_string(A.range());
}
inline void PrintTo(const Interval& interval, std::ostream* out) {
  *out << "[" << interval.begin << ", " << interval.end << ")";
}
inline void PrintTo(const Traffic& traffic, std::ostream* out) {
  *out << traffic.elements << " elements, " << traffic.bytes << " bytes, " << traffic.messages << " messages";
}

}  // namespace riesz
