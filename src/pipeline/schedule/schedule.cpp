// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/schedule/schedule.h"

#include "riesz/pipeline/schedule/align.h"

namespace riesz {

std::vector<int> looped(int workers, int chunks) {
  std::vector<int> worker_of;
  for (int chunk = 0; chunk < workers * chunks; ++chunk) worker_of.push_back(chunk % workers);
  return worker_of;
}

std::vector<int> v_shaped(int workers) {
  std::vector<int> worker_of;
  for (int chunk = 0; chunk < 2 * workers; ++chunk)
    worker_of.push_back(chunk < workers ? chunk : 2 * workers - 1 - chunk);
  return worker_of;
}

char letter(Pass pass) {
  constexpr char kLetters[] = ".FBIWR";
  return kLetters[static_cast<int>(pass)];
}

const char* name_of(Pass pass) {
  constexpr const char* kNames[] = {
      "idle", "forward", "backward", "backward of inputs", "backward of weights", "recompute"};
  return kNames[static_cast<int>(pass)];
}

std::string to_string(const Action& action) {
  if (action.pass == Pass::idle) return "";
  std::string text = std::to_string(action.chunk) + letter(action.pass) + std::to_string(action.micro_batch);
  if (action.version != 0) text += "@" + std::to_string(action.version);
  if (action.update) text += "+";
  return text;
}

Schedule forward_only(const Schedule& schedule) {
  Schedule forward{schedule.worker_of, schedule.micro_batches, {}};
  for (const std::vector<Action>& row : schedule.rows) {
    forward.rows.emplace_back();
    for (const Action& action : row) {
      if (action.pass == Pass::forward)
        forward.rows.back().push_back({Pass::forward, action.chunk, action.micro_batch});
    }
  }
  return aligned(std::move(forward));
}

std::int64_t messages(const Schedule& schedule) {
  const auto elsewhere = [&](int chunk, int neighbour) {
    return neighbour >= 0 && neighbour < schedule.chunks() &&
           schedule.worker_of[chunk] != schedule.worker_of[neighbour];
  };
  std::int64_t count = 0;
  for (const std::vector<Action>& row : schedule.rows) {
    for (const auto& [pass, chunk, micro_batch, version, update] : row) {
      if (pass == Pass::forward) count += elsewhere(chunk, chunk + 1);
      if (pass == Pass::backward || pass == Pass::backward_inputs) count += elsewhere(chunk, chunk - 1);
    }
  }
  return count;
}

}  // namespace riesz
