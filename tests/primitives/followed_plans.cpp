// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "followed_plans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>

namespace riesz::testing {
namespace {

using Numbers = std::vector<std::int64_t>;
using Tensor = std::vector<Sum>;

/// The places in a tensor of the elements of a box of it, in the box's order.
Numbers places(const Box& box, const std::vector<std::int64_t>& shape) {
  Numbers all{0};
  for (std::size_t dim = 0; dim < box.size(); ++dim) {
    Numbers more;
    for (const std::int64_t outer : all) {
      for (std::int64_t i = box[dim].begin; i < box[dim].end; ++i) more.push_back(outer * shape[dim] + i);
    }
    all = std::move(more);
  }
  return all;
}

Numbers places(const std::vector<Box>& boxes, const std::vector<std::int64_t>& shape) {
  Numbers all;
  for (const Box& box : boxes) {
    const Numbers more = places(box, shape);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

Tensor payload(const PlannedWorker& worker, const Round& round, const std::vector<Box>& boxes) {
  const bool of_x = round.source == Round::Source::x;
  Tensor message;
  for (const std::int64_t at : places(boxes, of_x ? worker.x_shape : worker.y_shape))
    message.push_back((of_x ? worker.x : worker.y)[static_cast<std::size_t>(at)]);
  return message;
}

void add(Sum& to, const Sum& more) { to.insert(to.end(), more.begin(), more.end()); }

/// y after a round, of what has come from each that it receives from.
void combine(PlannedWorker& worker, const Round& round, const std::vector<Tensor>& arrived) {
  const auto into = [&](const Numbers& at, const Tensor& values, bool adds) {
    ASSERT_EQ(at.size(), values.size());
    for (std::size_t i = 0; i < at.size(); ++i) {
      Sum& place = worker.y[static_cast<std::size_t>(at[i])];
      if (!adds) place.clear();
      add(place, values[i]);
    }
  };
  for (std::size_t i = 0; round.cells.empty() && i < arrived.size(); ++i) {
    const bool adds = round.combination == Round::Combination::sum && i > 0;
    into(places(round.receives[i].parts.boxes, worker.y_shape), arrived[i], adds);
  }
  for (const SumCell& cell : round.cells) {
    bool adds = false;
    for (const SumCell::Term& term : cell.terms) {
      const std::vector<Box>& parts = round.receives[term.route].parts.boxes;
      std::size_t before = 0;
      for (std::size_t part = 0; part < term.part; ++part)
        before += static_cast<std::size_t>(volume(parts[part]));
      std::vector<std::int64_t> sizes;
      for (const Interval& interval : parts[term.part]) sizes.push_back(interval.size());
      Tensor values;
      for (const std::int64_t at : places(term.box, sizes))
        values.push_back(arrived[term.route][before + static_cast<std::size_t>(at)]);
      into(places(cell.box, worker.y_shape), values, std::exchange(adds, true));
    }
  }
}

}  // namespace

void follow_plans(std::map<int, PlannedWorker>& workers) {
  std::size_t most = 0;  // an identity has no rounds
  for (const auto& [me, worker] : workers) most = std::max(most, worker.rounds->rounds.size());
  for (std::size_t k = 0; k < most; ++k) {
    std::map<std::pair<int, int>, Tensor> sent;
    for (auto& [me, worker] : workers) {
      if (k >= worker.rounds->rounds.size()) continue;
      const Round& round = worker.rounds->rounds[k];
      for (const Round::Send& send : round.sends)
        sent[{me, send.peer}] = payload(worker, round, send.parts.boxes);
      if (round.stays_at) sent[{me, me}] = payload(worker, round, round.stays.boxes);
    }
    for (auto& [me, worker] : workers) {
      if (k >= worker.rounds->rounds.size()) continue;
      const Round& round = worker.rounds->rounds[k];
      std::vector<Tensor> arrived;
      for (const Round::Receive& receive : round.receives) {
        ASSERT_TRUE(sent.contains({receive.peer, me}))
            << "rank " << receive.peer << " sends " << me << " nothing";
        arrived.push_back(std::move(sent.at({receive.peer, me})));
        sent.erase({receive.peer, me});
      }
      combine(worker, round, arrived);
    }
    EXPECT_TRUE(sent.empty()) << "nobody receives it";
  }
}

}  // namespace riesz::testing
