// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "host_traffic.h"

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <atomic>
#include <memory>
#include <set>

#include "riesz/comm/error.h"

namespace riesz::testing {

/// Sees every operator that the program calls.
struct Observer {
  static inline std::atomic<HostTraffic*> listener = nullptr;
  static inline thread_local std::vector<std::string> around;  // operators that are running

  struct Running final : at::ObserverContext {
    ~Running() override { around.pop_back(); }
  };

  /// Those of which a GPU's result is as large as it turns out: the host waits to know.
  static bool waits(const std::string& name) {
    static const std::set<std::string> names{"aten::_local_scalar_dense",
                                             "aten::_unique",
                                             "aten::_unique2",
                                             "aten::equal",
                                             "aten::masked_select",
                                             "aten::nonzero",
                                             "aten::unique_dim",
                                             "aten::unique_consecutive",
                                             "aten::bincount"};
    return names.count(name) > 0;
  }

  /// Does the program copy, and not the pretend device, whose operators give a result of the CPU as a copy?
  static bool copied_by_the_program() {
    static const std::set<std::string> copying{"aten::_copy_from", "aten::copy_", "aten::_to_copy",
                                               "aten::to"};
    for (auto name = around.rbegin(); name != around.rend(); ++name) {
      if (copying.count(*name) == 0) return name->rfind("aten::", 0) != 0;
    }
    return true;
  }

  static std::unique_ptr<at::ObserverContext> see(const at::RecordFunction& call) {
    const std::string name = around.emplace_back(call.name());
    auto running = std::make_unique<Running>();
    HostTraffic* const to = listener;
    const bool copies = name == "aten::_copy_from";
    if (to == nullptr || (!copies && !waits(name))) return running;
    const auto inputs = call.inputs();
    const auto is_there = [&](std::size_t i) {
      return inputs.size() > i && inputs[i].isTensor() && inputs[i].toTensor().device().is_privateuseone();
    };
    if (copies ? is_there(0) && !is_there(1) : is_there(0)) to->note(true, name);
    if (copies && !is_there(0) && is_there(1) && copied_by_the_program())
      to->note(false, concat(inputs[0].toTensor().sizes()));
    return running;
  }

  static void left(const at::RecordFunction&, at::ObserverContext*) {}
};

HostTraffic::HostTraffic() {
  Observer::listener = this;
  callback_ =
      at::addGlobalCallback(at::RecordFunctionCallback(Observer::see, Observer::left).needsInputs(true));
}

HostTraffic::~HostTraffic() {
  at::removeCallback(callback_);
  Observer::listener = nullptr;
}

void HostTraffic::note(bool read, const std::string& what) {
  const std::lock_guard lock(mutex_);
  (read ? reads_ : sent_).push_back(what);
}

std::vector<std::string> HostTraffic::reads() const {
  const std::lock_guard lock(mutex_);
  return reads_;
}

std::vector<std::string> HostTraffic::sent() const {
  const std::lock_guard lock(mutex_);
  return sent_;
}

}  // namespace riesz::testing
