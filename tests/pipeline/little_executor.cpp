// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "little_executor.h"

#include <algorithm>
#include <map>
#include <queue>
#include <random>
#include <set>
#include <tuple>

namespace riesz::testing {
namespace {

struct Wrong {
  std::string why;
};

struct Worker {
  std::size_t at = 0;
  bool took = false;
  std::set<std::string> done;          // such as "F 2 3"
  std::map<std::string, int> version;  // read by each
  std::map<int, int> newest;           // version of each chunk's weights
};

std::string name(char letter, int chunk, int i) {
  return std::string(1, letter) + " " + std::to_string(chunk) + " " + std::to_string(i);
}

class Execution {
 public:
  Execution(const Schedule& table, int capacity)
      : table_(table), capacity_(capacity), workers_(table.rows.size()) {
    for (const auto& row : table.rows) {
      for (const Action& a : row) {
        if (a.pass == Pass::recompute) again_.insert(name('F', a.chunk, a.micro_batch));
        backward_ |= a.pass != Pass::idle && a.pass != Pass::forward && a.pass != Pass::recompute;
      }
    }
  }

  bool step(std::size_t w) {
    Worker& worker = workers_[w];
    if (worker.at == table_.rows[w].size()) return false;
    const Action& a = table_.rows[w][worker.at];
    if (a.pass != Pass::idle) {
      if (!worker.took && !take(w, a)) return false;
      worker.took = true;
      if (!give(w, a)) return false;
      compute(worker, a);
    }
    worker.took = false;
    ++worker.at;
    return true;
  }

  void expect_all_done() const {
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      if (workers_[w].at != table_.rows[w].size()) throw Wrong{"stuck"};
    }
    for (int chunk = 0; chunk < table_.chunks(); ++chunk) {
      for (int i = 0; i < table_.micro_batches; ++i) {
        const auto& done = workers_[table_.worker_of[chunk]].done;
        if (!done.contains(name('F', chunk, i))) throw Wrong{"missing"};
        if (backward_ && !(done.contains(name('G', chunk, i)) && done.contains(name('W', chunk, i))))
          throw Wrong{"missing"};
      }
    }
  }

 private:
  bool is_gradient(const Action& a) const {
    return a.pass == Pass::backward || a.pass == Pass::backward_inputs;
  }

  bool take(std::size_t w, const Action& a) {
    if (a.chunk < 0 || a.chunk >= table_.chunks() || a.micro_batch < 0 ||
        a.micro_batch >= table_.micro_batches)
      throw Wrong{"no such"};
    if (table_.worker_of[a.chunk] != static_cast<int>(w)) throw Wrong{"elsewhere"};
    const int other = a.pass == Pass::forward ? a.chunk - 1 : is_gradient(a) ? a.chunk + 1 : -1;
    if (other < 0 || other >= table_.chunks()) return true;
    const std::size_t from = table_.worker_of[other];
    if (from == w)
      return workers_[w].done.contains(name(a.pass == Pass::forward ? 'F' : 'G', other, a.micro_batch));
    std::queue<int>& messages = pipes_[{other, a.chunk}];
    if (messages.empty()) return false;
    if (messages.front() != a.micro_batch) throw Wrong{"another message"};
    messages.pop();
    --load_[{from, w}];
    return true;
  }

  bool give(std::size_t w, const Action& a) {
    const int other = a.pass == Pass::forward ? a.chunk + 1 : is_gradient(a) ? a.chunk - 1 : -1;
    if (other < 0 || other >= table_.chunks()) return true;
    const std::size_t to = table_.worker_of[other];
    if (to == w) return true;
    if (load_[{w, to}] == capacity_) return false;
    ++load_[{w, to}];
    pipes_[{a.chunk, other}].push(a.micro_batch);
    return true;
  }

  static void first_time(Worker& worker, const std::string& what) {
    if (!worker.done.insert(what).second) throw Wrong{"twice"};
  }
  static void after(const Worker& worker, const std::string& what) {
    if (!worker.done.contains(what)) throw Wrong{"too early"};
  }

  void compute(Worker& worker, const Action& a) const {
    const auto named = [&](char letter) { return name(letter, a.chunk, a.micro_batch); };
    if (a.version < 0 || a.version > worker.newest[a.chunk]) throw Wrong{"weights"};
    if (a.pass == Pass::forward) {
      first_time(worker, named('F'));
      worker.version[named('F')] = a.version;
      if (a.update) throw Wrong{"update"};
      return;
    }
    after(worker, named('F'));
    if (a.version < worker.version[named('F')]) throw Wrong{"weights"};
    if (a.pass == Pass::recompute) {
      first_time(worker, named('R'));
      if (!backward_) throw Wrong{"recompute"};
      if (worker.done.contains(named('G')) || a.version != worker.version[named('F')])
        throw Wrong{"recompute"};
    } else if (again_.contains(named('F'))) {
      after(worker, named('R'));
    }
    if (is_gradient(a)) {
      first_time(worker, named('G'));
      worker.version[named('G')] = a.version;
    }
    if (a.pass == Pass::backward_weights) {
      after(worker, named('G'));
      if (a.version != worker.version[named('G')]) throw Wrong{"weights"};
    }
    const bool ends = a.pass == Pass::backward || a.pass == Pass::backward_weights;
    if (ends) first_time(worker, named('W'));
    if (a.update && !ends) throw Wrong{"update"};
    worker.newest[a.chunk] += a.update;
  }

  const Schedule& table_;
  int capacity_;
  bool backward_ = false;
  std::set<std::string> again_;
  std::vector<Worker> workers_;
  std::map<std::pair<int, int>, std::queue<int>> pipes_;
  std::map<std::pair<std::size_t, std::size_t>, int> load_;
};

}  // namespace

std::string execute(const Schedule& table, int capacity, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::size_t> order(table.rows.size());
  for (std::size_t w = 0; w < order.size(); ++w) order[w] = w;
  try {
    Execution execution(table, capacity);
    for (bool moved = true; moved;) {
      moved = false;
      std::shuffle(order.begin(), order.end(), random);
      for (const std::size_t w : order) {
        for (auto steps = random() % 4; steps > 0 && execution.step(w); --steps) moved = true;
      }
      for (const std::size_t w : order) moved |= !moved && execution.step(w);
    }
    execution.expect_all_done();
  } catch (const Wrong& wrong) {
    return wrong.why;
  }
  return "";
}

}  // namespace riesz::testing
