// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/train/config/check_images.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/config/load_config.h"
#include "riesz/train/config/parameter_groups.h"
#include "riesz/train/config/placement.h"
#include "riesz/train/config/schema.h"
#include "riesz/train/config/step_window.h"

namespace riesz {
namespace {

/// Of numbers in fp32, such as "768 EiB".
std::string bytes_text(double numbers) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"};
  double bytes = 4 * numbers;
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  std::ostringstream text;
  text.precision(4);
  text << bytes << " " << kUnits[unit];
  return text.str();
}

/// No machine has a weight of that size, and larger numbers could not be counted. In floating point, which
/// does not overflow.
void check_weight(const Config& config, const char* what, const std::vector<std::string>& keys,
                  double numbers) {
  constexpr double kMost = 0x1p44;
  if (numbers <= kMost) return;
  std::string sizes;
  for (const std::string& key : keys)
    sizes += (sizes.empty() ? "" : key == keys.back() ? " or " : ", ") + value_and_origin(config, key);
  throw_error(concat(what, " takes ", bytes_text(numbers), ": lower ", sizes));
}

void check_sizes(const Config& config) {
  const auto& model = config.model;
  const auto width = static_cast<double>(model.width);
  const double hidden = model.hidden > 0 ? static_cast<double>(model.hidden) : 4 * width;
  check_weight(config, "a weight of the MLP", {"model.width", "model.hidden"}, width * hidden);
  if (model.kind == "qwen2_moe")
    check_weight(config, "a weight of an expert", {"model.width", "model.expert_hidden"},
                 width * static_cast<double>(model.expert_hidden));
  check_weight(config, "a weight of attention", {"model.width"}, 3 * width * width);
  if (model.kind == "vit") {
    const double side = static_cast<double>(model.image) / static_cast<double>(model.patch);
    check_weight(config, "the position table", {"model.image", "model.width"}, (side * side + 1) * width);
    check_weight(config, "the weight of the patches", {"model.patch", "model.width"},
                 static_cast<double>(model.patch) * static_cast<double>(model.patch) * 3 * width);
  } else if (model.kind == "gpt2" || model.kind == "gpt2_moe") {
    const bool wide = width > static_cast<double>(model.context);
    check_weight(config, "the position table", {wide ? "model.width" : "model.context"},
                 static_cast<double>(model.context) * width);
  }
}

void check_mixture(const Config& config) {
  const auto& model = config.model;
  const bool gpt2 = model.kind == "gpt2_moe";
  RIESZ_CHECK(!has_experts(model) || model.experts_per_token <= model.experts,
              value_and_origin(config, "model.experts_per_token"), " is above ",
              value_and_origin(config, "model.experts"), ": a token goes to different experts");
  RIESZ_CHECK(!gpt2 || model.experts_every <= model.layers, value_and_origin(config, "model.experts_every"),
              " is above ", value_and_origin(config, "model.layers"), ", so no block would have experts");
}

void check_model(const Config& config) {
  const auto& model = config.model;
  RIESZ_CHECK(!model.new_head || !model.from.empty(), value_and_origin(config, "model.new_head"),
              " takes the place of the classifier of model.from, and model.from names no model; remove it");
  RIESZ_CHECK(!model.upcycle || !model.from.empty(), value_and_origin(config, "model.upcycle"),
              " gives experts to the model of model.from, and model.from names none; remove it");
  if (!model.from.empty() && !has_space(model)) return;  // its config.json has been read
  if (model.kind == "resnet") return check_resnet(config);
  if (model.kind == "unet") return check_unet(config);
  if (model.kind == "fno") return check_fno(config);
  check_sizes(config);
  RIESZ_CHECK(model.width % model.heads == 0, value_and_origin(config, "model.width"), " is no multiple of ",
              value_and_origin(config, "model.heads"), ": each head has an equal part of the width");
  check_mixture(config);
  if (model.kind == "gpt2" || model.kind == "gpt2_moe" || model.kind == "vit")
    return;  // their positions have tables
  const std::int64_t of_head = model.width / model.heads;
  const bool shares_keys = model.kind == "llama" || has_experts(model);
  const std::int64_t keys = shares_keys && model.key_value_heads > 0 ? model.key_value_heads : 1;
  RIESZ_CHECK(model.heads % keys == 0, value_and_origin(config, "model.heads"), " is no multiple of ",
              value_and_origin(config, "model.key_value_heads"), ", which as many heads share each");
  const bool some = model.kind == "gptj" && model.rotary_dims > 0;
  RIESZ_CHECK(some || of_head % 2 == 0, value_and_origin(config, "model.width"), " gives each of ",
              value_and_origin(config, "model.heads"), " a width of ", of_head,
              ", whose dims turn in pairs: it must be even");
  RIESZ_CHECK(!some || (model.rotary_dims % 2 == 0 && model.rotary_dims <= of_head),
              value_and_origin(config, "model.rotary_dims"),
              ": they turn in pairs, so an even number of at most ", of_head, ", a head's width");
}

/// For a model with experts: that workers may share these out.
std::string with_experts_shared(const Config& config, int ranks) {
  const auto& layout = config.layout;
  const bool plain = layout.tensor == "1d" && layout.sequence == "none";
  if (!has_experts(config.model) || layout.ep > 1 || !plain || ranks % layout.pp != 0) return "";
  const std::int64_t of_stage = ranks / layout.pp;
  if (of_stage == 1) return "";
  return concat("; or, where workers share the experts out, layout.dp = 1, layout.ep = ", of_stage,
                ", layout.tp = 1");
}

void check_workers(const Config& config, int ranks) {
  const auto& layout = config.layout;
  const bool few = std::max({layout.pp, layout.dp, layout.ep, layout.sp, layout.tp, layout.space[0],
                             layout.space[1]}) <= ranks;
  const std::int64_t workers =
      few ? job_size(layout, std::numeric_limits<std::int64_t>::max()).value_or(0) : 0;
  RIESZ_CHECK(workers == ranks, product_of(layout), " workers, but the job has ", ranks,
              ranks == 1 ? " rank" : " ranks", "; start ",
              few ? concat(workers, workers == 1 ? " rank" : " ranks") : "as many",
              " with mpirun -n, or set these keys so that their product is ", ranks, "; ",
              possible_layouts(ranks, layout), with_experts_shared(config, ranks));
  layout_axes(layout);  // says what does not fit
}

void check_experts(const Config& config) {
  const std::int64_t ep = config.layout.ep;
  if (ep == 1) return;
  const std::string& kind = config.model.kind;
  const char* with_experts =
      config.model.from.empty() ? "take a model.kind with experts: \"gpt2_moe\", \"mixtral\" or \"qwen2_moe\""
      : kind == "llama" || kind == "gpt2"
          ? "set model.upcycle=true, which gives the model of model.from experts"
          : "take a model.from with experts";
  RIESZ_CHECK(has_experts(config.model), value_and_origin(config, "layout.ep"),
              " workers share out experts, and ", value_and_origin(config, "model.kind"),
              " has none; set layout.ep to 1, and layout.dp or layout.tp to as many times more, or ",
              with_experts);
}

void check_schedule(const Config& config) {
  const auto& schedule = config.schedule;
  const bool warmed = schedule.kind == "cosine" || schedule.kind == "linear" || schedule.kind == "constant";
  RIESZ_CHECK(!warmed || schedule.warm_up < config.train.steps, value_and_origin(config, "schedule.warm_up"),
              " must be less than ", value_and_origin(config, "train.steps"),
              "; set schedule.warm_up below it, or to 0");
  RIESZ_CHECK(schedule.kind == "constant" || schedule.kind == "range_test" ||
                  schedule.floor <= config.optimizer.learning_rate,
              value_and_origin(config, "schedule.floor"), " is above ",
              value_and_origin(config, "optimizer.learning_rate"), ", the highest rate");
  RIESZ_CHECK(
      schedule.kind != "range_test" || schedule.floor > 0,
      "schedule.kind = \"range_test\" starts from schedule.floor, which is 0; set the least rate to try");
}

void check_optimizer(const Config& config) {
  const auto& optimizer = config.optimizer;
  const auto zero = config.layout.zero;
  RIESZ_CHECK(optimizer.kind != "one_bit_adam" || zero <= 1, "layout.zero = ", zero,
              ": optimizer.kind = \"one_bit_adam\" exchanges whole momenta; set layout.zero to 0 or 1");
  RIESZ_CHECK(
      optimizer.kind != "one_bit_adam" || config.layout.ep == 1 || config.layout.experts == "tp",
      value_and_origin(config, "layout.ep"),
      ": optimizer.kind = \"one_bit_adam\" averages momenta over "
      "all workers that share the batch, and each of these has experts of its own; set layout.ep to 1, "
      "or take another optimizer");
  RIESZ_CHECK(
      optimizer.kind != "one_bit_adam" || optimizer.clip == 0, "optimizer.clip = ", optimizer.clip,
      ": optimizer.kind = \"one_bit_adam\" does not sum gradients, so it has no norm of them to clip; "
      "set optimizer.clip to 0");
  const auto groups = parameter_groups(optimizer.groups, value_and_origin(config, "optimizer.groups"));
  const bool own_rate = std::any_of(groups.begin(), groups.end(),
                                    [](const ParameterGroup& group) { return group.learning_rate; });
  RIESZ_CHECK(!own_rate || optimizer.learning_rate > 0, value_and_origin(config, "optimizer.learning_rate"),
              ", and ", value_and_origin(config, "optimizer.groups"),
              " has rates, which follow its course; set it above 0");
}

/// A key of the place of something, which is a disk.
void check_disk(const Config& config, const char* key) {
  RIESZ_CHECK(!config.offload.path.empty(), value_and_origin(config, key),
              " needs offload.path, a folder on a disk of each host");
}

void check_offload(const Config& config) {
  const auto& offload = config.offload;
  if (offload.activations == "disk") {
    check_disk(config, "offload.activations");
    RIESZ_CHECK(config.device == "cpu", value_and_origin(config, "offload.activations"),
                " is for training on the CPU, and here is ", value_and_origin(config, "device"),
                "; leave out offload.activations");
    RIESZ_CHECK(config.layout.pp == 1 || config.layout.recompute == "none",
                value_and_origin(config, "layout.recompute"), ": on a pipeline (",
                value_and_origin(config, "layout.pp"),
                ") regions run again ahead of backward, from what is in memory, and ",
                value_and_origin(config, "offload.activations"),
                " would put that on a disk; set layout.recompute to \"none\", or leave out "
                "offload.activations");
  }
  if (offload.state == "device") return;
  if (offload.state == "disk") check_disk(config, "offload.state");
  const std::string& kind = config.optimizer.kind;
  RIESZ_CHECK(offload.state != "host" || config.device != "cpu", value_and_origin(config, "offload.state"),
              " is for training on GPUs, and here is ", value_and_origin(config, "device"),
              ", whose memory is the host's; leave out offload.state, or set it to \"disk\"");
  RIESZ_CHECK(offload.masters == "device" || offload.masters == offload.state,
              value_and_origin(config, "offload.masters"), ", and ",
              value_and_origin(config, "offload.state"),
              "; masters lie where the state does, or in memory with the values (\"device\")");
  RIESZ_CHECK(kind == "adamw" || kind == "adam" || kind == "sgd", value_and_origin(config, "optimizer.kind"),
              " looks at whole parameters in a step, and with ", value_and_origin(config, "offload.state"),
              " a few elements are in memory at a time; set optimizer.kind to \"adamw\", \"adam\" or "
              "\"sgd\", or leave out offload.state");
}

void check_data(const Config& config) {
  const auto& data = config.data;
  const auto& train = config.train;
  const std::int64_t context = config.model.context;
  RIESZ_CHECK(train.micro_batches <= train.batch, value_and_origin(config, "train.micro_batches"),
              " is more than there are ", row_names(config.model), ": ",
              value_and_origin(config, "train.batch"), "; a micro-batch has at least one");
  RIESZ_CHECK(data.task != "adder" || context >= 3 * data.digits, value_and_origin(config, "model.context"),
              " is too short for sums with ", value_and_origin(config, "data.digits"), ": ", 3 * data.digits,
              " tokens");
  RIESZ_CHECK(data.task == "adder" || data.length <= context, value_and_origin(config, "data.length"),
              " is more than ", value_and_origin(config, "model.context"),
              ", all that the model sees at once");
  RIESZ_CHECK(data.task != "text" || !data.text.empty(),
              "data.text names no file to learn from; add data.text=FILE, or a folder");
  check_images(config);
  RIESZ_CHECK(
      data.task != "tokens" || !data.tokens.empty(),
      "data.tokens names no folder to learn from; add data.tokens=FOLDER, which riesz tokenize makes");
}

}  // namespace

bool has_experts(const Config::Model& model) {
  return model.kind == "gpt2_moe" || model.kind == "mixtral" || model.kind == "qwen2_moe";
}

void check_config(const Config& config, int ranks) {
  check_experts(config);
  RIESZ_CHECK(config.layout.panels == 1 || !config.layout.keep_gathered,
              value_and_origin(config, "layout.keep_gathered"),
              " keeps until backward what layers gathered, and ", value_and_origin(config, "layout.panels"),
              " gathers panels and lets them go; set layout.panels to 1, or layout.keep_gathered to false");
  check_space(config);
  check_workers(config, ranks);
  check_pipeline(config);
  check_model(config);
  check_schedule(config);
  check_optimizer(config);
  check_offload(config);
  check_data(config);
  profile_window(config);  // says what is wrong with it
  RIESZ_CHECK(!config.train.nvtx || config.train.profile.empty(), value_and_origin(config, "train.profile"),
              ", and train.nvtx is true: ranges go to one of them; leave one out");
}

}  // namespace riesz
