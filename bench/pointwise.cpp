// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Point-wise formulas in one pass beside the chain of LibTorch's operators that each replaces, forward and
// backward: per cent of the machine's copy bandwidth, measured in the same turn, that the fewest bytes are
// moved with. Medians over turns in which all run one after another. --only and --path run one alone, as
// callgrind wants.
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/silu.h>
#include <malloc.h>
#include <torch/csrc/autograd/autograd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/nn/layers/activation.h"

namespace riesz {
namespace {

using Tensors = std::vector<at::Tensor>;

struct Options {
  std::int64_t rows = 4096, width = 4096;
  int turns = 9, threads = 1;
  bool bf16 = false;
  std::string only, path;
};

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of[of.size() / 2];
}

/// One formula: the tensors as large as x that forward and backward must read and write.
struct Formula {
  std::string name;
  Tensors inputs;
  double forward_tensors, backward_tensors;
  std::function<at::Tensor(const Tensors&)> ours, chain;
};

std::vector<Formula> formulas(const Options& options) {
  const auto type = at::TensorOptions(options.bf16 ? at::kBFloat16 : at::kFloat);
  const auto leaf = [&](std::vector<std::int64_t> shape) {
    return at::randn(shape, at::kFloat).to(type).requires_grad_();
  };
  const Space X(Partition::world(), {options.rows, options.width}), C(Partition::world(), {options.width});
  const at::Tensor x = leaf(X.shape()), u = leaf(X.shape()), b = leaf({options.width});
  return {{"gelu",
           {x},
           2,
           3,
           [X](const Tensors& in) { return gelu(Vector(X, in[0])).local(); },
           [](const Tensors& in) { return at::gelu(in[0], "tanh"); }},
          {"gelu_exact",
           {x},
           2,
           3,
           [X](const Tensors& in) { return gelu_exact(Vector(X, in[0])).local(); },
           [](const Tensors& in) { return at::gelu(in[0], "none"); }},
          {"relu",
           {x},
           2,
           3,
           [X](const Tensors& in) { return relu(Vector(X, in[0])).local(); },
           [](const Tensors& in) { return in[0].relu(); }},
          {"silu",
           {x},
           2,
           3,
           [X](const Tensors& in) { return silu(Vector(X, in[0])).local(); },
           [](const Tensors& in) { return at::silu(in[0]); }},
          {"bias+gelu",
           {x, b},
           2,
           3,
           [X, C](const Tensors& in) {
             return activate_sum("gelu", "tc,c", Vector(X, in[0]), Vector(C, in[1])).local();
           },
           [](const Tensors& in) { return at::gelu(in[0].add(in[1]), "tanh"); }},
          {"gated silu",
           {x, u},
           3,
           5,
           [X](const Tensors& in) { return gated("silu", Vector(X, in[0]), Vector(X, in[1])).local(); },
           [](const Tensors& in) { return at::silu(in[0]).mul(in[1]); }}};
}

void run(const Options& options) {
  at::set_num_threads(options.threads);
  for (const Formula& each : formulas(options)) {
    if (!options.only.empty() && options.only != each.name) continue;
    const at::Tensor& x = each.inputs[0];
    const at::Tensor from = x.detach(), to = at::empty_like(from);
    const double bytes = static_cast<double>(x.nbytes());
    std::vector<double> forward[2], backward[2], percent[4];
    for (int turn = 0; turn <= options.turns; ++turn) {  // the first warms up
      const double copy = 2 * bytes / seconds_of([&] { to.copy_(from); });
      for (int way = 0; way < 2; ++way) {
        if (!options.path.empty() && options.path != (way == 0 ? "ours" : "chain")) continue;
        at::Tensor y;
        const double there = seconds_of([&] { y = (way == 0 ? each.ours : each.chain)(each.inputs); });
        const double back = seconds_of([&] { torch::autograd::grad({y}, each.inputs, {from}); });
        if (turn == 0) continue;
        forward[way].push_back(there), backward[way].push_back(back);
        percent[2 * way].push_back(100 * each.forward_tensors * bytes / there / copy);
        percent[2 * way + 1].push_back(100 * each.backward_tensors * bytes / back / copy);
      }
    }
    if (!options.path.empty()) continue;
    std::printf(
        "%-11s forward %5.2f ms %3.0f %% of copy, chain %5.2f ms %3.0f %% (%.2f x)   "
        "backward %5.2f ms %3.0f %%, chain %5.2f ms %3.0f %% (%.2f x)\n",
        each.name.c_str(), 1e3 * median(forward[0]), median(percent[0]), 1e3 * median(forward[1]),
        median(percent[2]), median(forward[1]) / median(forward[0]), 1e3 * median(backward[0]),
        median(percent[1]), 1e3 * median(backward[1]), median(percent[3]),
        median(backward[1]) / median(backward[0]));
  }
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) {
  // What was freed is kept, so that no page is new to a turn.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  riesz::Runtime runtime(argc, argv);
  riesz::Options options;
  CLI::App app("point-wise formulas in one pass");
  app.add_option("--rows", options.rows);
  app.add_option("--width", options.width);
  app.add_option("--turns", options.turns);
  app.add_option("--threads", options.threads);
  app.add_flag("--bf16", options.bf16);
  app.add_option("--only", options.only, "gelu, gelu_exact, relu, silu, \"bias+gelu\", \"gated silu\"");
  app.add_option("--path", options.path, "ours or chain alone, without times");
  CLI11_PARSE(app, argc, argv);
  riesz::run(options);
  return 0;
}
