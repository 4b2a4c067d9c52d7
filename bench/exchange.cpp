// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Moves of boxes by Riesz and by a hand-written MPI loop of the same pattern, in turns A B A B … in one job
// on two ranks: a repartition and a halo exchange in one and in two dims, out of place in fp32. The loop
// posts its receives and sends at once, then copies what stays; parts that are not contiguous it packs by
// hand or gives MPI as derived types, whichever is the faster. Prints for each size the ratio (loop's time /
// Riesz's time: above 1 Riesz is faster), median and spread, and the difference of the times.
//   mpirun -n 2 exchange [--pairs 15] [--kib 1]   (--kib: that size alone)
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"

namespace riesz {
namespace {

/// A part of a row-major matrix of floats.
struct Part {
  float* first;
  std::int64_t rows, columns, stride;

  bool contiguous() const { return rows == 1 || columns == stride; }
  std::int64_t size() const { return rows * columns; }
};

void copy(const Part& from, const Part& to) {
  if (from.contiguous() && to.contiguous()) {
    std::memcpy(to.first, from.first, static_cast<std::size_t>(from.size()) * sizeof(float));
    return;
  }
  for (std::int64_t row = 0; row < from.rows; ++row) {
    std::memcpy(to.first + row * to.stride, from.first + row * from.stride,
                static_cast<std::size_t>(from.columns) * sizeof(float));
  }
}

/// A part to or from a peer, and as a derived type.
struct Leg {
  int peer;
  Part part;
  MPI_Datatype type;
};

/// What one rank does: sends parts, receives parts, keeps one.
struct Pattern {
  std::vector<Leg> sends, receives;
  Part kept_in_x, kept_in_y;
};

MPI_Datatype type_of(const Part& part) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(static_cast<int>(part.rows), static_cast<int>(part.columns), static_cast<int>(part.stride),
                  MPI_FLOAT, &type);
  MPI_Type_commit(&type);
  return type;
}

void with_types(const Pattern& p) {
  MPI_Request requests[64];
  int count = 0;
  for (const Leg& leg : p.receives) {
    MPI_Irecv(leg.part.first, 1, leg.type, leg.peer, 0, MPI_COMM_WORLD, &requests[count++]);
  }
  for (const Leg& leg : p.sends) {
    MPI_Isend(leg.part.first, 1, leg.type, leg.peer, 0, MPI_COMM_WORLD, &requests[count++]);
  }
  copy(p.kept_in_x, p.kept_in_y);
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

float* buffer_for(const Part& part) {
  return part.contiguous()
             ? part.first
             : static_cast<float*>(std::malloc(static_cast<std::size_t>(part.size()) * sizeof(float)));
}

void with_packing(const Pattern& p) {
  MPI_Request requests[64];
  float* out[32];
  float* in[32];
  int count = 0;
  for (std::size_t i = 0; i < p.receives.size(); ++i) {
    const Part& part = p.receives[i].part;
    in[i] = buffer_for(part);
    MPI_Irecv(in[i], static_cast<int>(part.size()), MPI_FLOAT, p.receives[i].peer, 0, MPI_COMM_WORLD,
              &requests[count++]);
  }
  for (std::size_t i = 0; i < p.sends.size(); ++i) {
    const Part& part = p.sends[i].part;
    out[i] = buffer_for(part);
    if (out[i] != part.first) copy(part, {out[i], part.rows, part.columns, part.columns});
    MPI_Isend(out[i], static_cast<int>(part.size()), MPI_FLOAT, p.sends[i].peer, 0, MPI_COMM_WORLD,
              &requests[count++]);
  }
  copy(p.kept_in_x, p.kept_in_y);
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  for (std::size_t i = 0; i < p.receives.size(); ++i) {
    const Part& part = p.receives[i].part;
    if (in[i] == part.first) continue;
    copy({in[i], part.rows, part.columns, part.columns}, part);
    std::free(in[i]);
  }
  for (std::size_t i = 0; i < p.sends.size(); ++i) {
    if (out[i] != p.sends[i].part.first) std::free(out[i]);
  }
}

Part part_of(const at::Tensor& matrix, const Box& box) {
  const std::int64_t stride = matrix.size(1);
  return {matrix.mutable_data_ptr<float>() + box[0].begin * stride + box[1].begin, box[0].size(),
          box[1].size(), stride};
}

Box relative(const Box& box, const Box& to) {
  Box local;
  for (std::size_t dim = 0; dim < box.size(); ++dim) {
    const Interval both = intersect(to[dim], box[dim]);
    local.push_back({both.begin - to[dim].begin, both.end - to[dim].begin});
  }
  return local;
}

void append(std::vector<Leg>& legs, int peer, const at::Tensor& of, const Box& box) {
  if (volume(box) > 0) legs.push_back({peer, part_of(of, box), type_of(part_of(of, box))});
}

Pattern pattern_of(const Operator& A, const at::Tensor& x, const at::Tensor& y) {
  const int me = Runtime::rank();
  const Box own = A.domain().box(me);
  const Box need = A.range().box(me);
  Pattern pattern{{}, {}, part_of(x, relative(need, own)), part_of(y, relative(own, need))};
  for (int peer = 0; peer < Runtime::size(); ++peer) {
    if (peer == me) continue;
    append(pattern.sends, peer, x, relative(A.range().box(peer), own));
    append(pattern.receives, peer, y, relative(A.domain().box(peer), need));
  }
  return pattern;
}

double seconds(int rounds, const std::function<void()>& f) {
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < rounds; ++i) f();
  double mine = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / rounds;
  MPI_Bcast(&mine, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return mine;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void compare(const char* name, const Operator& A, int pairs) {
  const Vector x(A.domain(), at::rand(A.domain().local_shape()));
  const at::Tensor y = at::empty(A.range().local_shape());
  Pattern pattern = pattern_of(A, x.local(), y);
  const auto riesz = [&] { A(x); };
  Pattern p = pattern;
  const auto out_of_place = [&](const auto& exchange) {  // like Riesz
    auto* fresh = static_cast<float*>(std::malloc(y.nbytes()));
    const float* old = y.const_data_ptr<float>();
    for (std::size_t i = 0; i < p.receives.size(); ++i) {
      p.receives[i].part.first = fresh + (pattern.receives[i].part.first - old);
    }
    p.kept_in_y.first = fresh + (pattern.kept_in_y.first - old);
    exchange(p);
    std::free(fresh);
  };
  const auto types = [&] { out_of_place(with_types); };
  const auto packing = [&] { out_of_place(with_packing); };
  with_packing(pattern);
  if (!at::equal(A(x).local(), y)) std::printf("%s: the loop and Riesz differ\n", name);
  const int rounds = std::max(3, static_cast<int>(0.02 / std::max(1e-6, seconds(3, riesz))));
  const bool by_types = seconds(rounds, types) < seconds(rounds, packing);
  const std::function<void()> loop = by_types ? std::function<void()>(types) : packing;
  std::vector<double> ratios, differences;
  for (int i = 0; i < pairs; ++i) {
    const bool first = i % 2 == 0;
    const double a = seconds(rounds, first ? std::function<void()>(riesz) : loop);
    const double b = seconds(rounds, first ? loop : std::function<void()>(riesz));
    ratios.push_back(first ? b / a : a / b);
    differences.push_back(first ? a - b : b - a);
  }
  if (Runtime::rank() == 0) {
    std::printf("%-16s %9.0f KiB  ratio %5.3f (%5.3f to %5.3f)  Riesz - loop %8.2f us  %s\n", name,
                static_cast<double>(x.local().nbytes()) / 1024, median(ratios),
                *std::min_element(ratios.begin(), ratios.end()),
                *std::max_element(ratios.begin(), ratios.end()), 1e6 * median(differences),
                by_types ? "types" : "packing");
    std::fflush(stdout);
  }
  for (Leg& leg : pattern.sends) MPI_Type_free(&leg.type);
  for (Leg& leg : pattern.receives) MPI_Type_free(&leg.type);
}

/// A call with its backward beside two raw rounds of the same messages, there and back.
void with_gradient(const Operator& A, int pairs) {
  const Vector x(A.domain(), at::rand(A.domain().local_shape()).requires_grad_());
  const Vector ybar(dual(A.range()), at::rand(A.range().local_shape()));
  const at::Tensor y = at::empty(A.range().local_shape());
  const Pattern there = pattern_of(A, x.local().detach(), y);
  const Pattern back = {there.receives, there.sends, there.kept_in_y, there.kept_in_x};
  const auto riesz = [&] {
    Chain chain;
    pullback(A(x), ybar, {x});
  };
  const auto loop = [&] {
    with_packing(there);
    with_packing(back);
  };
  const auto without = [&] {
    const at::NoGradGuard no_gradient;
    A(x);
    adjoint(A)(ybar);
  };
  std::vector<double> differences, recording;
  for (int i = 0; i < pairs; ++i) {
    const double a = seconds(2000, riesz);
    const double b = seconds(2000, loop);
    const double c = seconds(2000, without);
    differences.push_back(a - b);
    recording.push_back(a - c);
  }
  if (Runtime::rank() != 0) return;
  std::printf(
      "forward and backward with gradient, %zu KiB: Riesz - loop %.2f us, of which autograd and the chain "
      "%.2f us\n",
      x.local().nbytes() / 1024, 1e6 * median(differences), 1e6 * median(recording));
}

/// Half of the first worker's piece goes on to the others.
Split shifted(std::int64_t n, int p) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(p), n);
  sizes.front() -= n / 2;
  sizes.back() += n / 2;
  return Split::sizes(sizes);
}

Split halos(std::int64_t n, int p, std::int64_t width) {
  std::vector<Intervals> needs;
  for (int i = 0; i < p; ++i) {
    needs.push_back({{std::max<std::int64_t>(0, n * i - width), std::min(n * p, n * (i + 1) + width)}});
  }
  return Split::covering(n * p, needs);
}

int run(int argc, char** argv) {
  int pairs = 15;
  std::int64_t only = 0;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string(argv[i]) == "--pairs") pairs = std::atoi(argv[i + 1]);
    if (std::string(argv[i]) == "--kib") only = std::atol(argv[i + 1]);
  }
  const Partition pair = Partition::world();
  const int p = pair.size();
  if (p < 2 || p > 16) {
    std::fprintf(stderr, "exchange: run it on 2 to 16 ranks\n");
    return 2;
  }
  const Space small(pair, {256 * p, 1});
  if (only <= 1)
    with_gradient(between(small.sharded(0, "world"), small.sharded(0, "world", shifted(256, p))), pairs);
  const at::NoGradGuard no_gradient;
  for (std::int64_t kib = 1; kib <= 64 * 1024; kib *= 4) {
    if (only != 0 && kib != only) continue;
    const std::int64_t n = kib * 256;  // floats of each worker
    const std::int64_t side = std::int64_t{1} << static_cast<int>(std::log2(static_cast<double>(n)) / 2);
    const std::int64_t c = n / side;
    const std::int64_t w = std::max<std::int64_t>(1, c / 16);
    const Space line(pair, {p * n, 1});
    const Space square(pair, {p * side, c});
    const Space wide(pair, {side, p * c});
    compare("repartition 1-D", between(line.sharded(0, "world"), line.sharded(0, "world", shifted(n, p))),
            pairs);
    if (c >= p)
      compare("repartition 2-D", between(square.sharded(0, "world"), square.sharded(1, "world")), pairs);
    compare("halo 1-D", between(line.sharded(0, "world"), line.sharded(0, "world", halos(n, p, n / 16))),
            pairs);
    compare("halo 2-D", between(wide.sharded(1, "world"), wide.sharded(1, "world", halos(c, p, w))), pairs);
  }
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::run); }
