// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/checkpoint/all_or_none.h"

#include <string>

#include "riesz/comm/error.h"
#include "riesz/partition/alike.h"

namespace riesz {

void all_or_none(const Partition& P, const std::function<void()>& part) {
  std::string mine;
  try {
    part();
  } catch (const Error& error) {
    mine = error.what();
  }
  for (const std::string& text : collect_texts(P, mine)) {
    if (!text.empty()) throw Error(text);  // it has its worker's prefix
  }
}

}  // namespace riesz
