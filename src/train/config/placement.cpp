// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/config/placement.h"

#include <charconv>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/nn/names.h"
#include "riesz/pipeline/partitioner/partition_by.h"
#include "riesz/pipeline/schedule/make_schedule.h"
#include "riesz/train/config/check_images.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/config/schema.h"

namespace riesz {
namespace {

/// How many chunks each worker has; 0: any number.
std::int64_t chunks_of(const std::string& schedule) {
  if (schedule == "interleaved") return 0;
  return schedule == "zb_v" || schedule == "v_half" || schedule == "v_min" ? 2 : 1;
}

std::int64_t chunks(const Config& config) {
  if (config.pipeline.chunks > 0) return config.pipeline.chunks;
  return chunks_of(config.pipeline.schedule) == 1 ? 1 : 2;
}

int stages(const Config& config) { return static_cast<int>(config.layout.pp * chunks(config)); }

void check_chunks(const Config& config) {
  constexpr std::int64_t kMost = 1 << 10;
  const std::int64_t has = chunks_of(config.pipeline.schedule);
  RIESZ_CHECK(config.pipeline.chunks == 0 || has == 0 || config.pipeline.chunks == has,
              value_and_origin(config, "pipeline.chunks"), ": with ",
              value_and_origin(config, "pipeline.schedule"), " a worker has ", has,
              has == 1 ? " stage" : " stages", "; set pipeline.chunks to ", has,
              ", or pipeline.schedule to \"interleaved\", which has any number",
              has == 1 ? ", or to \"zb_v\", \"v_half\" or \"v_min\", which have 2" : "");
  RIESZ_CHECK(config.pipeline.chunks <= kMost, value_and_origin(config, "pipeline.chunks"),
              "; it is at most ", kMost);
}

void check_micro_batches(const Config& config) {
  const std::int64_t m = micro_batches_of(config), p = config.layout.pp;
  constexpr std::int64_t kMost = std::int64_t{1} << 22;  // cells of a table
  const std::string said = config.train.micro_batches > 0
                               ? value_and_origin(config, "train.micro_batches")
                               : concat("train.micro_batches = ", m, " (twice layout.pp)");
  RIESZ_CHECK(m <= config.train.batch, said, " are more parts than there are ", row_names(config.model), ": ",
              value_and_origin(config, "train.batch"),
              "; a micro-batch has at least one: set train.micro_batches to ", config.train.batch,
              " or less");
  RIESZ_CHECK(m <= kMost / stages(config), said, " for ", stages(config), " stages; a table has at most ",
              kMost, " forward passes");
  RIESZ_CHECK(config.pipeline.schedule != "interleaved" || m % p == 0, said, " is no multiple of ",
              value_and_origin(config, "layout.pp"),
              ", which pipeline.schedule = \"interleaved\" needs; set it to ", m - m % p + p,
              m > p ? concat(" or ", m - m % p) : std::string(), ", or take another schedule");
}

/// A default that follows layout.pp would make losses follow it too.
void check_batch_norms(const Config& config) {
  RIESZ_CHECK(config.train.micro_batches > 0 || !has_batch_norms(config.model),
              value_and_origin(config, "layout.pp"), ": ", value_and_origin(config, "model.kind"),
              " has batch norms, which take the moments of a micro-batch, so its losses depend on "
              "train.micro_batches, and that is not set; set it, such as to ",
              micro_batches_of(config),
              ", twice layout.pp; a training with one stage has the same losses with "
              "the same number");
}

/// "PATTERN=STAGE PATTERN=STAGE …"
std::vector<std::pair<std::string, int>> read_names(const Config& config) {
  std::vector<std::pair<std::string, int>> names;
  std::istringstream words(config.pipeline.names);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.rfind('=');
    int stage = 0;
    const char* const end = word.data() + word.size();
    const bool number = equals != std::string::npos && equals > 0 &&
                        std::from_chars(word.data() + equals + 1, end, stage).ptr == end &&
                        equals + 1 < word.size();
    RIESZ_CHECK(number && stage >= 0 && stage < stages(config), value_and_origin(config, "pipeline.names"),
                ": ", in_quotes(word), " is no pattern and its stage, of 0 to ", stages(config) - 1,
                "; write such as transformer.h.[2-3]=1 lm_head=1, with spaces between");
    names.emplace_back(word.substr(0, equals), stage);
  }
  return names;
}

void check_blocks(const Config& config, const CostTree& tree) {
  const std::vector<Block> all = blocks(tree);
  std::vector<std::string> paths;
  for (const Block& block : all) paths.push_back(block.path);
  const auto most = static_cast<std::int64_t>(all.size());
  RIESZ_CHECK(stages(config) <= most, value_and_origin(config, "layout.pp"), " x ", chunks(config),
              chunks(config) == 1 ? " stage" : " stages", " of each worker are more than the ", most,
              " blocks that the model has, ", shortened(paths),
              "; a stage has one at least: set layout.pp to ", most / chunks(config), " or less, or ",
              config.model.kind == "resnet" ? std::string("give model.depths more blocks")
              : config.model.kind == "unet" ? concat("model.levels above ", config.model.levels)
                                            : concat("model.layers above ", config.model.layers));
}

}  // namespace

void check_pipeline(const Config& config) {
  if (config.layout.pp == 1) return;
  check_chunks(config);
  check_batch_norms(config);
  check_micro_batches(config);
  RIESZ_CHECK(config.pipeline.partition != "sagemaker" || config.pipeline.schedule == "gpipe",
              "pipeline.partition = \"sagemaker\" may give a stage modules that lie apart, to which a "
              "micro-batch comes back; that runs with pipeline.schedule = \"gpipe\", not with ",
              value_and_origin(config, "pipeline.schedule"));
  RIESZ_CHECK(config.pipeline.partition != "names" || !read_names(config).empty(),
              "pipeline.partition = \"names\" takes pipeline.names, such as transformer.h.[2-3]=1 lm_head=1, "
              "which is empty");
  pipeline_schedule(config);  // says what else does not fit
}

std::int64_t micro_batches_of(const Config& config) {
  const std::int64_t m = config.train.micro_batches;
  if (m > 0) return m;
  return config.layout.pp == 1 ? 1 : 2 * config.layout.pp;
}

Schedule pipeline_schedule(const Config& config) {
  return make_schedule(config.pipeline.schedule, {.stages = static_cast<int>(config.layout.pp),
                                                  .micro_batches = static_cast<int>(micro_batches_of(config)),
                                                  .chunks = static_cast<int>(chunks(config))});
}

bool measures_time(const Config& config) {
  const std::string& by = config.pipeline.partition;
  return config.layout.pp > 1 && (by == "time" || by == "pipedream" || by == "sagemaker");
}

StagePlan plan_stages(const Config& config, const CostTree& tree) {
  check_blocks(config, tree);
  const PartitionerOptions options{.names = read_names(config)};
  if (options.names.empty()) return partition_by(config.pipeline.partition, tree, stages(config), options);
  try {
    return partition_by(config.pipeline.partition, tree, stages(config), options);
  } catch (const Error& error) {
    throw Error(concat(error.what(), "; so says ", value_and_origin(config, "pipeline.names")));
  }
}

Layout layout_of(const Config& config, const Partition& job, const ModuleStages& placement) {
  const Config::Layout& layout = config.layout;
  if (layout.pp == 1) return layout_on(layout, job);
  std::vector<Layout> layouts;
  for (const int worker : pipeline_schedule(config).worker_of)
    layouts.push_back(layout_on(layout, job.at("pp", worker)));
  return spaces::placed(std::move(layouts), placement);
}

}  // namespace riesz
