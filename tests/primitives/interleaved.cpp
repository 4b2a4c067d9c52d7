// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "interleaved.h"

#include <algorithm>
#include <random>
#include <utility>

namespace riesz::testing {
namespace {

using ActKind = Act::Kind;

constexpr std::size_t kMostAsides = 5;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  std::size_t any_of(std::size_t count) { return random_() % count; }
  template <typename Item>
  void shuffle(std::vector<Item>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[any_of(i)]);
  }

 private:
  std::mt19937_64 random_;
};

bool waits(const Act& act) { return act.kind == ActKind::wait || act.kind == ActKind::wait_aside; }
bool begins(const Act& act) {
  return act.kind == ActKind::start || act.kind == ActKind::begin_aside || act.kind == ActKind::drop_aside;
}

bool at_once(const Act& act) { return act.kind == ActKind::call || act.kind == ActKind::back; }

/// Are they halves of one call, or one act?
bool of_one_operator(const Act& a, const Act& b) {
  const auto family = [](const Act& act) {
    return act.kind == ActKind::back ? 2 : act.kind >= ActKind::begin_aside;
  };
  return a.channel == b.channel && a.of == b.of && family(a) == family(b);
}

/// A channel's acts. Where `halves`, nothing is called at once but backward.
void plan(InterleavedProgram::Channel& channel, std::size_t at, Dice& dice, bool halves) {
  std::vector<Act> open;  // asides that are begun
  const auto aside = [&] {
    if (channel.asides < kMostAsides && (open.empty() || dice.any_of(2) == 0)) {
      channel.acts.push_back({ActKind::begin_aside, at, channel.asides});
      open.push_back({dice.any_of(2) == 0 ? ActKind::wait_aside : ActKind::drop_aside, at, channel.asides++});
    } else if (!open.empty()) {
      channel.acts.push_back(open.front());
      open.erase(open.begin());
    }
  };
  for (std::size_t move = 0; move < channel.moves; ++move) {
    while (dice.any_of(3) == 0) aside();
    if (!halves && dice.any_of(2) == 0) {
      channel.acts.push_back({ActKind::call, at, move});
      continue;
    }
    channel.acts.push_back({ActKind::start, at, move});
    while (dice.any_of(3) == 0) aside();
    channel.acts.push_back({ActKind::wait, at, move});
  }
  channel.acts.insert(channel.acts.end(), open.begin(), open.end());
  channel.acts.push_back({ActKind::back, at});
}

using Ways = std::vector<const std::vector<Act>*>;

/// Any merge of the channels' acts.
std::vector<Act> merged(const Ways& ways, Dice& dice) {
  std::vector<std::size_t> turns;
  for (std::size_t i = 0; i < ways.size(); ++i) turns.insert(turns.end(), ways[i]->size(), i);
  dice.shuffle(turns);
  std::vector<std::size_t> next(ways.size());
  std::vector<Act> acts;
  for (const std::size_t i : turns) acts.push_back((*ways[i])[next[i]++]);
  return acts;
}

/// Turn by turn: what each channel begins, in any order, and then one wait of each. Backward at the end.
std::vector<Act> in_phases(const Ways& ways, Dice& dice) {
  std::vector<std::size_t> next(ways.size()), order;
  for (std::size_t i = 0; i < ways.size(); ++i) order.push_back(i);
  std::vector<Act> acts;
  const auto go_on = [&](bool (*kind)(const Act&), std::size_t most) {
    dice.shuffle(order);
    for (const std::size_t i : order) {
      for (std::size_t n = 0; n < most && next[i] < ways[i]->size() && kind((*ways[i])[next[i]]); ++n)
        acts.push_back((*ways[i])[next[i]++]);
    }
  };
  const auto at_its_end = [&](std::size_t i) { return (*ways[i])[next[i]].kind == ActKind::back; };
  while (!std::all_of(order.begin(), order.end(), at_its_end)) {
    go_on(begins, static_cast<std::size_t>(-1));
    go_on(waits, 1);
  }
  for (const std::vector<Act>* way : ways) acts.push_back(way->back());
  return acts;
}

}  // namespace

InterleavedProgram interleaved_program(std::uint64_t seed, int workers, Turns turns) {
  Dice dice(seed);
  InterleavedProgram program;
  program.seed = seed;
  const std::size_t count = 2 + dice.any_of(6), threads = 1 + dice.any_of(std::min<std::size_t>(count, 4));
  int number = 0;
  for (std::size_t at = 0; at < count; ++at) {
    program.channels.push_back({number, 1000 * seed + at, 2 + dice.any_of(8), 0, {}});
    plan(program.channels.back(), at, dice, turns == Turns::apart);
    number += 1 + static_cast<int>(dice.any_of(5));
  }
  const auto ways_of = [&](std::size_t thread) {
    Ways ways;
    for (std::size_t at = thread; at < count; at += threads) ways.push_back(&program.channels[at].acts);
    return ways;
  };
  for (int rank = 0; rank < workers; ++rank) {
    Dice own(turns == Turns::alike ? seed : 1000 * seed + static_cast<std::uint64_t>(rank) + 1);
    program.acts.emplace_back();
    for (std::size_t thread = 0; thread < threads; ++thread) {
      const Ways ways = ways_of(thread);
      program.acts.back().push_back(turns == Turns::apart ? in_phases(ways, own) : merged(ways, own));
    }
  }
  program.untaken = dice.any_of(3) == 0 ? 0 : std::int64_t{8} << dice.any_of(12);
  return program;
}

BrokenProgram broken(const InterleavedProgram& program, std::uint64_t seed) {
  Dice dice(seed);
  const std::size_t rank = dice.any_of(program.acts.size());
  BrokenProgram result{static_cast<int>(rank), program, "rank " + std::to_string(rank)};
  if (dice.any_of(6) == 0) {
    InterleavedProgram::Channel& channel = result.program.channels[dice.any_of(program.channels.size())];
    channel.single = true;
    result.what += " sends half of the bytes in channel " + std::to_string(channel.number);
    return result;
  }
  std::vector<Act>& acts = result.program.acts[rank][dice.any_of(program.acts[rank].size())];
  std::vector<std::size_t> waits_at_once;  // where two channels follow each other
  for (std::size_t i = 0; i + 1 < acts.size(); ++i) {
    if (at_once(acts[i]) && at_once(acts[i + 1]) && acts[i].channel != acts[i + 1].channel)
      waits_at_once.push_back(i);
  }
  const bool in_circle = !waits_at_once.empty() && dice.any_of(2) == 0;
  const std::size_t at = in_circle ? waits_at_once[dice.any_of(waits_at_once.size())]  // perhaps
                                   : dice.any_of(acts.size() - 1);
  const Act act = acts[at], after = acts[at + 1];
  if ((!in_circle && dice.any_of(2) == 0) || of_one_operator(act, after) ||
      (act.channel == after.channel && after.kind == ActKind::back)) {
    std::erase_if(acts, [&](const Act& each) { return of_one_operator(each, act); });
    result.what += " leaves out act " + std::to_string(at);
  } else {
    std::swap(acts[at], acts[at + 1]);
    result.what += " has in another order act " + std::to_string(at) + " and the next";
  }
  return result;
}

}  // namespace riesz::testing
