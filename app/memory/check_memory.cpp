// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/memory/check_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <system_error>
#include <variant>

#include "riesz/app/memory/memory_estimate.h"
#include "riesz/app/models/model_shape.h"
#include "riesz/comm/error.h"
#include "riesz/comm/host_memory.h"
#include "riesz/io/host_copy.h"
#include "riesz/io/images/image_list.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/config/placement.h"
#include "riesz/train/config/schema.h"
#include "riesz/train/data/darcy_task.h"

namespace riesz::app {
namespace {

/// The value nearest to what is set, from it to `end`, with which the configuration fits: "key = value"; ""
/// if there is none. Both are multiples of `of`, and so is what is found. By bisection: towards `end` it must
/// take less and less.
std::string nearest(const std::string& key, Config config, std::int64_t end,
                    const std::function<bool(const Config&)>& fits, std::int64_t of = 1) {
  std::int64_t& value = std::get<std::int64_t& (*)(Config&)>(find_key(key)->field)(config);
  std::int64_t bad = value / of;
  std::int64_t good = end / of;
  value = good * of;
  if (bad == good || !fits(config)) return "";
  while (std::abs(good - bad) > 1) {
    const std::int64_t between = good + (bad - good) / 2;
    value = between * of;
    (fits(config) ? good : bad) = between;
  }
  return concat(key, " = ", good * of);
}

/// Towards as many as there are sequences.
std::string nearest_micro_batches(Config config, const std::function<bool(const Config&)>& fits) {
  const bool in_turns = config.layout.pp > 1 && config.pipeline.schedule == "interleaved";
  config.train.micro_batches = micro_batches_of(config);
  const std::string change =
      nearest("train.micro_batches", config, config.train.batch, fits, in_turns ? config.layout.pp : 1);
  if (change.empty() || !has_batch_norms(config.model)) return change;
  return change + " (with other losses: batch norms take the moments of a micro-batch)";
}

double workers_along(const Partition& mesh, const std::vector<std::string>& axes) {
  double workers = 1;
  for (const std::string& axis : axes) workers *= mesh.extent(axis);
  return workers;
}

/// "it would fit with …", or that no key alone makes it fit.
std::string what_fits(const Config& config, const Partition& mesh,
                      const std::function<bool(const Config&)>& fits) {
  const bool shares = workers_along(mesh, token_axes(config.layout, mesh)) > 1;
  const bool deep =
      config.model.from.empty() && is_read(*find_key("model.layers"), config);  // may be lowered
  const std::int64_t fewest = deep ? config.layout.pp : config.model.layers;
  std::string text;
  for (const std::string& change :
       {nearest_micro_batches(config, fits), nearest("train.batch", config, micro_batches_of(config), fits),
        nearest("layout.zero", config, shares ? 3 : config.layout.zero, fits),
        nearest("model.layers", config, fewest, fits)}) {
    if (!change.empty()) text += (text.empty() ? "" : ", or ") + change;
  }
  Config again = config;
  again.layout.recompute = "blocks";
  again.layout.recompute_every = 1;
  if (fits(again)) text += (text.empty() ? "" : ", or ") + std::string("layout.recompute = \"blocks\"");
  return text.empty()
             ? "no other train.micro_batches, train.batch, layout.zero, layout.recompute or "
               "model.layers would fit alone; take "
               "a smaller model.width, shorter sequences or smaller images, or more ranks on other hosts"
             : "it would fit with " + text;
}

}  // namespace

void check_memory(const Config& config, const Partition& mesh, double data_bytes, int ranks,
                  double available) {
  const auto needs = [&](const Config& c) { return ranks * estimate_memory(c, mesh, data_bytes).all(); };
  const auto fits = [&](const Config& c) { return needs(c) <= available; };
  RIESZ_CHECK(fits(config), "this training does not fit this host, which has ", bytes_text(available),
              " of memory left: ", ranks == 1 ? "1 rank takes " : concat(ranks, " ranks on it take "),
              bytes_text(needs(config)), " at least; each rank takes\n",
              to_string(estimate_memory(config, mesh, data_bytes)), what_fits(config, mesh, fits));
}

double bytes_of_data(const Config& config, int holders) {
  namespace fs = std::filesystem;
  if (config.data.task == "images")
    return static_cast<double>(count_images(config.data.images) * image_elements(config)) / holders;
  if (config.data.task == "darcy") return static_cast<double>(DarcyTask::bytes(config)) / holders;
  std::error_code error;
  if (config.data.task != "text" || !fs::is_regular_file(config.data.text, error)) return 0;
  const auto bytes = static_cast<double>(fs::file_size(config.data.text, error));
  return error ? 0 : bytes;
}

void check_memory(const Config& config, const Partition& mesh, int ranks) {
  const std::optional<std::int64_t> available = available_memory();
  if (!available) return;
  const double data_bytes = bytes_of_data(config, holders_of_host_copy(Partition::world()));
  check_memory(config, mesh, data_bytes, ranks, static_cast<double>(*available));
}

}  // namespace riesz::app
