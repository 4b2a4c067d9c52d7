// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Moves of boxes by Riesz and by a hand-written MPI loop of the same pattern, in turns A B A B … in one job
// on two ranks: a repartition and a halo exchange in one and in two dims, out of place in fp32. The loop
// posts its receives and sends at once, then copies what stays; parts that are not contiguous it packs by
// hand or gives MPI as derived types, whichever is the faster. Prints for each size the ratio (loop's time /
// Riesz's time: above 1 Riesz is faster), median and spread, and the difference of the times.
//   mpirun -n 2 exchange [--pairs 15]
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

/// What one of two ranks does: sends one part, receives one, keeps one.
struct Pattern {
  Part send, receive, kept_in_x, kept_in_y;
};

MPI_Datatype type_of(const Part& part) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(static_cast<int>(part.rows), static_cast<int>(part.columns), static_cast<int>(part.stride),
                  MPI_FLOAT, &type);
  MPI_Type_commit(&type);
  return type;
}

void with_types(const Pattern& p, MPI_Datatype sent, MPI_Datatype received, int peer) {
  MPI_Request requests[2];
  MPI_Irecv(p.receive.first, 1, received, peer, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(p.send.first, 1, sent, peer, 0, MPI_COMM_WORLD, &requests[1]);
  copy(p.kept_in_x, p.kept_in_y);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

void with_packing(const Pattern& p, int peer) {
  const auto buffer = [](const Part& part) {
    return part.contiguous()
               ? part.first
               : static_cast<float*>(std::malloc(static_cast<std::size_t>(part.size()) * sizeof(float)));
  };
  float* out = buffer(p.send);
  float* in = buffer(p.receive);
  MPI_Request requests[2];
  MPI_Irecv(in, static_cast<int>(p.receive.size()), MPI_FLOAT, peer, 0, MPI_COMM_WORLD, &requests[0]);
  if (out != p.send.first) copy(p.send, {out, p.send.rows, p.send.columns, p.send.columns});
  MPI_Isend(out, static_cast<int>(p.send.size()), MPI_FLOAT, peer, 0, MPI_COMM_WORLD, &requests[1]);
  copy(p.kept_in_x, p.kept_in_y);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  if (in != p.receive.first) copy({in, p.receive.rows, p.receive.columns, p.receive.columns}, p.receive);
  if (out != p.send.first) std::free(out);
  if (in != p.receive.first) std::free(in);
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

Pattern pattern_of(const Operator& A, const at::Tensor& x, const at::Tensor& y) {
  const int me = Runtime::rank();
  const Box own = A.domain().box(me);
  const Box need = A.range().box(me);
  return {part_of(x, relative(A.range().box(1 - me), own)),
          part_of(y, relative(A.domain().box(1 - me), need)), part_of(x, relative(need, own)),
          part_of(y, relative(own, need))};
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
  const Pattern pattern = pattern_of(A, x.local(), y);
  const int peer = 1 - Runtime::rank();
  MPI_Datatype sent = type_of(pattern.send);
  MPI_Datatype received = type_of(pattern.receive);
  const auto riesz = [&] { A(x); };
  const auto out_of_place = [&](const auto& exchange) {  // like Riesz
    auto* fresh = static_cast<float*>(std::malloc(y.nbytes()));
    Pattern p = pattern;
    p.receive.first = fresh + (p.receive.first - y.const_data_ptr<float>());
    p.kept_in_y.first = fresh + (p.kept_in_y.first - y.const_data_ptr<float>());
    exchange(p);
    std::free(fresh);
  };
  const auto types = [&] { out_of_place([&](const Pattern& p) { with_types(p, sent, received, peer); }); };
  const auto packing = [&] { out_of_place([&](const Pattern& p) { with_packing(p, peer); }); };
  with_packing(pattern, peer);
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
  MPI_Type_free(&sent);
  MPI_Type_free(&received);
}

/// A call with its backward beside two raw rounds of the same messages, there and back.
void with_gradient(const Operator& A, int pairs) {
  const Vector x(A.domain(), at::rand(A.domain().local_shape()).requires_grad_());
  const Vector ybar(dual(A.range()), at::rand(A.range().local_shape()));
  const at::Tensor y = at::empty(A.range().local_shape());
  const Pattern there = pattern_of(A, x.local().detach(), y);
  const Pattern back = {there.receive, there.send, there.kept_in_y, there.kept_in_x};
  const int peer = 1 - Runtime::rank();
  const auto riesz = [&] {
    Chain chain;
    pullback(A(x), ybar, {x});
  };
  const auto loop = [&] {
    with_packing(there, peer);
    with_packing(back, peer);
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

int run(int argc, char** argv) {
  const int pairs = argc > 2 && std::string(argv[1]) == "--pairs" ? std::atoi(argv[2]) : 15;
  const Partition pair = Partition::world();
  if (pair.size() != 2) {
    std::fprintf(stderr, "exchange: run it on two ranks\n");
    return 2;
  }
  const Space small(pair, {512, 1});
  with_gradient(between(small.sharded(0, "world"), small.sharded(0, "world", Split::sizes({128, 384}))),
                pairs);
  const at::NoGradGuard no_gradient;
  for (std::int64_t kib = 1; kib <= 64 * 1024; kib *= 4) {
    const std::int64_t n = kib * 256;  // floats of each worker
    const std::int64_t side = std::int64_t{1} << static_cast<int>(std::log2(static_cast<double>(n)) / 2);
    const Space line(pair, {2 * n, 1});
    const Space square(pair, {2 * side, n / side});
    const Space wide(pair, {side, 2 * (n / side)});
    const std::int64_t c = n / side;
    const std::int64_t w = std::max<std::int64_t>(1, c / 16);
    compare("repartition 1-D",
            between(line.sharded(0, "world"), line.sharded(0, "world", Split::sizes({n / 2, 2 * n - n / 2}))),
            pairs);
    compare("repartition 2-D", between(square.sharded(0, "world"), square.sharded(1, "world")), pairs);
    compare(
        "halo 1-D",
        between(line.sharded(0, "world"),
                line.sharded(0, "world", Split::covering(2 * n, {{{0, n + n / 16}}, {{n - n / 16, 2 * n}}}))),
        pairs);
    compare("halo 2-D",
            between(wide.sharded(1, "world"),
                    wide.sharded(1, "world", Split::covering(2 * c, {{{0, c + w}}, {{c - w, 2 * c}}}))),
            pairs);
  }
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::run); }
