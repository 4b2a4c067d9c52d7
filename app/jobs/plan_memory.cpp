// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/jobs/plan_memory.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "riesz/app/jobs/explain.h"
#include "riesz/app/memory/check_memory.h"
#include "riesz/app/memory/memory_estimate.h"
#include "riesz/app/memory/tiles_memory.h"
#include "riesz/app/models/model_from.h"
#include "riesz/app/models/model_shape.h"
#include "riesz/comm/error.h"
#include "riesz/comm/host_memory.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/config/load_config.h"
#include "riesz/train/config/schema.h"

namespace riesz::app {
namespace {

constexpr const char* kOfGates =
    "activations are expected ones, of a gate that chooses all experts equally often; at worst all tokens "
    "choose experts of one rank, up to their capacity, which takes so much besides\n";
constexpr const char* kOfGpus = "on a GPU, whose memory is not compared with it\n";

/// What a host has left; nothing where ranks compute in the memory of GPUs, which this host may lack.
std::optional<double> bytes_to_compare(const Config& config, const HostWords& host) {
  if (config.device != "cpu") return std::nullopt;
  const std::optional<std::int64_t> left = available_memory();
  RIESZ_CHECK(host.memory || left,
              "this host does not say how much memory it has left; say it with --host-memory");
  return host.memory ? *host.memory * (1 << 30) : static_cast<double>(*left);
}

/// What a rank takes to predict an image, and how that is cut.
struct PredictionPlan {
  Tiling tiling;
  std::int64_t at_once;
  double bytes;
};

PredictionPlan plan_prediction(const Config& config, const HostWords& host) {
  RIESZ_CHECK(sees_images(config.model), value_and_origin(config, "model.kind"),
              " predicts no pixels and no fields; leave --predict out");
  RIESZ_CHECK(config.layout.pp == 1, value_and_origin(config, "layout.pp"),
              ": the memory of a prediction in stages is not planned; set it to 1, or leave --predict out");
  Tiling tiling =
      tiling_of(image_model_shape(config, labels_of_data(config)), host.predicts, host.predicts, host.tile);
  const std::int64_t at_once = host.at_once > 0 ? host.at_once : config.layout.dp;  // of several images
  const double bytes = memory_of_tiles(config, tiling, at_once);
  return {std::move(tiling), at_once, bytes};
}

std::string text_of(const PredictionPlan& plan, std::int64_t size) {
  return concat("to predict ", size, " x ", size, " in ", plan.tiling.tiles_of_an_image(),
                " tiles with windows of ", plan.tiling.window, " and halos of ", plan.tiling.halo, ", ",
                plan.at_once, " at once, each rank takes at most ", bytes_text(plan.bytes), "\n");
}

}  // namespace

int check_host(const Config& config, const HostWords& host) {
  const int workers = workers_of(config), ranks = host.ranks.value_or(workers);
  RIESZ_CHECK(ranks >= 1 && ranks <= workers, ranks, " ranks on a host, of the ", workers,
              " that the layout has; say from 1 to ", workers);
  RIESZ_CHECK(!host.memory || *host.memory > 0, "a host with ", *host.memory,
              " GiB of memory holds nothing; say how much it has");
  RIESZ_CHECK(!host.memory || config.device == "cpu", "--host-memory is of a host, and ",
              value_and_origin(config, "device"), " computes in a GPU's memory; leave out one of the two");
  RIESZ_CHECK(
      host.predicts > 0 || (host.tile == 0 && host.at_once == 0),
      "--tile and --tiles-at-once say how an image is predicted; say its rows and columns with --predict");
  return ranks;
}

std::string memory_plan(const Config& given, const HostWords& host, Form form) {
  const Config config = with_model_from(given);
  const int workers = workers_of(config);
  check_config(config, workers);
  const int ranks = check_host(config, host);
  const Partition mesh = Partition::simulated(workers).grid(job_axes(config.layout));
  const double data = bytes_of_data(config, ranks);
  const std::optional<double> available = bytes_to_compare(config, host);
  if (available) check_memory(config, mesh, data, ranks, *available);
  const MemoryEstimate each = estimate_memory(config, mesh, data);
  std::optional<PredictionPlan> prediction;
  if (host.predicts > 0) prediction = plan_prediction(config, host);
  if (form == Form::json) {
    nlohmann::ordered_json json = {{"layout", to_string(mesh)},
                                   {"bytes_of_a_rank", nlohmann::ordered_json::object()}};
    for (const auto& [name, bytes] : categories(each)) json["bytes_of_a_rank"][name] = bytes;
    json["bytes_of_a_rank"]["in all"] = each.all();
    if (each.elsewhere > 0) json["bytes_of_a_rank"]["elsewhere, besides"] = each.elsewhere;
    if (each.elsewhere > 0) json["bytes_of_a_rank"]["read and written there in a step"] = 2 * each.elsewhere;
    if (each.activations_on_disk > 0)
      json["bytes_of_a_rank"]["activations on a disk, besides"] = each.activations_on_disk;
    if (each.at_worst > 0) json["bytes_of_a_rank"]["at worst, besides"] = each.at_worst;
    json["ranks_on_a_host"] = ranks;
    json["bytes_on_a_host"] = ranks * each.all();
    if (available) json["bytes_available"] = *available;
    if (prediction) json["bytes_of_a_rank_to_predict"] = prediction->bytes;
    return json.dump(2) + "\n";
  }
  return concat("on ", to_string(mesh), " each rank takes", config.layout.pp > 1 ? " at most" : "", "\n",
                to_string(each), each.at_worst > 0 ? kOfGates : "",
                ranks == 1 ? "1 rank takes " : concat(ranks, " ranks on a host take "),
                bytes_text(ranks * each.all()), " at least; ",
                available ? concat("it has ", bytes_text(*available), " left, and they fit\n") : kOfGpus,
                prediction ? text_of(*prediction, host.predicts) : "");
}

}  // namespace riesz::app
