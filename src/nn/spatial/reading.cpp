// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/reading.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "riesz/comm/on_device.h"
#include "riesz/partition/intervals/segments.h"

namespace riesz {

std::string to_string(PaddingMode mode) {
  constexpr const char* names[] = {"zeros", "circular", "reflect", "replicate"};
  return names[static_cast<int>(mode)];
}

namespace detail {
namespace {

/// The input that stands at an index beyond the ends.
std::int64_t mirrored(PaddingMode mode, std::int64_t n, std::int64_t at) {
  if (mode == PaddingMode::replicate) return std::clamp<std::int64_t>(at, 0, n - 1);
  return at < 0 ? -at : 2 * (n - 1) - at;
}

/// The inputs of [reach) in order, one interval after another.
Intervals wrapped(const DimReading& reading, const Interval& reach) {
  if (reading.mode == PaddingMode::circular) return periodic(reading.inputs, reach);
  const Interval inside = intersect({0, reading.inputs}, reach);
  Intervals all;
  for (std::int64_t at = reach.begin; at < std::min<std::int64_t>(reach.end, 0); ++at) {
    const std::int64_t i = mirrored(reading.mode, reading.inputs, at);
    all.push_back({i, i + 1});
  }
  if (inside.size() > 0) all.push_back(inside);
  for (std::int64_t at = std::max(reach.begin, reading.inputs); at < reach.end; ++at) {
    const std::int64_t i = mirrored(reading.mode, reading.inputs, at);
    all.push_back({i, i + 1});
  }
  return all;
}

Piece piece_of(const DimReading& reading, const Interval& outputs) {
  const Interval reach = reading.reach(outputs);
  if (reading.mode != PaddingMode::zeros)
    return {outputs, wrapped(reading, reach), 0, 0, reach.begin, outputs.begin};
  const Interval inside = intersect({0, reading.inputs}, reach);
  return {outputs,
          inside.size() > 0 ? Intervals{inside} : Intervals{},
          std::max<std::int64_t>(0, std::min<std::int64_t>(0, reach.end) - reach.begin),
          std::max<std::int64_t>(0, reach.end - std::max(reading.inputs, reach.begin)),
          reach.begin,
          outputs.begin};
}

/// Cut so that each is inside one run or made of whole runs.
Intervals in_runs(const Interval& outputs, std::int64_t run) {
  if (run == 0) return {outputs};
  const std::int64_t first = std::min(outputs.end, (outputs.begin + run - 1) / run * run);
  const std::int64_t last = std::max(first, outputs.end / run * run);
  return {{outputs.begin, first}, {first, last}, {last, outputs.end}};
}

/// The same indices by where a worker that holds `segments` has them.
Intervals local(const Intervals& global, const Segments& segments) {
  Intervals found;
  for (const Interval& wanted : global) {
    for (const Segment& held : segments) {
      const Interval both = intersect(wanted, held.global);
      if (both.size() == 0) continue;
      const std::int64_t begin = held.local + both.begin - held.global.begin;
      if (!found.empty() && found.back().end == begin)
        found.back().end += both.size();
      else
        found.push_back({begin, begin + both.size()});
    }
  }
  return found;
}

at::Tensor positions(const Intervals& intervals, const at::Tensor& of) {
  std::vector<std::int64_t> all;
  for (const Interval& each : intervals)
    for (std::int64_t i = each.begin; i < each.end; ++i) all.push_back(i);
  const auto n = static_cast<std::int64_t>(all.size());
  const at::Tensor here = at::zeros({n}, at::kLong);
  std::copy(all.begin(), all.end(), here.mutable_data_ptr<std::int64_t>());
  return on_device(here, of.device());
}

}  // namespace

DimReading reading_of(const Window& window, std::int64_t inputs, PaddingMode mode) {
  return {inputs, output_extent(window, inputs),
          [window](const Interval& outputs) { return reach(window, outputs); }, mode};
}

DimReading reading_of_groups(std::int64_t groups, std::int64_t inputs, std::int64_t outputs) {
  const std::int64_t in = inputs / groups, out = outputs / groups;
  return {inputs, outputs,
          [in, out](const Interval& some) {
            return Interval{some.begin / out * in, (some.end + out - 1) / out * in};
          },
          PaddingMode::zeros, out};
}

std::vector<Piece> pieces_of(const DimReading& reading, const Intervals& outputs) {
  std::vector<Piece> pieces;
  for (const Interval& held : outputs) {
    if (held.size() == 0) continue;
    for (const Interval& each : in_runs(held, reading.run))
      if (each.size() > 0) pieces.push_back(piece_of(reading, each));
  }
  return pieces;
}

Intervals needs_of(const DimReading& reading, const Intervals& outputs) {
  Intervals all;
  for (const Piece& part : pieces_of(reading, outputs))
    all.insert(all.end(), part.inputs.begin(), part.inputs.end());
  return united(all);
}

std::vector<Piece> local_pieces(const DimReading& reading, const Intervals& inputs,
                                const Intervals& outputs) {
  const Segments held = segments(inputs);
  std::vector<Piece> pieces = pieces_of(reading, outputs);
  std::int64_t at = 0;
  for (Piece& part : pieces) {
    part.inputs = local(part.inputs, held);
    part.outputs = {at, at + part.outputs.size()};
    at = part.outputs.end;
  }
  return pieces;
}

at::Tensor inputs_of(const Piece& part, const at::Tensor& x, std::int64_t dim) {
  if (part.inputs.empty()) return x.narrow(dim, 0, 0);
  if (part.inputs.size() == 1) return x.narrow(dim, part.inputs[0].begin, part.inputs[0].size());
  return x.index_select(dim, positions(part.inputs, x));
}

at::Tensor put_back(const Piece& part, const at::Tensor& z, std::int64_t dim, std::int64_t size) {
  if (part.inputs.size() == 1 && part.inputs[0] == Interval{0, size}) return z;
  std::vector<std::int64_t> shape = z.sizes().vec();
  shape[static_cast<std::size_t>(dim)] = size;
  if (part.inputs.empty()) return at::zeros(shape, z.options());
  if (part.inputs.size() > 1)
    return at::zeros(shape, z.options()).index_add(dim, positions(part.inputs, z), z);
  std::vector<std::int64_t> pad(static_cast<std::size_t>(2 * (z.dim() - dim)), 0);
  pad[pad.size() - 2] = part.inputs[0].begin;
  pad[pad.size() - 1] = size - part.inputs[0].end;
  return at::constant_pad_nd(z, pad);
}

void each_of_pieces(const std::vector<std::vector<Piece>>& pieces,
                    const std::function<void(const std::vector<Piece>&)>& f) {
  std::vector<Piece> chosen;
  const std::function<void()> rest = [&] {
    if (chosen.size() == pieces.size()) return f(chosen);
    for (const Piece& part : pieces[chosen.size()]) {
      chosen.push_back(part);
      rest();
      chosen.pop_back();
    }
  };
  rest();
}

at::Tensor over_pieces(const std::vector<std::vector<Piece>>& pieces, const std::vector<std::int64_t>& dims,
                       const std::function<at::Tensor(const std::vector<Piece>&)>& f) {
  std::vector<Piece> chosen;
  const std::function<at::Tensor()> rest = [&]() -> at::Tensor {
    const std::size_t level = chosen.size();
    if (level == pieces.size()) return f(chosen);
    std::vector<at::Tensor> results;
    for (const Piece& piece : pieces[level]) {
      chosen.push_back(piece);
      results.push_back(rest());
      chosen.pop_back();
    }
    return results.size() == 1 ? results[0] : at::cat(results, dims[level]);
  };
  return rest();
}

}  // namespace detail
}  // namespace riesz
