// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "moves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "riesz/primitives/moves.h"

namespace riesz::testing {
namespace {

using Shape = std::vector<std::int64_t>;
using Make = Step (*)(const Space&, const Space&, const std::vector<int>&);

struct Kind {
  Make make;
  Placement from;
  Placement to;
};

constexpr Placement S = Placement::Sharded;
constexpr Placement R = Placement::Replicated;
constexpr Placement C = Placement::Copied;
constexpr Placement P = Placement::Partial;

const std::vector<Kind> kKinds{
    {primitives::copy, R, C},       {primitives::all_reduce, P, R}, {primitives::all_reduce, P, C},
    {primitives::all_gather, S, R}, {primitives::all_gather, S, C}, {primitives::reduce_scatter, P, S},
    {primitives::slice, R, S},      {primitives::slice, C, S},      {primitives::pad, S, P},
    {primitives::agree, C, R},      {primitives::term, R, P},       {primitives::term, C, P},
};

std::vector<Shape> shapes_of(Shapes shapes) {
  if (shapes == Shapes::small) return {{3}, {2, 2}, {1, 3}, {}, {2, 0}};
  return {{5}, {3, 4}, {1, 6}, {}, {2, 1, 3}, {0, 3}, {2}, {7, 2}, {1}, {4, 3, 2}};
}

class Catalogue {
 public:
  Catalogue(const Partition& grid, Shapes shapes, const std::function<void(const Step&)>& f)
      : grid_(grid), shapes_(shapes_of(shapes)), f_(f) {}

  void run() {
    const int axes = static_cast<int>(grid_.axes().size());
    for (int a = 0; a < axes; ++a) {
      for (const Kind& kind : kKinds) one_axis(kind, {a});
      all_to_all(a);
      other_split(a);
      for (int b = 0; b < axes; ++b) {
        if (b == a) continue;
        if (b > a) {
          for (const Kind& kind : kKinds) {
            if (kind.from != S && kind.to != S) one_axis(kind, {a, b});
          }
        }
        other_order(a, b);
      }
    }
  }

 private:
  int any_of(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  const std::string& name(int axis) const { return grid_.axis(axis).name; }

  /// The next shape with enough dims, on the grid, with every axis but `moving` placed in some way.
  Space ground(const std::vector<int>& moving, int dims) {
    Shape shape = shapes_[next_++ % shapes_.size()];
    while (static_cast<int>(shape.size()) < dims) shape = shapes_[next_++ % shapes_.size()];
    Space X(grid_, shape);
    if (any_of(4) == 0 && X.dims() > 0 && shape[0] % 2 == 0) X = X.unit(0, 2);
    for (int a = 0; a < static_cast<int>(grid_.axes().size()); ++a) {
      if (std::count(moving.begin(), moving.end(), a) > 0) continue;
      const int way = any_of(3 + X.dims());
      if (way > 2)
        X = X.sharded(way - 3, name(a));
      else
        X = X.placed(name(a), way == 0 ? R : way == 1 ? C : P);
    }
    return X;
  }

  Space placed(const Space& X, int axis, Placement placement, int dim) const {
    return placement == S ? X.sharded(dim, name(axis)) : X.placed(name(axis), placement);
  }

  void give(const Step& step) {
    SCOPED_TRACE(to_string(*step) + "\n  from " + to_string(step->domain()) + "\n  to " +
                 to_string(step->range()));
    f_(step);
  }

  void one_axis(const Kind& kind, const std::vector<int>& axes) {
    Space X = ground(axes, kind.from == S || kind.to == S ? 1 : 0);
    Space Y = X;
    const int dim = X.dims() == 0 ? 0 : any_of(X.dims());
    for (const int a : axes) {
      X = placed(X, a, kind.from, dim);
      Y = placed(Y, a, kind.to, dim);
    }
    give(kind.make(X, Y, axes));
  }

  void all_to_all(int a) {
    const Space X = ground({a}, 2);
    const int d = any_of(X.dims());
    const int e = (d + 1 + any_of(X.dims() - 1)) % X.dims();
    give(primitives::all_to_all(X.sharded(d, name(a)), X.sharded(e, name(a)), {a}));
  }

  /// One axis, the same dim: balanced to sizes that leave workers empty.
  void other_split(int a) {
    Space X(grid_, {7, 2});
    std::vector<std::int64_t> sizes(
        static_cast<std::size_t>(grid_.axis(a).extent), 0);
    sizes.back() = 3;
    sizes.front() += 4;
    give(primitives::repartition(X.sharded(0, name(a)), X.sharded(0, name(a), Split::sizes(sizes)), {a}));
  }

  /// Two axes on one dim in the other order; or each on the other's dim.
  void other_order(int a, int b) {
    const Space X = ground({a, b}, 2);
    give(primitives::repartition(X.sharded(0, name(a)).sharded(0, name(b)),
                                 X.sharded(0, name(b)).sharded(0, name(a)), {a, b}));
    give(primitives::repartition(X.sharded(0, name(a)).sharded(1, name(b)),
                                 X.sharded(0, name(b)).sharded(1, name(a)), {a, b}));
  }

  Partition grid_;
  std::vector<Shape> shapes_;
  const std::function<void(const Step&)>& f_;
  std::mt19937 random_{7};
  std::size_t next_ = 0;
};

}  // namespace

void for_each_move(const Partition& grid, Shapes shapes, const std::function<void(const Step&)>& f) {
  Catalogue(grid, shapes, f).run();
}

Operator alone(const Step& step) { return {step->domain(), step->range(), {step}}; }

}  // namespace riesz::testing
