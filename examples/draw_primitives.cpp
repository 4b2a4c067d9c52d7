// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Draws every primitive and its adjoint on three workers: what each holds before and after, and what it
// sends. The drawings of two pages are what this prints, and their code is from here; a test compares them.
//   draw_primitives [primitives | splits_and_partitions]    without a page's name: both
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/partition/pairing.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/moves.h"

using namespace riesz;

namespace {

constexpr int kWidest = 256;  // characters that one worker may show in one row

/// A row of a drawing: a label, and what each worker shows, on one line or several.
struct Row {
  std::string label;
  std::vector<std::string> cells;
};

/// A text of every worker, by rank, on every worker. Collective.
std::vector<std::string> everyones(const std::string& mine) {
  at::Tensor text = at::zeros({kWidest}, at::kByte);
  RIESZ_CHECK(mine.size() < kWidest, "too wide to draw: ", mine);
  std::memcpy(text.data_ptr(), mine.data(), mine.size());
  std::vector<std::string> all;
  for (const at::Tensor& theirs : collect("Drawing", Partition::world(), text))
    all.emplace_back(static_cast<const char*>(theirs.const_data_ptr()));
  return all;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  }
  return lines;
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string without_end(std::string line) { return line.substr(0, line.find_last_not_of(' ') + 1); }

/// The rows under each other, every worker's column as wide as it needs.
void print(const std::vector<Row>& rows) {
  if (Runtime::rank() != 0) return;
  std::size_t label = 0;
  std::vector<std::size_t> widths(rows.front().cells.size(), 0);
  for (const Row& row : rows) {
    label = std::max(label, row.label.size());
    for (std::size_t i = 0; i < widths.size(); ++i) {
      for (const std::string& line : lines_of(row.cells[i])) widths[i] = std::max(widths[i], line.size());
    }
  }
  for (const Row& row : rows) {
    std::size_t height = 1;
    for (const std::string& cell : row.cells) height = std::max(height, lines_of(cell).size());
    for (std::size_t h = 0; h < height; ++h) {
      std::string text = padded(h == 0 ? row.label : "", label);
      for (std::size_t i = 0; i < widths.size(); ++i) {
        const std::vector<std::string> lines = lines_of(row.cells[i]);
        text += "   " + padded(h < lines.size() ? lines[h] : "", widths[i]);
      }
      std::printf("%s\n", without_end(text).c_str());
    }
  }
}

void say(const std::string& line) {
  if (Runtime::rank() == 0) std::printf("%s\n", line.c_str());
}

Row workers() { return {"", everyones("worker " + std::to_string(Runtime::rank()))}; }

/// Such as "1 2 3"; a matrix has a line for each row.
std::string text_of(const Vector& x) {
  if (!x.space().partition().active()) return "outside";
  if (x.local().numel() == 0) return "nothing";
  const at::Tensor rows = x.local().reshape({-1, x.local().size(-1)});
  std::string text;
  for (std::int64_t i = 0; i < rows.size(0); ++i) {
    if (i > 0) text += '\n';
    for (std::int64_t j = 0; j < rows.size(1); ++j) {
      text += (j == 0 ? "" : " ") + std::to_string(std::lround(rows[i][j].item<double>()));
    }
  }
  return text;
}

/// Do the workers hold terms of a sum?
bool has_terms(const Space& X) {
  bool found = false;
  for (const Axis& axis : X.partition().axes()) found = found || X.placement(axis.name) == Placement::Partial;
  for (int dim = 0; dim < X.dims(); ++dim) found = found || X.terms(dim);
  return found;
}

/// The vector 1, 2, 3 … in reading order; where workers hold terms, the terms of rank r are 10^r of it.
Vector counting(const Space& X) {
  const Space whole = has_terms(X) ? dual(X) : X;
  const at::Tensor global = at::arange(1, X.numel() + 1, at::kDouble).reshape(X.shape());
  const double factor = has_terms(X) ? std::pow(10.0, X.partition().rank()) : 1;
  return {X, distribute(whole, global).local().mul(factor)};
}

/// Draws y = A x and what leaves each worker, as counted; the operator knew it before.
Vector draw_call(const Operator& A, const char* x_name, const Vector& x, const char* y_name) {
  Counters::instance().reset();
  const Vector y = A(x);
  const Traffic sent = Counters::instance().total();
  const int rank = A.domain().partition().rank();
  const Traffic foretold = rank < 0 ? Traffic{} : A.traffic(rank);
  RIESZ_CHECK(sent.elements == foretold.elements && sent.messages == foretold.messages, to_string(A),
              " sent ", sent.elements, " elements where it foretold ", foretold.elements);
  const std::string counted = std::to_string(sent.elements) + " in " + std::to_string(sent.messages);
  print({workers(),
         {x_name, everyones(text_of(x))},
         {y_name, everyones(text_of(y))},
         {"sends", everyones(sent.messages == 0 ? "nothing" : counted)}});
  return y;
}

/// The pairing as all workers of the job know it, those outside of the partition too.
std::string pairing_text(const Vector& x, const Vector& y) {
  std::vector<std::string> all = everyones(std::to_string(std::lround(pairing(x, y))));
  return *std::max_element(all.begin(), all.end(), [](const std::string& a, const std::string& b) {
    return std::stol(a) < std::stol(b);
  });
}

/// Both directions, and the equation that makes the second the adjoint of the first.
void draw(const std::string& name, const Space& X, const Space& Y) {
  const at::NoGradGuard guard;
  const Operator A = between(X, Y);
  const Operator B = adjoint(A);
  const Vector x = counting(X);
  const Vector y = counting(dual(Y));
  say("== " + name + "\nA   " + to_string(A));
  const Vector Ax = draw_call(A, "x", x, "A x");
  say("\nA*  " + to_string(B));
  const Vector By = draw_call(B, "y", y, "A* y");
  const std::string left = pairing_text(Ax, y);
  const std::string right = pairing_text(x, By);
  RIESZ_CHECK(left == right, to_string(A), ": <A x, y> = ", left, ", <x, A* y> = ", right);
  say("\n<A x, y> = " + left + " = <x, A* y>");
}

void draw_in_one_partition(const Partition& P) {
  const Space three(P, {3});
  const Space six(P, {6});
  const Space seven(P, {7});
  const Space matrix(P, {3, 3});
  draw("copy", three, three.copied("world"));
  draw("all_reduce", three.partial("world"), three.copied("world"));
  draw("all_gather", seven.sharded(0, "world"), seven.copied("world"));
  draw("all_gather to replicas", seven.sharded(0, "world"), seven);
  draw("slice", seven.copied("world"), seven.sharded(0, "world"));
  draw("agree", three.copied("world"), three);
  draw("term", three.copied("world"), three.partial("world"));
  draw("all_to_all", matrix.sharded(0, "world"), matrix.sharded(1, "world"));
  draw("repartition", seven.sharded(0, "world"), seven.sharded(0, "world", Split::sizes({1, 2, 4})));
  draw("shift", seven.sharded(0, "world"), rotated(seven.sharded(0, "world"), "world", 1));
  const Split halo = Split::covering(6, {{{0, 3}}, {{1, 5}}, {{3, 6}}});
  draw("halo", six.sharded(0, "world"), six.sharded(0, "world", halo));
  const Split around = Split::covering(6, {{{5, 6}, {0, 3}}, {{1, 5}}, {{3, 6}, {0, 1}}});
  draw("halo around", six.sharded(0, "world"), six.sharded(0, "world", around));
}

void draw_between_partitions(const Partition& P) {
  const Space root(P.subset({1}), {3});
  const Space seven(P.subset({1}), {7});
  draw("broadcast", root, Space(P, {3}).copied("world"));
  draw("scatter", seven, Space(P, {7}).sharded(0, "world"));
  const Partition first = P.subset({0, 1});
  const Partition last = P.subset({2, 1});
  draw("send_recv", Space(first, {5}).sharded(0, "subset"), Space(last, {5}).sharded(0, "subset"));
  draw("any boxes", Space(first, {2, 3}).sharded(0, "subset"), Space(P, {2, 3}).sharded(1, "world"));
}

/// The global indices that each worker holds of a split, in its local order.
Row held(const std::string& label, const Split& split) {
  Row row{label, {}};
  for (int worker = 0; worker < split.workers(); ++worker) {
    std::string text;
    for (const Interval& interval : split.held(worker)) {
      for (std::int64_t i = interval.begin; i < interval.end; ++i)
        text += (text.empty() ? "" : " ") + std::to_string(i);
    }
    row.cells.push_back(text.empty() ? "nothing" : text);
  }
  row.cells.push_back(to_string(split));
  return row;
}

void draw_splits() {
  say("== splits");
  print({{"", {"worker 0", "worker 1", "worker 2", "to_string"}},
         held("balanced(7, 3)", Split::balanced(7, 3)),
         held("balanced(8, 3, 2)", Split::balanced(8, 3, 2)),
         held("balanced(2, 3)", Split::balanced(2, 3)),
         held("sizes({3, 0, 4})", Split::sizes({3, 0, 4})),
         held("zigzag(12, 3)", Split::zigzag(12, 3)),
         held("sizes({3, 0, 4}).rotated(1)", Split::sizes({3, 0, 4}).rotated(1)),
         held("covering(6, a halo)", Split::covering(6, {{{0, 3}}, {{1, 5}}, {{3, 6}}})),
         held("covering(6, a periodic one)",
              Split::covering(6, {{{5, 6}, {0, 3}}, {{1, 5}}, {{3, 6}, {0, 1}}}))});
}

void draw_nested() {
  const Partition mesh = Partition::simulated(4).grid({{"a", 2}, {"b", 2}});
  const Space X = Space(mesh, {6}).sharded(0, "a").sharded(0, "b");
  const Space Y = Space(mesh, {6}).sharded(0, "b").sharded(0, "a");
  Row top{"", {}}, major_a{"a, then b", {}}, major_b{"b, then a", {}};
  for (int rank = 0; rank < mesh.size(); ++rank) {
    const std::vector<int> at = mesh.coordinates(rank);
    const auto text = [](const Interval& box) {
      return "[" + std::to_string(box.begin) + ", " + std::to_string(box.end) + ")";
    };
    top.cells.push_back("a=" + std::to_string(at[0]) + " b=" + std::to_string(at[1]));
    major_a.cells.push_back(text(X.box(rank).front()));
    major_b.cells.push_back(text(Y.box(rank).front()));
  }
  say("== nested");
  print({top, major_a, major_b});
}

void draw_copies_and_terms(const Partition& P) {
  const Space X = Space(P, {6}).sharded(0, "world", Split::covering(6, {{{0, 3}}, {{1, 5}}, {{3, 6}}}));
  say("== copies and terms");
  print({workers(),
         {"an element of X", everyones(text_of(counting(X)))},
         {"one of dual(X)", everyones(text_of(counting(dual(X))))}});
  say("\nX        " + to_string(X) + "\ndual(X)  " + to_string(dual(X)));
}

void draw_start_and_wait(const Partition& P) {
  const Space X = Space(P, {7}).sharded(0, "world");
  const Space Y = Space(P, {7}).copied("world");
  const Vector x(X, counting(X).local().requires_grad_());
  const Vector ybar = counting(dual(Y));

  Chain chain;
  const Operator gather = between(X, Y);
  Pending pending = gather.start(x);                   // the messages go on their way
  const Vector meanwhile = 2.0 * x;                    // … while this is computed
  const Vector y = pending.wait();                     // y = A x
  const Vector xbar = pullback(y, ybar, {x}).front();  // starts A* ybar, and waits for it

  const at::NoGradGuard guard;
  say("== start and wait\n" + to_string(gather));
  print({workers(),
         {"x", everyones(text_of(x))},
         {"meanwhile", everyones(text_of(meanwhile))},
         {"y", everyones(text_of(y))},
         {"ybar", everyones(text_of(ybar))},
         {"xbar", everyones(text_of(xbar))}});
}

int draw_pages(int argc, char** argv) {
  const Partition world = Partition::world();
  RIESZ_CHECK(world.size() == 3, "the drawings are of three workers; run it on 3 ranks, not on ",
              world.size());
  const std::string page = argc > 1 ? argv[1] : "";
  if (page.empty() || page == "primitives") {
    draw_in_one_partition(world);
    draw_start_and_wait(world);
  }
  if (page.empty() || page == "splits_and_partitions") {
    draw_splits();
    draw_nested();
    draw_copies_and_terms(world);
    draw_between_partitions(world);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, draw_pages); }
