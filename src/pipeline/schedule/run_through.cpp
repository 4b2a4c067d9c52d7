// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/schedule/run_through.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>

#include "riesz/comm/error.h"
#include "riesz/pipeline/schedule/each_action.h"
#include "riesz/pipeline/schedule/links.h"

namespace riesz {
namespace {

/// Messages from one chunk to another: results forward, gradients backward. Of micro-batches, in the order
/// sent.
using Line = std::deque<int>;

struct Standing {
  std::size_t slot = 0;
  bool started = false;  // the action of this slot has taken what it needs
  std::size_t sent = 0;  // of its messages
};

class RunThrough {
 public:
  RunThrough(const Schedule& schedule, const Boundaries& boundaries)
      : schedule_(schedule),
        capacity_(boundaries.capacity),
        links_(schedule.chunks(), boundaries.skips),
        standing_(schedule.workers()) {}

  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int worker = 0; worker < schedule_.workers(); ++worker) {
        while (go_on(worker)) moved = true;
      }
    }
    for (int worker = 0; worker < schedule_.workers(); ++worker) {
      if (!ended(worker)) return refuse(first_to_stand());
    }
  }

 private:
  bool ended(int worker) const { return standing_[worker].slot == schedule_.rows[worker].size(); }
  const Action& action(int worker) const { return schedule_.rows[worker][standing_[worker].slot]; }
  int worker_of(int chunk) const { return schedule_.worker_of[chunk]; }
  Line& line(int from, int to, Pass pass) { return lines_[{from, to, pass == Pass::forward}]; }
  int& under_way(int from, int to) { return under_way_[{from, to}]; }

  /// Does what the worker can do next; false if it is nothing.
  bool go_on(int worker) {
    if (ended(worker)) return false;
    Standing& at = standing_[worker];
    if (action(worker).pass != Pass::idle) {
      if (!at.started && !take(worker)) return false;
      at.started = true;
      if (!send(worker)) return false;
    }
    at = {at.slot + 1};
    return true;
  }

  /// The chunk from which the worker's action still waits for something, or none.
  int missing(int worker) {
    const Action& a = action(worker);
    for (const int source : links_.sources(a)) {
      Line& ready = line(source, a.chunk, a.pass);
      if (ready.empty()) return source;
      if (ready.front() != a.micro_batch && worker_of(source) != worker)
        refuse_order(worker, source, ready.front());
      if (std::find(ready.begin(), ready.end(), a.micro_batch) == ready.end()) return source;
    }
    return -1;
  }

  bool take(int worker) {
    if (missing(worker) >= 0) return false;
    const Action& a = action(worker);
    for (const int source : links_.sources(a)) {
      Line& ready = line(source, a.chunk, a.pass);
      ready.erase(std::find(ready.begin(), ready.end(), a.micro_batch));
      if (worker_of(source) != worker) --under_way(worker_of(source), worker);
    }
    return true;
  }

  /// Sends what has room; true once all is sent.
  bool send(int worker) {
    const Action& a = action(worker);
    const std::vector<int>& users = links_.users(a);
    for (std::size_t& sent = standing_[worker].sent; sent < users.size(); ++sent) {
      const int to = worker_of(users[sent]);
      if (to != worker && under_way(worker, to) >= capacity_) return false;
      line(a.chunk, users[sent], a.pass).push_back(a.micro_batch);
      if (to != worker) ++under_way(worker, to);
    }
    return true;
  }

  std::string standing_action(int worker) const {
    return in_place(schedule_, worker, static_cast<int>(standing_[worker].slot));
  }

  [[noreturn]] void refuse_order(int worker, int source, int first) {
    const Action& a = action(worker);
    throw_error(concat("verify: ", standing_action(worker), ": it needs the message of micro-batch ",
                       a.micro_batch, " from chunk ", source, ", but that of micro-batch ", first,
                       " was sent before it; sends and receives must be in one order"));
  }

  int first_to_stand() const {
    int first = -1;
    for (int worker = 0; worker < schedule_.workers(); ++worker) {
      if (!ended(worker) && (first < 0 || standing_[worker].slot < standing_[first].slot)) first = worker;
    }
    return first;
  }

  /// Names who waits for whom, from this worker on until one waits that was named.
  void refuse(int worker) {
    std::string circle;
    for (std::set<int> seen; seen.insert(worker).second;) {
      const Action& a = action(worker);
      circle += (circle.empty() ? "" : "; ") + standing_action(worker);
      int next = 0;
      if (standing_[worker].started) {
        next = worker_of(links_.users(a)[standing_[worker].sent]);
        circle +=
            concat(" has no room for its message to worker ", next, ", to which ", under_way(worker, next),
                   under_way(worker, next) == 1 ? " is" : " are", " under way");
      } else {
        const Action needed{
            a.pass == Pass::forward ? Pass::forward : pass_of_gradient(missing(worker), a.micro_batch),
            missing(worker), a.micro_batch};
        next = worker_of(needed.chunk);
        circle += concat(" needs ", to_string(needed), ", which comes later on worker ", next);
      }
      worker = next;
    }
    throw_error("verify: a circle of waiting: " + circle);
  }

  /// How the chunk goes backward with this micro-batch: whole, or of inputs.
  Pass pass_of_gradient(int chunk, int micro_batch) const {
    for (const Action& a : schedule_.rows[worker_of(chunk)]) {
      if (gives_gradient(a) && a.chunk == chunk && a.micro_batch == micro_batch) return a.pass;
    }
    return Pass::backward;
  }

  const Schedule& schedule_;
  int capacity_;
  Links links_;
  std::vector<Standing> standing_;
  std::map<std::tuple<int, int, bool>, Line> lines_;
  std::map<std::pair<int, int>, int> under_way_;
};

}  // namespace

void run_through(const Schedule& schedule, const Boundaries& boundaries) {
  RunThrough(schedule, boundaries).run();
}

}  // namespace riesz
