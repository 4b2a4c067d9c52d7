// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Draws who holds what at twelve layouts of one model on four workers, and the loss that it has at each:
//   riesz-mpirun -n 4 draw_layouts > docs/layouts.svg
// The model is the Llama of llama.h. The places are read off its spaces and its optimizer, the loss is that
// of a training of four steps in fp64. A test compares the picture.
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "llama.h"

const LlamaConfig config;
const char* const kColours[] = {"#4477aa", "#ee6677", "#228833", "#ccbb44"};

/// The sum over all workers of a tensor of one shape, on all of them.
at::Tensor sum_over_all(const at::Tensor& local) {
  const at::NoGradGuard guard;
  const Space terms = Space(Partition::world(), local.sizes().vec()).partial("world");
  return between(terms, terms.replicated("world"))(Vector(terms, local)).local();
}

/// A matrix of sets of workers: bit r is set where worker r holds the element.
struct Holders {
  Holders(std::int64_t rows, std::int64_t columns) : sets(at::zeros({rows, columns}, at::kLong)) {}

  /// This worker holds these rows and columns; of them, in row-major order, the elements [begin, begin +
  /// count).
  void add(const Intervals& rows, const Intervals& columns, std::int64_t begin, std::int64_t count) {
    auto at = sets.accessor<std::int64_t, 2>();
    std::int64_t i = 0;
    for (const Interval& r : rows)
      for (std::int64_t row = r.begin; row < r.end; ++row)
        for (const Interval& c : columns)
          for (std::int64_t column = c.begin; column < c.end; ++column, ++i)
            if (i >= begin && i < begin + count) at[row][column] |= std::int64_t{1} << Runtime::rank();
  }

  at::Tensor sets;
};

/// One layout of the picture.
struct Sample {
  const char* name;
  Layout layout;
  int zero = 0;  ///< ZeRO's stage
};

/// What is drawn of a layout.
struct Drawn {
  std::vector<at::Tensor> held;  ///< of x, h and both weights
  double loss = 0;
};

/// Tokens by width: (sequences · positions, width) of a vector of the first block.
Holders holders_of(const Space& X) {
  const std::int64_t T = X.shape()[1];
  Holders all(X.shape()[0] * T, X.shape()[2]);
  const int rank = X.partition().rank();
  if (rank < 0) return all;
  const Boxes held = X.boxes(rank);
  Intervals rows;
  for (const Interval& sequences : held[0])
    for (std::int64_t b = sequences.begin; b < sequences.end; ++b)
      for (const Interval& t : held[1]) rows.push_back({b * T + t.begin, b * T + t.end});
  all.add(rows, held[2], 0, all.sets.numel());
  return all;
}

/// Of a weight, inputs by outputs: what this worker keeps between its uses.
Holders holders_of(Store& store, const std::string& name) {
  for (const Share& share : store.shares()) {
    const Space& W = share.parameter.space();
    if (share.parameter.name() != name) continue;
    Holders all(W.shape()[0], W.shape()[1]);
    if (W.partition().rank() >= 0) {
      const Boxes held = W.boxes(W.partition().rank());
      all.add(held[0], held[1], share.begin, share.value.numel());
    }
    all.sets = all.sets.t().contiguous();
    return all;
  }
  return {0, 0};
}

/// Sequences to learn, alike on all workers: squares, modulo the vocabulary.
at::Tensor squares(std::int64_t from) {
  const at::Tensor count = at::arange(from, from + 4 * 16, at::kLong).view({4, 16});
  return at::remainder(count.mul(count), config.vocabulary);
}

/// Trains for four steps. Only the workers of the layout call it.
Drawn train(const Sample& sample) {
  Llama model(sample.layout, config);
  model.initialise(1, at::kDouble);
  std::optional<Zero> zero;
  if (sample.zero > 0) zero.emplace(model.parameters(), ZeroOptions{.stage = sample.zero});
  const std::shared_ptr<Store> store = zero ? zero->store() : whole(model.parameters());
  AdamW optimizer(store, {.learning_rate = 3e-3});
  const Space tokens = model.spaces().stream("bt").with_shape({4, 16});

  Drawn drawn;
  for (int step = 0; step < 4; ++step) {
    Chain chain;
    const Vector logits = model(distribute(tokens, squares(0)));
    const Space targets = model.spaces().inside("bt").with_shape({4, 16}).on(logits.space().partition());
    const Vector loss = cross_entropy(logits, distribute(targets, squares(1))).mean();
    backward(loss);
    optimizer.step();
    optimizer.zero_gradients();
    drawn.loss = loss.space().partition().rank() == 0 ? loss.local().item<double>() : 0;
  }
  drawn.held.push_back(holders_of(model.spaces().stream("btc").with_shape({4, 16, config.width})).sets);
  drawn.held.push_back(holders_of(model.spaces().inside("btf").with_shape({4, 16, config.hidden})).sets);
  drawn.held.push_back(holders_of(*store, "model.layers.0.mlp.up_proj.weight").sets);
  drawn.held.push_back(holders_of(*store, "model.layers.0.mlp.down_proj.weight").sets);
  return drawn;
}

/// The same, brought together from all workers.
Drawn draw(const Sample& sample) {
  const std::int64_t tokens = 4 * 16, C = config.width, F = config.hidden;
  Drawn drawn;
  if (sample.layout.mesh.rank() >= 0 || !sample.layout.stages.empty()) drawn = train(sample);
  const std::vector<std::vector<std::int64_t>> shapes = {{tokens, C}, {tokens, F}, {C, F}, {F, C}};
  drawn.held.resize(shapes.size());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    at::Tensor& held = drawn.held[i];
    if (!held.defined() || held.numel() == 0) held = at::zeros(shapes[i], at::kLong);
    held = sum_over_all(held);
  }
  drawn.loss = sum_over_all(at::zeros({1}, at::kDouble).fill_(drawn.loss)).item<double>();
  return drawn;
}

std::vector<Sample> samples() {
  const Partition world = Partition::world();
  const Partition alone = world.subset({0}).grid({{"dp", 1}});
  const Partition dp = world.grid({{"dp", 4}}), tp = world.grid({{"dp", 1}, {"tp", 4}});
  const Partition both = world.grid({{"dp", 2}, {"tp", 2}}), sp = world.grid({{"sp", 4}});
  const Partition square = world.grid({{"dp", 1}, {"row", 2}, {"column", 2}});
  const Partition mixed = world.grid({{"sp", 2}, {"tp", 2}});
  const Partition stages = world.grid({{"pp", 2}, {"dp", 1}, {"tp", 2}});
  const std::map<std::string, int> second = {{"model.layers.1", 1}, {"model.norm", 1}, {"lm_head", 1}};
  return {{"one worker", spaces::one_d(alone)},
          {"data parallel, dp=4", spaces::one_d(dp)},
          {"FSDP (ZeRO-3), dp=4", spaces::one_d(dp), 3},
          {"tensor parallel, tp=4", spaces::one_d(tp)},
          {"tp=4, sequence parallel", spaces::sequence_parallel(tp)},
          {"dp=2, tp=2", spaces::one_d(both)},
          {"dp=2, tp=2, ZeRO-3", spaces::one_d(both), 3},
          {"2D, 2 x 2", spaces::two_d(square)},
          {"ring attention, sp=4", spaces::ring(sp)},
          {"Ulysses, sp=4", spaces::ulysses(sp)},
          {"ring sp=2, tp=2", spaces::ring(mixed)},
          {"pipeline pp=2, tp=2",
           spaces::placed({spaces::one_d(stages.at("pp", 0)), spaces::one_d(stages.at("pp", 1))}, second)}};
}

/// Stripes of the colours of a set of workers.
void pattern(std::int64_t set) {
  std::vector<const char*> colours;
  for (int r = 0; r < 4; ++r)
    if ((set >> r & 1) != 0) colours.push_back(kColours[r]);
  const int n = colours.size();
  std::printf(
      "<pattern id='w%ld' width='%d' height='8' patternUnits='userSpaceOnUse' patternTransform='rotate(45)'>",
      long(set), 4 * n);
  for (int i = 0; i < n; ++i) std::printf("<rect x='%d' width='4' height='8' fill='%s'/>", 4 * i, colours[i]);
  std::printf("</pattern>\n");
}

/// A matrix of sets, as few rectangles of 66 x 48 pixels in all.
void matrix(int x, int y, const at::Tensor& sets) {
  const std::int64_t rows = sets.size(0), columns = sets.size(1);
  const auto at = sets.accessor<std::int64_t, 2>();
  const auto same = [&](std::int64_t a, std::int64_t b) { return at::equal(sets[a], sets[b]); };
  for (std::int64_t top = 0, bottom = 0; top < rows; top = bottom) {
    for (bottom = top + 1; bottom < rows && same(top, bottom);) ++bottom;
    for (std::int64_t left = 0, right = 0; left < columns; left = right) {
      for (right = left + 1; right < columns && at[top][right] == at[top][left];) ++right;
      if (at[top][left] != 0)
        std::printf("<rect x='%.2f' y='%.2f' width='%.2f' height='%.2f' fill='url(#w%ld)'/>\n",
                    x + 66.0 * left / columns, y + 48.0 * top / rows, 66.0 * (right - left) / columns,
                    48.0 * (bottom - top) / rows, long(at[top][left]));
    }
  }
  std::printf("<rect x='%d' y='%d' width='66' height='48' fill='none' stroke='#999'/>\n", x, y);
}

void text(int x, int y, const char* anchor, int size, const std::string& words) {
  std::printf("<text x='%d' y='%d' text-anchor='%s' font-size='%d'>%s</text>\n", x, y, anchor, size,
              words.c_str());
}

int work(int, char**) {
  const std::vector<Sample> all = samples();
  std::vector<Drawn> drawn;
  for (const Sample& sample : all) drawn.push_back(draw(sample));
  if (Runtime::rank() != 0) return 0;

  std::printf(
      "<svg xmlns='http://www.w3.org/2000/svg' width='960' height='436' font-family='sans-serif' "
      "fill='#222'>\n");
  std::printf("<rect width='960' height='436' rx='8' fill='white'/>\n<defs>\n");
  for (std::int64_t set = 1; set < 16; ++set) pattern(set);
  std::printf("</defs>\n");
  for (int r = 0; r < 4; ++r) {
    std::printf("<rect x='%d' y='16' width='14' height='14' fill='%s'/>\n", 16 + 84 * r, kColours[r]);
    text(34 + 84 * r, 28, "start", 13, "worker " + std::to_string(r));
  }
  std::printf("<rect x='352' y='16' width='28' height='14' fill='url(#w15)'/>\n");
  text(386, 28, "start", 13, "held by several");
  text(944, 28, "end", 13, "who holds what of the first block, and the model's loss after 4 steps");
  const char* const captions[] = {"x (token, width)", "h (token, inner)", "W up", "W down"};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const int x = 16 + 320 * (i % 3), y = 60 + 98 * (i / 3);
    text(x, y, "start", 13, all[i].name);
    char loss[32];
    std::snprintf(loss, sizeof loss, "loss %.9f", drawn[i].loss);
    text(x + 288, y, "end", 13, loss);
    for (int m = 0; m < 4; ++m) {
      matrix(x + 74 * m, y + 8, drawn[i].held[m]);
      text(x + 74 * m + 33, y + 67, "middle", 9, captions[m]);
    }
  }
  std::printf("</svg>\n");
  return 0;
}

int main(int count, char** words) { return run_main(count, words, work); }
