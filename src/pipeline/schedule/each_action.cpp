// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/schedule/each_action.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "riesz/comm/error.h"
#include "riesz/pipeline/schedule/cells.h"
#include "riesz/pipeline/schedule/links.h"

namespace riesz {
namespace {

constexpr int kNowhere = -1;

std::int64_t count_actions(const Schedule& schedule) {
  std::int64_t count = 0;
  for (const std::vector<Action>& row : schedule.rows)
    count += std::count_if(row.begin(), row.end(), [](const Action& a) { return a.pass != Pass::idle; });
  return count;
}

class EachAction {
 public:
  explicit EachAction(const Schedule& schedule)
      : schedule_(schedule), made_(schedule.chunks()), goes_backward_(false) {}

  void check() {
    check_sizes();
    each([&](int worker, int slot) { find_place(worker, slot); });
    each([&](int worker, int slot) { check_order(worker, slot); });
    check_none_is_missing();
    each([&](int worker, int slot) { check_version(worker, slot); });
  }

 private:
  using Slots = std::array<int, 6>;  // of each pass of a chunk and a micro-batch

  /// The actions, those of earlier slots first.
  template <typename See>
  void each(const See& see) {
    std::size_t slots = 0;
    for (const auto& row : schedule_.rows) slots = std::max(slots, row.size());
    for (std::size_t slot = 0; slot < slots; ++slot) {
      for (int worker = 0; worker < schedule_.workers(); ++worker) {
        if (slot < schedule_.rows[worker].size() && schedule_.rows[worker][slot].pass != Pass::idle)
          see(worker, static_cast<int>(slot));
      }
    }
  }

  void check_sizes() {
    const std::int64_t needed = static_cast<std::int64_t>(schedule_.chunks()) * schedule_.micro_batches;
    RIESZ_CHECK(schedule_.workers() > 0 && schedule_.micro_batches > 0 && schedule_.chunks() > 0,
                "verify: a table of ", schedule_.workers(), " workers, ", schedule_.chunks(), " chunks and ",
                schedule_.micro_batches, " micro-batches; there must be one of each at least");
    for (int chunk = 0; chunk < schedule_.chunks(); ++chunk) {
      const int worker = schedule_.worker_of[chunk];
      RIESZ_CHECK(worker >= 0 && worker < schedule_.workers(), "verify: chunk ", chunk, " lies on worker ",
                  worker, ", but the table has ", schedule_.workers(), " rows");
    }
    RIESZ_CHECK(count_actions(schedule_) >= needed, "verify: ", schedule_.chunks(), " chunks with ",
                schedule_.micro_batches, " micro-batches have ", needed,
                " forward passes, but the table has ", count_actions(schedule_), " actions");
    slots_ = {schedule_.chunks(), schedule_.micro_batches,
              Slots{kNowhere, kNowhere, kNowhere, kNowhere, kNowhere, kNowhere}};
  }

  template <typename... Parts>
  void expect(bool holds, int worker, int slot, const Parts&... parts) {
    RIESZ_CHECK(holds, "verify: ", in_place(schedule_, worker, slot), ": ", parts...);
  }

  const Action& action(int worker, int slot) const { return schedule_.rows[worker][slot]; }
  int slot_of(const Action& action, Pass pass) const { return slots_.of(action)[static_cast<int>(pass)]; }

  void find_place(int worker, int slot) {
    const Action& a = action(worker, slot);
    expect(a.chunk >= 0 && a.chunk < schedule_.chunks(), worker, slot, "the chunks are 0 to ",
           schedule_.chunks() - 1);
    expect(a.micro_batch >= 0 && a.micro_batch < schedule_.micro_batches, worker, slot,
           "the micro-batches are 0 to ", schedule_.micro_batches - 1);
    expect(schedule_.worker_of[a.chunk] == worker, worker, slot, "chunk ", a.chunk, " lies on worker ",
           schedule_.worker_of[a.chunk]);
    int& place = slots_.of(a)[static_cast<int>(a.pass)];
    expect(place == kNowhere, worker, slot, "it is done before, in slot ", place);
    place = slot;
    goes_backward_ |= gives_gradient(a);
  }

  /// Expects that the pass of the same chunk and micro-batch is in an earlier slot.
  void expect_after(Pass pass, int worker, int slot) {
    Action earlier = action(worker, slot);
    const int place = slot_of(earlier, pass);
    earlier = {pass, earlier.chunk, earlier.micro_batch};
    expect(place != kNowhere, worker, slot, "it needs ", to_string(earlier),
           ", which is nowhere in the table");
    expect(place < slot, worker, slot, "it needs ", to_string(earlier), ", which comes later, in slot ",
           place);
  }

  /// Expects that the pass of the same chunk and micro-batch is in the table, or that it is not.
  void expect_there(bool there, Pass pass, int worker, int slot, const char* why) {
    Action other = action(worker, slot);
    const bool found = slot_of(other, pass) != kNowhere;
    other = {pass, other.chunk, other.micro_batch};
    expect(found == there, worker, slot, why, to_string(other));
  }

  void check_order(int worker, int slot) {
    const Action& a = action(worker, slot);
    switch (a.pass) {
      case Pass::forward:
        expect(!goes_backward_ || slot_of(a, Pass::backward) != kNowhere ||
                   slot_of(a, Pass::backward_inputs) != kNowhere,
               worker, slot, "the table goes backward, but has no backward pass for it");
        return;
      case Pass::recompute:
        expect(goes_backward_, worker, slot, "nothing goes backward, so there is nothing to recompute for");
        return expect_after(Pass::forward, worker, slot);
      case Pass::backward:
        expect_there(false, Pass::backward_inputs, worker, slot, "it is of inputs too, as is ");
        expect_there(false, Pass::backward_weights, worker, slot, "it is of weights too, as is ");
        expect_after(Pass::forward, worker, slot);
        break;
      case Pass::backward_inputs:
        expect_there(true, Pass::backward_weights, worker, slot, "it is of inputs alone, but there is no ");
        expect_after(Pass::forward, worker, slot);
        break;
      case Pass::backward_weights:
        return expect_after(Pass::backward_inputs, worker, slot);
      case Pass::idle:
        return;
    }
    if (slot_of(a, Pass::recompute) != kNowhere) expect_after(Pass::recompute, worker, slot);
  }

  void check_none_is_missing() {
    for (int chunk = 0; chunk < schedule_.chunks(); ++chunk) {
      for (int i = 0; i < schedule_.micro_batches; ++i) {
        const Action forward{Pass::forward, chunk, i};
        RIESZ_CHECK(slot_of(forward, Pass::forward) != kNowhere, "verify: there is no ", to_string(forward),
                    ": worker ", schedule_.worker_of[chunk], ", which has chunk ", chunk,
                    ", must do the forward pass of micro-batch ", i);
      }
    }
  }

  /// A version of weights is read once it is made, and a backward pass reads none older than its forward pass
  /// did.
  void check_version(int worker, int slot) {
    const Action& a = action(worker, slot);
    int& made = made_[a.chunk];
    expect(a.version >= 0 && a.version <= made, worker, slot, "it reads version ", a.version, " of chunk ",
           a.chunk, "'s weights, of which ", made, " is the newest then");
    const auto read_by = [&](Pass pass) {
      const int place = slot_of(a, pass);
      return place == kNowhere ? a.version : schedule_.rows[worker][place].version;
    };
    const int forward = read_by(Pass::forward);
    expect(a.version >= forward, worker, slot, "its forward pass read version ", forward,
           ", so it may read no older one");
    if (a.pass == Pass::recompute || a.pass == Pass::backward_weights) {
      const Pass first = a.pass == Pass::recompute ? Pass::forward : Pass::backward_inputs;
      expect(a.version == read_by(first), worker, slot, "it must read version ", read_by(first), ", as ",
             first == Pass::forward ? "the forward pass" : "the pass of inputs", " did");
    }
    expect(!a.update || ends_micro_batch(a), worker, slot,
           "an update comes after a backward pass of weights, when their gradients are there");
    made += a.update;
  }

  const Schedule& schedule_;
  Cells<Slots> slots_;
  std::vector<int> made_;
  bool goes_backward_;
};

}  // namespace

std::string in_place(const Schedule& schedule, int worker, int slot) {
  return concat(to_string(schedule.rows[worker][slot]), " (worker ", worker, ", slot ", slot, ")");
}

void check_each_action(const Schedule& schedule) { EachAction(schedule).check(); }

}  // namespace riesz
