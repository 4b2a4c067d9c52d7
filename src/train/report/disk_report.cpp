// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/disk_report.h"

#include <ATen/ops/zeros.h>

#include <array>
#include <cstdio>

#include "riesz/io/checkpoint/all_or_none.h"
#include "riesz/io/escaped.h"
#include "riesz/primitives/all_max.h"
#include "riesz/train/config/schema.h"

namespace riesz {
namespace {

std::vector<std::string> axes_of(const Partition& P) {
  std::vector<std::string> axes;
  for (const Axis& axis : P.axes()) axes.push_back(axis.name);
  return axes;
}

constexpr double kMB = 1e6;

std::string line(const std::string& folder, const DiskSpeed& speed, double bytes) {
  std::array<char, 100> speeds, step;
  std::snprintf(speeds.data(), speeds.size(),
                " writes %.0f MB/s and reads %.0f MB/s for each rank, all at once", speed.write / kMB,
                speed.read / kMB);
  std::snprintf(step.data(), step.size(),
                "; the state of a step is %.1f MB a rank there, read and written in %.2f s", bytes / kMB,
                bytes / speed.write + bytes / speed.read);
  return concat(in_quotes(folder), speeds.data(), bytes > 0 ? step.data() : "", "\n");
}

}  // namespace

std::vector<std::filesystem::path> offload_paths(const Config& config) {
  std::vector<std::filesystem::path> paths;
  with_each_path(*find_key("offload.path"), config.offload.path, [&](const std::string& path) {
    paths.emplace_back(path);
    return path;
  });
  return paths;
}

std::vector<DiskSpeed> measure_disks(const Partition& P, const Config& config) {
  if (config.offload.state != "disk" && config.offload.activations != "disk") return {};
  std::vector<DiskSpeed> speeds;
  all_or_none(P, [&] {
    for (const std::filesystem::path& path : offload_paths(config))
      speeds.push_back(measure_disk(path, {.depth = static_cast<std::size_t>(config.offload.depth)}));
  });
  at::Tensor all = at::zeros({2 * static_cast<std::int64_t>(speeds.size())}, at::kDouble);
  auto* const numbers = all.mutable_data_ptr<double>();
  for (std::size_t i = 0; i < speeds.size(); ++i)
    numbers[2 * i] = speeds[i].write, numbers[2 * i + 1] = speeds[i].read;
  all = all_min(P, axes_of(P), all);
  const auto* const least = all.const_data_ptr<double>();
  for (std::size_t i = 0; i < speeds.size(); ++i) speeds[i] = {least[2 * i], least[2 * i + 1]};
  return speeds;
}

std::string disk_report(const Config& config, const std::vector<DiskSpeed>& speeds, std::int64_t bytes) {
  const std::vector<std::filesystem::path> paths = offload_paths(config);
  const double of_each = static_cast<double>(bytes) / static_cast<double>(paths.size());
  std::string text;
  for (std::size_t i = 0; i < speeds.size(); ++i) text += line(paths[i].string(), speeds[i], of_each);
  return text;
}

}  // namespace riesz
