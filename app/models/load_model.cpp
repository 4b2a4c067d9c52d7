// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/models/load_model.h"

#include <algorithm>
#include <functional>
#include <variant>
#include <vector>

#include "riesz/app/models/device_named.h"
#include "riesz/app/models/pretrained.h"
#include "riesz/app/models/scalar_type.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/escaped.h"
#include "riesz/pipeline/partitioner/partition_by.h"
#include "riesz/train/config/layout.h"

namespace riesz::app {
namespace {

/// On this job's ranks.
Config::Layout layout_of_job(const ModelWords& words) {
  Config::Layout layout;
  layout.space = words.space;
  const std::int64_t ranks = Runtime::size();
  const std::int64_t sharers = space_size(layout, ranks).value_or(ranks + 1);
  const std::int64_t others = words.pp * words.dp * words.ep * sharers * words.sp;
  layout.pp = words.pp, layout.dp = words.dp, layout.ep = words.ep, layout.sp = words.sp;
  layout.tp = words.tp > 0 ? words.tp : std::max<std::int64_t>(1, ranks / others);
  RIESZ_CHECK(
      words.ep == 1 || words.tensor == "1d" || words.tensor == "sp", "layout.ep = ", words.ep,
      " workers share each layer beside those of layout.tp, which layout.tensor = ", in_quotes(words.tensor),
      " does not let them; set layout.tensor to 1d or sp, or leave layout.ep out");
  layout.experts = "tp";
  RIESZ_CHECK(others * layout.tp == ranks, product_of(layout), " workers, but the job has ", ranks,
              ranks == 1 ? " rank" : " ranks",
              "; their product must be that, and without layout.tp it is what the others leave");
  layout.tensor = words.tensor;
  layout.sequence = words.sp > 1 ? "ulysses" : "none";
  return layout;
}

/// On a team of workers, or on several, by stages of the tree that the model has on the first.
Layout place(const Config::Layout& layout, const std::function<CostTree(const Layout&)>& tree_on) {
  const Partition job = Partition::world().grid(job_axes(layout));
  if (layout.pp == 1) return layout_on(layout, job);
  std::vector<Layout> stages;
  for (std::int64_t stage = 0; stage < layout.pp; ++stage)
    stages.push_back(layout_on(layout, job.at("pp", static_cast<int>(stage))));
  const CostTree tree = tree_on(stages[0]);
  const auto count = static_cast<int>(layout.pp);
  return spaces::placed(std::move(stages), partition_by("parameters", tree, count).placement);
}

/// Has each block experts?
bool routed(const models::CausalConfig& config) {
  return std::visit(
      [](const auto& of) {
        if constexpr (requires { of.experts_per_token; }) return of.experts > 0;
        return false;
      },
      config);
}

void check_experts(const ModelWords& words, bool has_some) {
  RIESZ_CHECK(words.ep == 1 || has_some, "layout.ep = ", words.ep,
              " workers share out experts, and the model ", in_quotes(words.folder),
              " has none; leave layout.ep out, and give its workers to layout.tp");
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
  check_experts(words, routed(config));
  const auto tree_on = [&](const Layout& layout) {
    return cost_tree(models::make_causal_model(layout, config)->module());
  };
  auto model = models::make_causal_model(place(layout_of_job(words), tree_on), config);
  model->module().initialise(0, scalar_type(words.precision), device);
  load_pretrained(from, *model);
  return model;
}

HeldModel load_image_model(const ModelWords& words) {
  return load_image_model(words, image_config(read_pretrained(words.folder)));
}

HeldModel load_image_model(const ModelWords& words, const models::ImageConfig& config) {
  const at::Device device = device_named(words.device);  // refuses before anything is sent
  const Pretrained from = read_pretrained(words.folder);
  check_experts(words, false);
  const Config::Layout axes = layout_of_job(words);
  const Partition job = Partition::world().grid(job_axes(axes));
  const auto make = [&](const Layout& layout) {
    return make_image_model(config, scalar_type(words.precision), layout, job);
  };
  HeldModel model = make(place(axes, [&](const Layout& layout) { return cost_tree(make(layout).module()); }));
  model.learner.module.initialise(0, scalar_type(words.precision), device);
  load_pretrained(from, model.module(), false);
  return model;
}

}  // namespace riesz::app
