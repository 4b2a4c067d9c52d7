// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/predict_tiles.h"

#include <ATen/ops/cat.h>

#include <algorithm>
#include <utility>

#include "riesz/train/loop/label_overlap.h"

namespace riesz {
namespace {

Interval moved(const Interval& of, std::int64_t by) { return {of.begin + by, of.end + by}; }

/// The windows of these tiles, one behind the other.
Rows windows_of(std::vector<Tile> tiles, const Space& images,
                const std::function<at::Tensor(const Box& box)>& read) {
  std::vector<std::int64_t> shape = images.shape();
  shape.front() = static_cast<std::int64_t>(tiles.size());
  const auto make = [tiles = std::move(tiles), read](const Box& box) {
    std::vector<at::Tensor> all;
    for (std::int64_t i = box[0].begin; i < box[0].end; ++i) {
      const Tile& of = tiles[static_cast<std::size_t>(i)];
      all.push_back(read({{of.row, of.row + 1},
                          box[1],
                          moved(box[2], of.window[0].begin),
                          moved(box[3], of.window[1].begin)}));
    }
    return at::cat(all);
  };
  return {shape, at::kFloat, make};
}

/// What a worker with this box of all windows has of a tile, of which `values` is its part of the window.
PredictedTile part_of(const Tile& tile, const Box& box, int first_of_space, const at::Tensor& values) {
  PredictedTile part{tile.row, first_of_space == 2 ? box[1] : Interval{}, {}, values};
  for (std::size_t dim = 0; dim < 2; ++dim) {
    const Interval here = moved(box[static_cast<std::size_t>(first_of_space) + dim], tile.window[dim].begin);
    const Interval both = intersect(here, tile.tile[dim]);
    part.place.push_back(both);
    part.values = part.values.narrow(first_of_space - 1 + static_cast<std::int64_t>(dim),
                                     both.begin - here.begin, both.size());
  }
  return part;
}

}  // namespace

void predict_tiles(const Learner& model, const std::vector<Tile>& tiles, std::int64_t at_once,
                   const std::function<at::Tensor(const Box& box)>& read,
                   const std::function<void(const PredictedTile& part)>& take) {
  const bool pixels = model.predicted == Predicted::pixels;
  const auto count = static_cast<std::int64_t>(tiles.size());
  for (std::int64_t from = 0; from < count; from += at_once) {
    const std::vector<Tile> some(tiles.begin() + from, tiles.begin() + std::min(count, from + at_once));
    Vector found = evaluated(model, windows_of(some, model.inputs, read));
    if (pixels) found = with_whole_labels(found);
    const Space& S = found.space();
    if (!S.partition().active() || found.local().numel() == 0) continue;
    const Box box = S.box(S.partition().rank());
    for (std::int64_t i = box[0].begin; i < box[0].end; ++i) {
      const PredictedTile part = part_of(some[static_cast<std::size_t>(i)], box, pixels ? 1 : 2,
                                         found.local().select(0, i - box[0].begin));
      if (part.values.numel() > 0) take(part);
    }
  }
}

}  // namespace riesz
