// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// The passes of LAMB, Adafactor and 1-bit Adam over flat shares beside the chains of LibTorch's operators
// that they replace: per cent of the machine's copy bandwidth, measured in the same turn, that the fewest
// bytes are moved with. Medians over turns in which all run one after another.
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros_like.h>
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/optim/adafactor_pass.h"
#include "riesz/optim/lamb_pass.h"
#include "riesz/optim/one_bit_pass.h"
#include "riesz/optim/sign_bits.h"

namespace riesz {
namespace {

struct Options {
  std::int64_t rows = 4096, columns = 2048;
  int turns = 9, threads = 1;
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

/// Tensors: as large as w, that are read or written at least.
struct Case {
  std::string name;
  double tensors;
  std::function<void()> pass, chain;
};

double size_of(const at::Tensor& x) { return std::sqrt(at::dot(x, x).item<double>()); }

/// The chains are what the optimizers did by LibTorch's operators.
std::vector<Case> cases(const Options& options) {
  const std::int64_t n = options.rows * options.columns;
  const auto make = [&] { return at::randn({n}); };
  const at::Tensor w = make(), g = make(), m = make(), v = make().square_(), e = make();
  const at::Tensor rows = at::randn({options.rows}).abs_(), columns = at::randn({options.columns}).abs_();
  const at::Tensor bytes = pack_signs(e);
  std::vector<Line> lines;
  for (std::int64_t row = 0; row < options.rows; ++row)
    lines.push_back({row * options.columns, row, 0, options.columns});
  const AdafactorElements adafactor{w, g, {}, lines, rows, columns, 1e-7};
  const LambElements lamb{w, m, v, 1.1, 1.2, 1e-6, 0.01};
  const auto in_rows = [=](const at::Tensor& x) { return x.view({options.rows, options.columns}); };
  const auto direction = [=] {
    return rows.unsqueeze(1).mul(columns).clamp_min_(1e-14).rsqrt_().mul_(in_rows(g)).view({-1});
  };
  const auto lamb_direction = [=] {
    return v.sqrt().mul_(1.2).add_(1e-6).reciprocal_().mul_(m).mul_(1.1).add_(w, 0.01);
  };
  return {
      {"LAMB moments", 6, [=] { lamb_moments(lamb, g, 0.9, 0.999); },
       [=] {
         m.mul_(0.9).add_(g, 0.1);
         v.mul_(0.999).addcmul_(g, g, 0.001);
         size_of(w), size_of(lamb_direction());
       }},
      {"LAMB update", 4, [=] { lamb_apply(lamb, 1e-4); }, [=] { w.sub_(lamb_direction(), 1e-4); }},
      {"Adafactor size", 1, [=] { adafactor_squares(adafactor); }, [=] { size_of(direction()); }},
      {"Adafactor update", 3, [=] { adafactor_apply(adafactor, 0.999, 1e-6); },
       [=] { w.mul_(0.999).sub_(direction(), 1e-6); }},
      {"1-bit compress", 4, [=] { one_bit_compress(m, 0.9, g, 0.1, e, bytes); },
       [=] {
         m.mul_(0.9).add_(g, 0.1);
         const at::Tensor x = m.add(e);
         pack_signs(x), size_of(x);
         e.copy_(x);
       }},
      {"1-bit new error", 2, [=] { one_bit_lose(e, 0.5); }, [=] { add_signs(bytes, -0.5, e); }},
      {"1-bit mean", 1, [=] { one_bit_set(bytes, 0.5, m); },
       [=] {
         m.zero_();
         add_signs(bytes, 0.5, m);
       }},
      {"1-bit update", 5, [=] { one_bit_apply(w, m, v, 0.999, 1e-6, 1.2, 1e-6); },
       [=] {
         m.mul_(v.gt(0));
         w.mul_(0.999);
         w.addcdiv_(m, v.sqrt().mul_(1.2).add_(1e-6), -1e-6);
       }},
  };
}

void run(const Options& options) {
  const at::NoGradGuard no_gradient;
  at::set_num_threads(options.threads);
  const at::Tensor from = at::randn({options.rows * options.columns}), to = at::empty_like(from);
  const auto bytes = static_cast<double>(from.nbytes());
  for (const Case& each : cases(options)) {
    std::vector<double> pass, chain, percent, of_chain;
    for (int turn = 0; turn <= options.turns; ++turn) {  // the first warms up
      const double copy = 2 * bytes / seconds_of([&] { to.copy_(from); });
      const double mine = seconds_of(each.pass), theirs = seconds_of(each.chain);
      if (turn == 0) continue;
      pass.push_back(mine), chain.push_back(theirs);
      percent.push_back(100 * each.tensors * bytes / mine / copy);
      of_chain.push_back(100 * each.tensors * bytes / theirs / copy);
    }
    std::printf("%-17s %6.2f ms %3.0f %% of copy, chain %6.2f ms %3.0f %% (%.2f x)\n", each.name.c_str(),
                1e3 * median(pass), median(percent), 1e3 * median(chain), median(of_chain),
                median(chain) / median(pass));
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
  CLI::App app("passes of optimizers over flat shares");
  app.add_option("--rows", options.rows);
  app.add_option("--columns", options.columns);
  app.add_option("--turns", options.turns);
  app.add_option("--threads", options.threads);
  CLI11_PARSE(app, argc, argv);
  riesz::run(options);
  return 0;
}
