// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/models/load_model.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "riesz/app/models/device_named.h"
#include "riesz/app/models/pretrained.h"
#include "riesz/app/models/scalar_type.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/pipeline/partitioner/partition_by.h"
#include "riesz/train/config/layout.h"

namespace riesz::app {
namespace {

/// On this job's ranks.
Config::Layout layout_of_job(const ModelWords& words) {
  const std::int64_t ranks = Runtime::size(), others = words.pp * words.dp * words.sp;
  const std::int64_t tp = words.tp > 0 ? words.tp : std::max<std::int64_t>(1, ranks / others);
  RIESZ_CHECK(others * tp == ranks, "layout.pp x layout.dp x layout.sp x layout.tp = ", words.pp, " x ",
              words.dp, " x ", words.sp, " x ", tp, " workers, but the job has ", ranks,
              ranks == 1 ? " rank" : " ranks",
              "; their product must be that, and without layout.tp it is what the others leave");
  Config::Layout layout;
  layout.pp = words.pp, layout.dp = words.dp, layout.sp = words.sp, layout.tp = tp;
  layout.tensor = words.tensor;
  layout.sequence = words.sp > 1 ? "ulysses" : "none";
  return layout;
}

/// On a team of workers, or on several, by stages of the tree that the model has on the first.
Layout place(const Config::Layout& layout, const std::function<CostTree(const Layout&)>& tree_on) {
  const Partition job = Partition::world().grid(job_axes(layout));
  const auto named = [&](const Partition& mesh) {
    return spaces::named(layout.tensor, layout.sequence, mesh);
  };
  if (layout.pp == 1) return named(job);
  std::vector<Layout> stages;
  for (std::int64_t stage = 0; stage < layout.pp; ++stage)
    stages.push_back(named(job.at("pp", static_cast<int>(stage))));
  const CostTree tree = tree_on(stages[0]);
  const auto count = static_cast<int>(layout.pp);
  return spaces::placed(std::move(stages), partition_by("parameters", tree, count).placement);
}

}  // namespace

std::string generating_folder(const std::string& folder_or_name) {
  const Pretrained from = read_pretrained(folder_or_name);
  text_config(from);
  return from.folder.string();
}

std::unique_ptr<models::CausalModel> load_model(const ModelWords& words) {
  const at::Device device = device_named(words.device);  // refuses before anything is sent
  const Pretrained from = read_pretrained(words.folder);
  const models::CausalConfig& config = text_config(from);
  const auto tree_on = [&](const Layout& layout) {
    return cost_tree(models::make_causal_model(layout, config)->module());
  };
  auto model = models::make_causal_model(place(layout_of_job(words), tree_on), config);
  model->module().initialise(0, scalar_type(words.precision), device);
  load_pretrained(from, *model);
  return model;
}

HeldModel load_image_model(const ModelWords& words) {
  const at::Device device = device_named(words.device);  // refuses before anything is sent
  const Pretrained from = read_pretrained(words.folder);
  const Config::Layout axes = layout_of_job(words);
  const Partition job = Partition::world().grid(job_axes(axes));
  const auto make = [&](const Layout& layout) {
    return make_image_model(image_config(from), scalar_type(words.precision), layout, job);
  };
  HeldModel model = make(place(axes, [&](const Layout& layout) { return cost_tree(make(layout).module()); }));
  model.learner.module.initialise(0, scalar_type(words.precision), device);
  load_pretrained(from, model.module(), false);
  return model;
}

}  // namespace riesz::app
