// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/run/executor.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/status_board.h"
#include "riesz/comm/wait.h"
#include "riesz/pipeline/run/thrown_in.h"

namespace riesz {
namespace {

std::size_t at(std::int64_t number) { return static_cast<std::size_t>(number); }

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// How this thread has left a schedule by an error, until a later one comes to its end. A worker that goes on
/// alone waits in the later one, and people look for the cause.
thread_local std::string left_by;

void post_place(const std::string& text) {
  StatusBoard::place(left_by.empty() || text.empty() ? left_by + text : concat(left_by, "; now in ", text));
}

}  // namespace

Executor::Executor(std::int64_t m, const std::vector<Action>& row, const MicroBatchOptions& options,
                   Forward forward, Borrowed& borrowed, WeightVersions* versions, std::vector<Timed>* record)
    : row_(row),
      options_(options),
      forward_(std::move(forward)),
      borrowed_(borrowed),
      versions_(versions),
      under_way_(at(m)),
      begun_(at(m), false),
      slots_(at(m), 0),
      losses_(at(m)),
      record_(record) {
  for (std::size_t slot = 0; slot < row_.size(); ++slot) {
    if (row_[slot].pass != Pass::idle) slots_[at(row_[slot].micro_batch)] = slot + 1;
  }
  const auto is_forward = [](const Action& action) {
    return action.pass == Pass::forward || action.pass == Pass::idle;
  };
  const auto first = std::find_if_not(row_.begin(), row_.end(), is_forward);
  if (versions_) return;  // what comes back to a chunk has no version to read
  if (std::none_of(first, row_.end(), [](const Action& action) { return action.pass == Pass::forward; }))
    forward_until_ = static_cast<std::size_t>(first - row_.begin());
}

void Executor::operator()() {
  try {
    carry_out();
  } catch (const std::exception& error) {
    left_by = concat("has left its schedule by an error: ", error.what());
    post_place("");
    throw;
  }
  left_by.clear();
  post_place("");
}

void Executor::carry_out() {
  for (std::size_t slot = 0; slot < row_.size(); ++slot) {
    slot_ = slot;
    if (slot == forward_until_ && slot > 0) go_forward_again();
    if (row_[slot].pass == Pass::idle) continue;
    if (versions_) versions_->begin(slot);
    perform(slot);
    borrowed_.take();
    if (versions_) versions_->end(slot);
    pass_through_all(slot);
  }
  if (!row_.empty() && forward_until_ == row_.size()) go_forward_again();
  finish();
}

MicroBatch& Executor::micro_batch(std::int64_t number) {
  std::unique_ptr<MicroBatch>& program = under_way_[at(number)];
  if (!begun_[at(number)]) {
    begun_[at(number)] = true;
    program = std::make_unique<MicroBatch>(number, options_, [this, number] { return forward_(number); });
  }
  return *program;
}

void Executor::perform(std::size_t slot) {
  const Action& action = row_[slot];
  const std::string here = place_of(action);
  post_place(here);
  MicroBatch& program = micro_batch(action.micro_batch);
  const bool again = forward_until_ > 0 && slot >= forward_until_ && program.comes_back();
  began_.reset();
  if (action.pass == Pass::backward_weights || action.pass == Pass::recompute) {
    began_ = seconds();
    try {
      action.pass == Pass::recompute ? program.run_again(action.chunk) : program.weights(action.chunk);
    } catch (...) {
      throw_on(here);
    }
  } else if (again) {
    go_back_to_the_end(program);
  } else {
    const int before = program.turns();
    turns_of(
        program, here, [&] { return program.turns() == before && program.stands_before(action); },
        [&] {
          if (program.turns() > before) return !program.in_turn();
          return program.state() == MicroBatch::State::ended || comes_later(program, slot);
        });
  }
  if (record_ != nullptr && began_) record_->push_back({action, *began_, seconds()});
}

/// Micro-batches that come back to chunks, before any goes backward.
void Executor::go_forward_again() {
  for (std::size_t i = 0; i < under_way_.size(); ++i) {
    if (begun_[i] && !under_way_[i]) continue;
    MicroBatch& program = micro_batch(static_cast<std::int64_t>(i));
    turns_of(
        program, concat("forward of micro-batch ", i), [] { return true; },
        [&] { return program.through_forward(); });
  }
}

void Executor::go_back_to_the_end(MicroBatch& program) {
  turns_of(
      program, concat("backward of micro-batch ", program.number()), [] { return true; },
      [&] { return program.state() == MicroBatch::State::ended; });
}

/// Goes on until `done`, with those turns of a program that `takes` says of, and with what others do outside.
void Executor::turns_of(MicroBatch& program, const std::string& text, const Question& takes,
                        const Question& done) {
  const auto goes_on = [&] {
    const bool its_turn = program.in_turn() || (program.state() == MicroBatch::State::turn && takes());
    if (!its_turn || !program.ready()) return pass_through_one();
    if (!began_) began_ = seconds();
    program.resume();
    return true;
  };
  while (!done()) {
    if (goes_on()) continue;
    const std::string needs = program.awaits();
    wait_until(needs.empty() ? text : concat(text, ", which needs ", needs), goes_on,
               [&] { return awaited(program); });
  }
}

/// When nothing can be done now.
std::vector<int> Executor::awaited(const MicroBatch& program) const {
  std::vector<int> ranks = program.waits_for();
  if (ranks == std::vector{Runtime::rank()}) check_no_circle(program);
  return ranks;
}

/// A micro-batch waits for this worker alone, in whose row its slot comes first: is there another that goes
/// on before?
void Executor::check_no_circle(const MicroBatch& program) const {
  for (const auto& each : under_way_) {
    if (!each || each.get() == &program || each->state() == MicroBatch::State::ended) continue;
    const bool stuck = each->state() == MicroBatch::State::turn || each->waits_for() == program.waits_for();
    if (!stuck) return;
  }
  std::string later = "no other slot";
  for (std::size_t slot = row_.size(); slot-- > slot_ + 1;) {
    if (row_[slot].pass != Pass::idle && row_[slot].micro_batch != program.number())
      later = concat("slot ", slot, ", ", place_of(row_[slot]), ", or later");
  }
  const std::string slot = concat("slot ", slot_, ", ", place_of(row_[slot_]));
  throw_error(concat("a circle of waiting: ", slot, "\n  waits for ", program.awaited_by_model(),
                     "\n  -> which this worker is to give, in ", later, "\n  -> which comes after ", slot));
}

/// Does it stand before an action of a later slot, since it has taken another way through the model?
bool Executor::comes_later(const MicroBatch& program, std::size_t slot) const {
  if (program.state() != MicroBatch::State::turn || program.stands_before(row_[slot])) return false;
  for (std::size_t later = slot + 1; later < slots_[at(program.number())]; ++later) {
    const Action& action = row_[later];
    if (action.micro_batch == program.number() && program.stands_before(action)) return true;
  }
  throw_error(concat("the schedule says ", place_of(row_[slot]), ", where the model has come to ",
                     program.where(),
                     ", which has no slot after it; a micro-batch that comes back to a chunk is "
                     "run by the schedule gpipe"));
}

/// What some micro-batch does outside of this worker's chunks; false: nothing is to be done now.
bool Executor::pass_through_one() {
  for (const auto& program : under_way_) {
    if (!program || program->in_turn()) continue;
    const bool waits = program->state() == MicroBatch::State::waiting && program->ready();
    if (program->state() != MicroBatch::State::outside && !waits) continue;
    program->resume();
    return true;
  }
  return false;
}

/// After a slot. The next micro-batch begins, so that what it receives is on its way.
void Executor::pass_through_all(std::size_t slot) {
  for (std::size_t next = slot + 1; next < row_.size(); ++next) {  // finish() is past the row
    if (row_[next].pass != Pass::forward) continue;
    micro_batch(row_[next].micro_batch);
    break;
  }
  while (pass_through_one()) {
  }
  for (std::size_t i = 0; i < under_way_.size(); ++i) {
    if (!under_way_[i] || slots_[i] > slot + 1 || under_way_[i]->state() != MicroBatch::State::ended)
      continue;
    losses_[i] = under_way_[i]->loss();
    under_way_[i].reset();
  }
}

void Executor::finish() {
  for (std::size_t i = 0; i < under_way_.size(); ++i) micro_batch(static_cast<std::int64_t>(i));
  const auto all_ended = [&] {
    pass_through_all(row_.size());
    for (const auto& program : under_way_) {
      RIESZ_CHECK(!program || program->state() != MicroBatch::State::turn,
                  "the schedule has come to its end, the model to ", program->where(),
                  ", for which it has no slot; a micro-batch that comes back to a chunk is run by "
                  "the schedule gpipe");
    }
    return std::all_of(under_way_.begin(), under_way_.end(), [](const auto& each) { return !each; });
  };
  const auto waits_for = [&] {
    std::vector<int> ranks;
    for (const auto& program : under_way_) {
      const std::vector<int> more = program ? program->waits_for() : std::vector<int>{};
      ranks.insert(ranks.end(), more.begin(), more.end());
    }
    return ranks;
  };
  post_place("");
  wait_until("the end of a schedule", all_ended, waits_for);
}

}  // namespace riesz
