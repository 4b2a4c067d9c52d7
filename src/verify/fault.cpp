// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/verify/fault.h"

#include "riesz/comm/error.h"
#include "riesz/comm/table_text.h"

namespace riesz {

std::string to_string(const Fault& fault) {
  std::vector<std::vector<std::string>> rows;
  for (const WorkerInFault& worker : fault.workers)
    rows.push_back({concat("rank ", worker.at.rank), worker.does, worker.what});
  std::string text = fault.what + "\n" + table_text(rows, "l", "  ");
  text.pop_back();
  return text;
}

}  // namespace riesz
