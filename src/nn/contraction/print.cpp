// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>

#include "riesz/comm/error.h"
#include "riesz/nn/contraction/contraction.h"
#include "riesz/nn/contraction/plan.h"

namespace riesz {
namespace {

/// 3145728 as 3,145,728.
std::string by_thousands(std::int64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string plural(std::int64_t count, const std::string& what) {
  return by_thousands(count) + " " + what + (count == 1 ? "" : "s");
}

/// "gather x over t" of AllGather, and so on.
std::string phrase(const Primitive& step, const std::string& operand, const std::string& letters) {
  static const std::map<std::string, std::string> verbs{
      {"AllGather", "gather"},       {"ReduceScatter", "scatter-sum"}, {"AllReduce", "sum"},
      {"AllToAll", "exchange"},      {"Broadcast", "broadcast"},       {"SumReduce", "sum"},
      {"Repartition", "repartition"}};
  const auto verb = verbs.find(step.name());
  std::string over;
  if (step.domain().partition() == step.range().partition()) {
    for (const int axis : step.axes()) {
      const int dim = std::max(step.domain().dim_of(axis), step.range().dim_of(axis));
      const std::string index = dim < 0 ? "" : std::string(1, letters[static_cast<std::size_t>(dim)]);
      if (over.find(index) == std::string::npos) over += (over.empty() ? "" : ", ") + index;
    }
  }
  return (verb == verbs.end() ? step.name() : verb->second) + " " + operand +
         (over.empty() ? "" : " over " + over);
}

std::string axes_of(const Primitive& step) {
  if (step.domain().partition() != step.range().partition()) return "";
  std::string text;
  for (const int axis : step.axes()) {
    text += (text.empty() ? "" : ", ") + step.domain().partition().axis(axis).name;
  }
  return text;
}

/// What reading or writing operand k moves, with what the first worker sends in all panels.
std::string moves(const detail::ContractionPlan& plan, std::size_t k, bool name_axes) {
  const char* const names[] = {"x", "w", "y"};
  const auto done = [&](const Operator& read) { return k == 2 ? adjoint(read) : read; };
  const Operator whole = done(plan.read[k]);
  std::string text;
  for (std::size_t i = 0; i < whole.steps().size(); ++i) {
    const Step& step = whole.steps()[i];
    if (!step->sends()) continue;
    Traffic traffic;
    for (std::size_t panel = 0; panel < plan.reads(k); ++panel) {
      const Operator part = done(plan.read_of(k, panel));
      for (const Step& same : part.steps()) {
        if (same->name() == step->name() && same->axes() == step->axes()) traffic += same->traffic(0);
      }
    }
    const std::string axes = name_axes ? axes_of(*step) : "";
    text += phrase(*step, names[k], plan.indices[k]) + (axes.empty() ? "" : " on " + axes) + " (" +
            plural(traffic.elements, "element") + ", " + plural(traffic.messages, "message") + "), ";
  }
  return text;
}

}  // namespace

std::string to_string(const Contraction& contraction) {
  const Partition& grid = contraction.read(1).range().partition();
  std::string on;
  int axes = 0;
  for (const Axis& axis : grid.axes()) {
    if (axis.extent == 1) continue;
    on += (on.empty() ? " on " : ", ") + axis.name;
    ++axes;
  }
  const detail::ContractionPlan& plan = contraction.plan();
  std::string text = detail::spec_of(plan.indices) + on + ": " + moves(plan, 0, axes > 1) +
                     moves(plan, 1, axes > 1) + "multiply, " + moves(plan, 2, axes > 1);
  text.resize(text.size() - 2);
  if (plan.options.compute_type) text += concat("; in ", at::toString(*plan.options.compute_type));
  if (const auto& stream = plan.stream) {
    text += "; " + std::string(1, stream->index) + " in " +
            plural(static_cast<std::int64_t>(stream->panels.size()), "panel");
  }
  return text;
}

}  // namespace riesz
