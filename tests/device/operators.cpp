// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "operators.h"

#include <algorithm>
#include <utility>

#include "riesz/partition/window.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/moves.h"
#include "riesz/primitives/pending.h"
#include "there.h"

namespace riesz::testing {

std::vector<Operator> operators(std::int64_t n, std::int64_t m) {
  const Partition P = row();
  const int p = P.size();
  const Space R(P, {n, m});
  const Space C = R.copied("a"), S = R.partial("a"), rows = R.sharded(0, "a"), columns = R.sharded(1, "a");
  const Space zigzag = R.sharded(1, "a", Split::zigzag(m, p));
  std::vector<Intervals> needs;
  for (int i = 0; i < p; ++i) {
    const Interval own = Split::balanced(n, p)[i];
    needs.push_back({{std::max<std::int64_t>(own.begin - 1, 0), std::min<std::int64_t>(own.end + 1, n)}});
  }
  const Space halo = covering(rows, 0, needs);
  const Space root(Partition::world().subset({0}), {n, m});
  const Space last(Partition::world().subset({p - 1}), {n, m});
  std::vector<Operator> all;
  for (const auto& [X, Y] : std::vector<std::pair<Space, Space>>{{R, C},
                                                                 {S, R},
                                                                 {S, C},
                                                                 {rows, C},
                                                                 {columns, R},
                                                                 {S, columns},
                                                                 {R, rows},
                                                                 {C, columns},
                                                                 {columns, S},
                                                                 {C, R},
                                                                 {R, S},
                                                                 {C, S},
                                                                 {rows, columns},
                                                                 {columns, zigzag},
                                                                 {rows, halo},
                                                                 {root, C},
                                                                 {root, columns},
                                                                 {columns, last},
                                                                 {root, last},
                                                                 {S, root},
                                                                 {rows, rotated(rows, "a", 1)}})
    all.push_back(between(X, Y));
  return all;
}

std::vector<at::Tensor> called(const Operator& A, const Vector& x, const Vector& ybar) {
  const Vector leaf(x.space(), x.local().clone().requires_grad_());
  std::vector<at::Tensor> results;
  for (const bool at_once : {true, false}) {
    Chain chain;
    const Vector y = at_once ? A(leaf) : A.start(leaf).wait();
    results.push_back(y.local().detach());
    results.push_back(pullback(y, ybar, {leaf}).front().local());
  }
  return results;
}

}  // namespace riesz::testing
