// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/zero/units.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "riesz/optim/store.h"

namespace riesz {
namespace {

bool numbered(const std::string& part) {
  return !part.empty() &&
         std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c); });
}

/// "transformer.h.3" of "transformer.h.3.attn.c_attn.weight"; "transformer.wte" of "transformer.wte.weight".
std::string module_of(const std::string& name) {
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    if (numbered(name.substr(begin, end - begin))) return name.substr(0, end);
    begin = end + 1;
  }
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(0, dot);
}

std::vector<std::string> summed_over(const Space& X, const std::vector<std::string>& axes) {
  std::vector<std::string> over;
  for (const std::string& axis : axes) {
    const Partition& P = X.partition();
    if (P.find(axis) < 0 || P.extent(axis) == 1) continue;
    if (X.placement(axis) == Placement::Replicated) over.push_back(axis);
  }
  return over;
}

/// On the first worker: units are alike on all, where parts are not.
std::int64_t local_elements(const Parameter& parameter) {
  std::int64_t elements = 1;
  for (const std::int64_t n : parameter.space().local_shape(0)) elements *= n;
  return elements;
}

}  // namespace

UnitPlan plan_units(const std::vector<Parameter>& parameters, const std::vector<std::string>& axes,
                    std::int64_t elements) {
  for (const Parameter& parameter : parameters) check_trainable("Zero", parameter);
  UnitPlan plan;
  std::string module;
  std::int64_t in_unit = 0;
  for (std::size_t begin = 0; begin < parameters.size();) {
    module = module_of(parameters[begin].name());
    std::size_t end = begin;
    std::int64_t in_module = 0;
    for (; end < parameters.size() && module_of(parameters[end].name()) == module; ++end)
      in_module += local_elements(parameters[end]);
    if (plan.units.empty() || in_unit + in_module > elements) {
      plan.units.push_back({module, {}});
      in_unit = 0;
    }
    in_unit += in_module;
    Unit& unit = plan.units.back();
    for (; begin < end; ++begin) {
      const std::vector<std::string> over = summed_over(parameters[begin].space(), axes);
      const auto found = std::find_if(unit.buckets.begin(), unit.buckets.end(), [&](std::size_t b) {
        const BucketPlan& bucket = plan.buckets[b];
        return bucket.axes == over && bucket.type == parameters[begin].type();
      });
      if (found == unit.buckets.end()) {
        unit.buckets.push_back(plan.buckets.size());
        plan.buckets.push_back({unit.name, over, parameters[begin].type(), {begin}});
      } else {
        plan.buckets[*found].parameters.push_back(begin);
      }
      plan.unit_of.push_back(plan.units.size() - 1);
    }
  }
  return plan;
}

}  // namespace riesz
