// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/reading.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "riesz/comm/on_device.h"
#include "riesz/partition/intervals/segments.h"

namespace riesz::detail {
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

Slab slab_of(const DimReading& reading, const Interval& outputs) {
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

/// Cut so that each interval lies within one group or holds whole groups, of `n` outputs each.
Intervals in_groups(const Interval& outputs, std::int64_t n) {
  if (n == 0) return {outputs};
  const std::int64_t first = std::min(outputs.end, (outputs.begin + n - 1) / n * n);
  const std::int64_t last = std::max(first, outputs.end / n * n);
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

std::vector<Slab> slabs_of(const DimReading& reading, const Intervals& outputs) {
  std::vector<Slab> slabs;
  for (const Interval& held : outputs) {
    if (held.size() == 0) continue;
    for (const Interval& each : in_groups(held, reading.group_outputs))
      if (each.size() > 0) slabs.push_back(slab_of(reading, each));
  }
  return slabs;
}

Intervals needs_of(const DimReading& reading, const Intervals& outputs) {
  Intervals all;
  for (const Slab& slab : slabs_of(reading, outputs))
    all.insert(all.end(), slab.inputs.begin(), slab.inputs.end());
  return united(all);
}

std::vector<Slab> local_slabs(const DimReading& reading, const Intervals& inputs, const Intervals& outputs) {
  const Segments held = segments(inputs);
  std::vector<Slab> slabs = slabs_of(reading, outputs);
  std::int64_t at = 0;
  for (Slab& slab : slabs) {
    slab.inputs = local(slab.inputs, held);
    slab.outputs = {at, at + slab.outputs.size()};
    at = slab.outputs.end;
  }
  return slabs;
}

at::Tensor narrowed(const at::Tensor& x, std::int64_t dim, const Interval& to) {
  return to == Interval{0, x.size(dim)} ? x : x.narrow(dim, to.begin, to.size());
}

at::Tensor inputs_of(const Slab& slab, const at::Tensor& x, std::int64_t dim) {
  if (slab.inputs.empty()) return x.narrow(dim, 0, 0);
  if (slab.inputs.size() == 1) return narrowed(x, dim, slab.inputs[0]);
  return x.index_select(dim, positions(slab.inputs, x));
}

at::Tensor scatter_add(const Slab& slab, const at::Tensor& z, std::int64_t dim, std::int64_t size) {
  if (slab.inputs.size() == 1 && slab.inputs[0] == Interval{0, size}) return z;
  std::vector<std::int64_t> shape = z.sizes().vec();
  shape[static_cast<std::size_t>(dim)] = size;
  if (slab.inputs.empty()) return at::zeros(shape, z.options());
  if (slab.inputs.size() > 1)
    return at::zeros(shape, z.options()).index_add(dim, positions(slab.inputs, z), z);
  std::vector<std::int64_t> pad(static_cast<std::size_t>(2 * (z.dim() - dim)), 0);
  pad[pad.size() - 2] = slab.inputs[0].begin;
  pad[pad.size() - 1] = size - slab.inputs[0].end;
  return at::constant_pad_nd(z, pad);
}

std::vector<std::vector<Slab>> combinations_of(const std::vector<std::vector<Slab>>& slabs) {
  std::vector<std::vector<Slab>> all{{}};
  for (const std::vector<Slab>& of_dim : slabs) {
    std::vector<std::vector<Slab>> longer;
    for (const std::vector<Slab>& chosen : all) {
      for (const Slab& slab : of_dim) {
        longer.push_back(chosen);
        longer.back().push_back(slab);
      }
    }
    all = std::move(longer);
  }
  return all;
}

at::Tensor over_slabs(const std::vector<std::vector<Slab>>& slabs, const std::vector<std::int64_t>& dims,
                      const std::function<at::Tensor(const std::vector<Slab>&)>& f) {
  std::vector<at::Tensor> parts;
  for (const std::vector<Slab>& chosen : combinations_of(slabs)) parts.push_back(f(chosen));
  for (std::size_t level = slabs.size(); level-- > 0;) {
    const std::size_t each = slabs[level].size();
    if (each == 1) continue;
    std::vector<at::Tensor> joined;
    for (std::size_t i = 0; i < parts.size(); i += each)
      joined.push_back(at::cat(at::ArrayRef<at::Tensor>(parts).slice(i, each), dims[level]));
    parts = std::move(joined);
  }
  return parts.front();
}

}  // namespace riesz::detail
