// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What leaves each worker for a transformer block at each layout, in uneven sizes: the sums of the shards
// that it sends, elements and messages, in forward and in backward.
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/models/min_gpt.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "training.h"

namespace riesz::testing {
namespace {

using Axes = std::vector<std::string>;

constexpr std::int64_t kBatch = 5, kTokens = 13, kWidth = 15, kHidden = 44, kHeads = 3, kHeadWidth = 5;
const models::MinGptConfig kConfig{.layers = 1,
                                   .heads = kHeads,
                                   .width = kWidth,
                                   .hidden = kHidden,
                                   .vocabulary = 97,
                                   .context = kTokens,
                                   .dropout = 0};

/// Over which axes a block's vectors move; none: "" or {}.
struct LayoutCase {
  std::string name;
  Partition mesh;
  MinGptSpaces spaces;
  std::string up_x, up_y, down_x, down_y;       // x gathered, y summed and scattered
  std::string w;                                // gathered
  std::string sum;                              // y of "down" and the gradient of x of "up" summed for all
  std::string moments;                          // of the norms' rows
  Axes weights, norms, up_biases, down_biases;  // whose gradients are summed
  std::string sequence;                         // which shards it in attention too
};

std::vector<LayoutCase> layouts() {
  namespace of = spaces;
  const int p = Runtime::size();
  const auto on = [](const std::vector<Axis>& axes) { return Partition::world().grid(axes); };
  const Partition tp = on({{"tp", p}});
  const Partition sp = on({{"sp", p}});
  LayoutCase all_replicated{.mesh = sp,
                            .spaces = MinGptSpaces(of::ring(sp), kConfig),
                            .weights = {"sp"},
                            .norms = {"sp"},
                            .up_biases = {"sp"},
                            .down_biases = {"sp"},
                            .sequence = "sp"};
  std::vector<LayoutCase> all(4, all_replicated);
  all[0].name = "ring";
  all[1].name = "Ulysses";
  all[1].spaces = MinGptSpaces(of::ulysses(sp), kConfig);
  all[2] = {.name = "1D", .mesh = tp, .spaces = MinGptSpaces(of::one_d(tp), kConfig), .sum = "tp"};
  all[3] = {.name = "SP",
            .mesh = tp,
            .spaces = MinGptSpaces(of::sequence_parallel(tp), kConfig),
            .up_x = "tp",
            .down_y = "tp",
            .norms = {"tp"},
            .down_biases = {"tp"}};
  const auto rows_and_columns = [&](const std::string& name, const Partition& mesh,
                                    const MinGptSpaces& spaces, const Axes& depth) {
    Axes both = depth;
    both.emplace_back("row");
    all.push_back({.name = name,
                   .mesh = mesh,
                   .spaces = spaces,
                   .up_x = "column",
                   .down_x = "column",
                   .w = "row",
                   .moments = "column",
                   .weights = depth,
                   .norms = both,
                   .up_biases = both,
                   .down_biases = both});
  };
  for (const int rows : {2, 3}) {
    if (p != 4 && p != 6) continue;
    if (p % rows != 0) continue;
    const Partition mesh = on({{"row", rows}, {"column", p / rows}});
    rows_and_columns("2D", mesh, MinGptSpaces(of::two_d(mesh), kConfig), {});
  }
  if (p == 8) {
    const Partition deep = on({{"depth", 2}, {"row", 2}, {"column", 2}});
    rows_and_columns("2.5D", deep, MinGptSpaces(of::two_and_half_d(deep), kConfig), {"depth"});
    const Partition cube = on({{"a", 2}, {"b", 2}, {"c", 2}});
    all.push_back({.name = "3D",
                   .mesh = cube,
                   .spaces = MinGptSpaces(of::three_d(cube), kConfig),
                   .up_x = "c",
                   .up_y = "b",
                   .down_x = "b",
                   .down_y = "c",
                   .w = "a",
                   .moments = "b",
                   .norms = {"a", "c"},
                   .up_biases = {"a", "b"},
                   .down_biases = {"a", "c"}});
  }
  return all;
}

Traffic message(std::int64_t elements) {
  return elements > 0 ? Traffic{elements, 8 * elements, 1} : Traffic{};
}

/// A worker's traffic for one block, by hand.
class Sums {
 public:
  explicit Sums(const LayoutCase& layout) : l_(layout), s_(layout.spaces) {}

  Traffic forward() const {
    Traffic sum = moments();
    for (const Product& of : products()) {
      sum += gather(of.X, of.x) + gather(of.W, l_.w) + scatter(of.Y, of.y);
      if (!of.up) sum += all_reduce(local(of.Y), {l_.sum});
    }
    return sum + keys_and_values(members() - 1) + exchanges(true);
  }

  /// ȳ is gathered, x and w again; their gradients are scattered.
  Traffic backward() const {
    Traffic sum = moments();
    for (const Product& of : products()) {
      sum += gather(of.Y, of.y) + gather(of.X, of.x) + gather(of.W, l_.w);
      sum += scatter(of.X, of.x) + scatter(of.W, l_.w) + all_reduce(local(of.W), l_.weights);
      sum += all_reduce(of.bias, of.up ? l_.up_biases : l_.down_biases);
      if (of.up) sum += all_reduce(local(of.X), {l_.sum});
    }
    for (int weight_and_bias_of_both = 0; weight_and_bias_of_both < 4; ++weight_and_bias_of_both)
      sum += all_reduce(stream().local_shape()[2], l_.norms);
    return sum + keys_and_values(members() - 1) + keys_and_values(members()) + exchanges(false);
  }

 private:
  struct Product {
    Space X, W, Y;
    bool up;  // into the block's inner widths
    std::string x, y;
    std::int64_t bias;  // elements of it
  };

  std::vector<Product> products() const {
    const Space qkv = s_.qkv.with_shape({3, kBatch, kTokens, kHeads, kHeadWidth});
    const Space heads = s_.heads.with_shape({kBatch, kTokens, kHeads, kHeadWidth});
    const Space hidden = s_.hidden.with_shape({kBatch, kTokens, kHidden});
    const std::int64_t of_qkv = 3 * qkv.local_shape()[3] * kHeadWidth;
    const std::int64_t of_stream = stream().local_shape()[2];
    return {{stream(), s_.qkv_weight, qkv, true, l_.up_x, l_.up_y, of_qkv},
            {heads, s_.heads_weight, stream(), false, l_.down_x, l_.down_y, of_stream},
            {stream(), s_.up_weight, hidden, true, l_.up_x, l_.up_y, hidden.local_shape()[2]},
            {hidden, s_.down_weight, stream(), false, l_.down_x, l_.down_y, of_stream}};
  }

  Space stream() const { return s_.stream.with_shape({kBatch, kTokens, kWidth}); }

  /// Mean and variance of the rows of both norms, and their gradients.
  Traffic moments() const {
    Traffic sum;
    const std::int64_t rows = stream().local_shape()[0] * stream().local_shape()[1];
    for (int moment = 0; moment < 4; ++moment) sum += all_reduce(rows, {l_.moments});
    return sum;
  }

  static std::int64_t local(const Space& S) { return volume(S.boxes(S.partition().rank())); }

  /// The others on the fibre over these axes, and where on it this worker is.
  std::vector<int> fibre(const Axes& names) const {
    std::vector<int> axes;
    for (const std::string& name : names) {
      if (!name.empty() && l_.mesh.find(name) >= 0) axes.push_back(l_.mesh.find(name));
    }
    return axes.empty() ? std::vector<int>{l_.mesh.rank()} : l_.mesh.fibre(l_.mesh.rank(), axes);
  }

  /// My piece to each of the others.
  Traffic gather(const Space& S, const std::string& axis) const {
    Traffic sum;
    for (const int other : fibre({axis})) {
      if (other != l_.mesh.rank()) sum += message(local(S));
    }
    return sum;
  }

  /// A term of each other's piece.
  Traffic scatter(const Space& S, const std::string& axis) const {
    Traffic sum;
    for (const int other : fibre({axis})) {
      if (other != l_.mesh.rank()) sum += message(volume(S.boxes(other)));
    }
    return sum;
  }

  /// A term of each other's chunk, and the sum of mine to each.
  Traffic all_reduce(std::int64_t n, const Axes& axes) const {
    const std::vector<int> workers = fibre(axes);
    const auto me = std::find(workers.begin(), workers.end(), l_.mesh.rank()) - workers.begin();
    const Split chunks = Split::balanced(n, static_cast<int>(workers.size()));
    if (workers.size() == 2 && n <= 8192) return message(n);  // each sends the other all, and both add
    Traffic sum;
    for (int i = 0; i < chunks.workers(); ++i) {
      if (i != me) sum += message(chunks[i].size()) + message(chunks[static_cast<int>(me)].size());
    }
    return sum;
  }

  int members() const { return l_.sequence.empty() ? 1 : l_.mesh.extent(l_.sequence); }

  /// Tokens of the worker at this place of the sequence.
  std::int64_t tokens(int place) const { return volume(stream().boxes(place)) / (kBatch * kWidth); }

  /// On their way round the ring so many times: first mine, then what came from before me.
  Traffic keys_and_values(int times) const {
    Traffic sum;
    if (l_.name != "ring") return sum;
    for (int i = 0; i < times; ++i)
      sum += message(2 * kBatch * kWidth * tokens((l_.mesh.rank() - i + members()) % members()));
    return sum;
  }

  /// Queries, keys and values from tokens to heads, and what was attended back; or their gradients.
  Traffic exchanges(bool forward) const {
    Traffic sum;
    if (l_.name != "Ulysses") return sum;
    const Split heads = Split::balanced(kHeads, members());
    const int me = l_.mesh.rank();
    for (int i = 0; i < members(); ++i) {
      if (i == me) continue;
      const std::int64_t to_heads = kBatch * kHeadWidth * tokens(me) * heads[i].size();
      const std::int64_t to_tokens = kBatch * kHeadWidth * tokens(i) * heads[me].size();
      sum += message(forward ? 3 * to_heads : to_heads) + message(forward ? to_tokens : 3 * to_tokens);
    }
    return sum;
  }

  const LayoutCase& l_;
  const MinGptSpaces& s_;
};

TEST(LayoutSums, ABlockSendsItsShardsAndNothingElse) {
  if (Runtime::size() == 1) return;
  for (const LayoutCase& layout : layouts()) {
    SCOPED_TRACE(layout.name + " on " + to_string(layout.mesh));
    Root root(layout.spaces.all);
    models::Block block({root, "block"}, kConfig);
    block.initialise(kSeed, at::kDouble);
    const Space X = layout.spaces.stream.with_shape({kBatch, kTokens, kWidth});
    const Vector x(X, at::ones(X.local_shape(), at::kDouble).requires_grad_());
    std::vector<Vector> all{x};
    for (const Parameter& parameter : block.parameters()) all.push_back(parameter.value());
    Chain chain;
    Counters::instance().reset();
    const Vector y = block(x);
    EXPECT_EQ(Counters::instance().total(), Sums(layout).forward());

    Counters::instance().reset();
    pullback(y, Vector(dual(y.space()), at::ones(y.space().local_shape(), at::kDouble)), all);
    EXPECT_EQ(Counters::instance().total(), Sums(layout).backward());
  }
}

}  // namespace
}  // namespace riesz::testing
