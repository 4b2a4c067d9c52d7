// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// One Linear on four workers, forward and backward: what each face reads, multiplies and writes, in the
// elements that the first worker holds and sends. The drawings of docs/internals/one_linear.md are what this
// prints; a test compares them.
//   riesz-mpirun -n 4 one_linear
#include <ATen/ops/ones.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"

using namespace riesz;

namespace {

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string text;
  std::int64_t elements = 1;
  for (const std::int64_t n : shape) {
    text += (text.empty() ? "(" : ", ") + std::to_string(n);
    elements *= n;
  }
  return text + ") = " + std::to_string(elements);
}

/// Such as "AllGather over tp, sends 48": of the first worker.
std::string way(const Operator& A) {
  std::string text;
  for (const Step& step : A.steps()) {
    if (step->traffic(0).messages == 0) continue;
    text += text.empty() ? step->name() + " over " : ", " + step->name() + " over ";
    for (const int axis : step->axes()) text += step->domain().partition().axis(axis).name;
  }
  return text.empty() ? "as it lies" : text + ", sends " + std::to_string(A.traffic(0).elements);
}

std::string padded(std::string text, std::size_t width, char with) {
  text.resize(std::max(text.size(), width), with);
  return text;
}

void say(const std::string& line) {
  if (Runtime::rank() == 0) std::printf("%s\n", line.c_str());
}

/// An operand from where it is stored to where it is computed with.
Traffic read(const char* name, const Operator& A) {
  say(std::string("  read   ") + name + "  " + padded(text_of(A.domain().local_shape(0)), 15, ' ') + " --" +
      padded(" " + way(A) + " ", 38, '-') + "> " + text_of(A.range().local_shape(0)));
  return A.traffic(Runtime::rank());
}

/// A result from where it was computed to where it is stored.
Traffic write(const char* name, const Operator& A) {
  say(std::string("  write  ") + name + "  " + padded(text_of(A.range().local_shape(0)), 15, ' ') + " <-" +
      padded(" " + way(A) + " ", 38, '-') + "- " + text_of(A.domain().local_shape(0)));
  return A.traffic(Runtime::rank());
}

/// Σ over an index: each multiplication and addition for each combination of all four.
void multiply(const char* what, const Contraction& form) {
  std::map<char, std::int64_t> extent;
  for (int k = 0; k < 3; ++k) {
    const std::vector<std::int64_t> shape = form.read(k).range().local_shape(0);
    for (std::size_t dim = 0; dim < shape.size(); ++dim)
      extent[form.indices()[static_cast<std::size_t>(k)][dim]] = shape[dim];
  }
  std::string product;
  std::int64_t operations = 2;
  for (const auto& [index, n] : extent) {
    product += (product.empty() ? "" : " * ") + std::string(1, index) + "=" + std::to_string(n);
    operations *= n;
  }
  say(std::string("  multiply   ") + what + ",  2 * (" + product + ") = " + std::to_string(operations) +
      " operations");
}

void check_counted(const char* face, std::int64_t counted, std::int64_t drawn) {
  RIESZ_CHECK(counted == drawn, "the ", face, ": ", counted, " elements were sent, and ", drawn, " drawn");
}

int draw(int, char**) {
  const Partition mesh = Partition::world().grid({{"dp", 2}, {"tp", 2}});
  const Space X = Space(mesh, {4, 6, 8}).sharded(0, "dp").sharded(1, "tp");   // (B, T, C)
  const Space W = Space(mesh, {12, 8}).sharded(0, "tp").sharded(1, "dp");     // (F, C)
  const Space Y = Space(mesh, {4, 6, 12}).sharded(0, "dp").sharded(2, "tp");  // (B, T, F)
  Linear up("up", "btc,fc->btf", X, W, Y);
  up.initialise(1, at::kDouble);
  const Parameter weight = up.parameters()[0], bias = up.parameters()[1];
  const Vector x(X, at::ones(X.local_shape(), at::kDouble).requires_grad_());
  const Contraction form("btc,fc->btf", X, W, Y);
  const Operator read_bias = between(bias.space(), bias.space().copied("dp"));

  say("== value");
  Traffic forward = read("x", form.read(0));
  forward += read("w", form.read(1));
  multiply("y[b,t,f] = sum over c of x[b,t,c] w[f,c]", form);
  forward += write("y", adjoint(form.read(2)));
  forward += read("\u03b2", read_bias);
  say("== gradients");
  Traffic backward = read("\u0233", form.read(2));
  backward += read("x", form.read(0));
  backward += read("w", form.read(1));
  multiply("x\u0304[b,t,c] = sum over f of \u0233[b,t,f] w[f,c]", form);
  multiply("w\u0304[f,c] = sum over b,t of \u0233[b,t,f] x[b,t,c]", form);
  backward += write("x\u0304", adjoint(form.read(0)));
  backward += write("w\u0304", adjoint(form.read(1)));
  backward += write("\u03b2\u0304", adjoint(read_bias));

  Chain chain;
  const Traffic start = Counters::instance().total();
  const Vector y = up(x);
  const Traffic middle = Counters::instance().total();
  pullback(y, Vector(dual(Y), at::ones(Y.local_shape(), at::kDouble)), {x, weight.value(), bias.value()});
  check_counted("value", (middle - start).elements, forward.elements);
  check_counted("gradients", (Counters::instance().total() - middle).elements, backward.elements);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, draw); }
