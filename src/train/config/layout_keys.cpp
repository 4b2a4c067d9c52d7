// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <utility>
#include <vector>

#include "riesz/train/config/key_makers.h"
#include "riesz/train/config/keys.h"

namespace riesz::detail {

std::vector<Key> layout_keys() {
  return {
      RIESZ_INTEGER(layout.dp, 1, kNoLimit, "data parallel: workers that share each batch"),
      RIESZ_INTEGER(
          layout.tp, 1, kNoLimit,
          "tensor parallel: workers that share each layer; pp x dp x ep x space x sp x tp is the job's size"),
      choice(
          RIESZ_TEXT(
              layout.tensor,
              "how they share it: widths; widths and between them the sequence; or matrices in 2, 2.5 or 3 "
              "dims of a grid"),
          {"1d", "sp", "2d", "2.5d", "3d"}),
      RIESZ_INTEGER(layout.sp, 1, kNoLimit, "sequence parallel: workers that share each sequence"),
      choice(
          RIESZ_TEXT(
              layout.sequence,
              "how they attend to it: keys and values go round a ring, or each has all of it for some heads"),
          {"none", "ring", "ulysses"}),
      RIESZ_INTEGERS(layout.space, 1,
                     "workers that share the rows of images, and workers that share their columns; only for "
                     "models with such dims: resnet, unet and fno"),
      RIESZ_INTEGER(
          layout.pp, 1, kNoLimit,
          "pipeline parallel: workers, or teams of dp x ep x space x sp x tp, that share the layers out"),
      RIESZ_INTEGER(layout.ep, 1, kNoLimit,
                    "expert parallel: workers that share out the experts of each layer; only for models that "
                    "have some"),
      only("layout.ep", {"2"},
           choice(RIESZ_TEXT(layout.experts,
                             "what layout.ep is outside of experts: dp, so each batch is split over it too; "
                             "or tp, so each layer is"),
                  {"dp", "tp"})),
      RIESZ_INTEGER(layout.zero, 0, 3,
                    "ZeRO's stage: what the data-parallel workers share out: nothing; the optimizer's state; "
                    "gradients too; parameters too"),
      RIESZ_INTEGER(
          layout.panels, 1, kNoLimit,
          "panels in which a layer's operands are gathered, two of them in memory at a time; 1: whole"),
      RIESZ_SWITCH(layout.keep_gathered,
                   "whether what layers gathered is kept until backward, which then gathers nothing again"),
      RIESZ_SWITCH(layout.least_traffic,
                   "whether each layer is computed where it moves least, not where its operands lie"),
      choice(RIESZ_TEXT(layout.recompute,
                        "what is computed again in backward, and not kept until then: nothing; transformer "
                        "blocks, residual blocks, levels of a unet or Fourier blocks; or attention, whose "
                        "scores are kept where dropout is on"),
             {"none", "blocks", "attention"}),
      only("layout.recompute", {"blocks"},
           RIESZ_INTEGER(layout.recompute_every, 1, kNoLimit,
                         "which blocks: the first, and then every so many-th; 1: all")),
      only("layout.recompute", {"blocks", "attention"},
           RIESZ_SWITCH(layout.recompute_pieces,
                        "whether workers whose inputs of these are the same keep a piece of them each, and "
                        "gather them in backward")),
  };
}

std::vector<Key> pipeline_keys() {
  const auto of_stages = [](Key key) { return only("layout.pp", {"2"}, std::move(key)); };
  return {
      of_stages(choice(
          RIESZ_TEXT(pipeline.schedule, "the order in which stages compute: docs/reference/schedules.md"),
          {"one_f_one_b", "gpipe", "interleaved", "varuna", "zb_h1", "zb_h2", "zb_v", "v_half", "v_min"})),
      of_stages(RIESZ_INTEGER(pipeline.chunks, 0, kNoLimit,
                              "stages of each worker; 0: the schedule's own choice, 2 of interleaved and the "
                              "V-shaped ones (zb_v, v_half, v_min), 1 of the others")),
      of_stages(
          choice(RIESZ_TEXT(pipeline.partition,
                            "what decides which modules a stage has: docs/reference/partitioners.md; time, "
                            "pipedream and sagemaker measure some micro-batches first"),
                 {"count", "parameters", "time", "pipedream", "sagemaker", "names"})),
      only("pipeline.partition", {"names"},
           RIESZ_TEXT(pipeline.names,
                      "patterns of modules and their stages, from 0, such as transformer.h.[2-3]=1 "
                      "transformer.ln_f=1 lm_head=1; a module that no pattern names is in stage 0")),
      of_stages(path(RIESZ_TEXT(pipeline.trace,
                                "a folder for what the workers did when in the last step: timeline.svg, and "
                                "timeline.json for chrome://tracing; empty: none"))),
  };
}

}  // namespace riesz::detail
