// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// A program that ends in the way its argument names, mostly by an exception; the process tests beside it
// watch it end.
#include <ATen/ops/ones.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "riesz/comm/error.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/comm/runtime.h"
#include "riesz/partition/pairing.h"

namespace {

/// Milliseconds since the epoch, by which ends_soon.sh knows how long the job outlives the exception.
std::string now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return " at " + std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

void wait_for_the_others() { riesz::collect("wait", riesz::Partition::world(), at::ones({1})); }

int body(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "";
  wait_for_the_others();
  if (way == "one" && riesz::Runtime::rank() == 1) riesz::throw_error("thrown by one" + now());
  if (way == "standard" && riesz::Runtime::rank() == 0) throw std::logic_error("thrown by a library" + now());
  if (way == "unknown" && riesz::Runtime::rank() == 0) throw 42;
  if (way == "all") throw riesz::Error("thrown by all" + now());
  if (way == "torch" && riesz::Runtime::rank() == 0) {
    const riesz::LayerScope layer("transformer.h.0.attn");
    at::ones({2}).view({3});
  }
  if (way == "exits" && riesz::Runtime::rank() == 1) std::exit(0);
  if (way == "quits" && riesz::Runtime::rank() == 1) std::_Exit(5);
  if (way == "returns" && riesz::Runtime::rank() == 1) return 0;
  if (way == "code") return riesz::Runtime::rank() == 1 ? 3 : 0;
  wait_for_the_others();
  if (riesz::Runtime::rank() == 0) std::puts("came to the end");
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return riesz::run_main(argc, argv, body); }
