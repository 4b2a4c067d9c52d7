// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <utility>
#include <vector>

#include "riesz/train/config/key_makers.h"
#include "riesz/train/config/keys.h"

namespace riesz::detail {

std::vector<Key> optimizer_keys() {
  const char* kind = "optimizer.kind";
  const std::vector<std::string> adams{"adamw", "adam", "lamb", "one_bit_adam"};
  return {
      choice(RIESZ_TEXT(optimizer.kind, "how gradients become updates"),
             {"adamw", "adam", "sgd", "lamb", "adafactor", "one_bit_adam"}),
      RIESZ_NUMBER(optimizer.learning_rate, 0, 10, "the highest learning rate"),
      only(kind, adams, RIESZ_NUMBER(optimizer.beta1, 0, 0.999999, "decay of the first moment")),
      only(kind, adams, RIESZ_NUMBER(optimizer.beta2, 0, 0.999999, "decay of the second moment")),
      only(kind, adams, RIESZ_NUMBER(optimizer.epsilon, 1e-30, 1, "beside the root of the second moment")),
      only(kind, {"sgd"},
           RIESZ_NUMBER(optimizer.momentum, 0, 0.999999, "part of the last update that goes on")),
      RIESZ_NUMBER(optimizer.weight_decay, 0, 10, "of what optimizer.decays says; never of biases and norms"),
      choice(RIESZ_TEXT(optimizer.decays,
                        "what decays: weights of linear layers, as in minGPT; or all of two dims or more, "
                        "tables too, as in nanoGPT and Hugging Face's Trainer"),
             {"linear", "matrices"}),
      RIESZ_NUMBER(optimizer.clip, 0, kNoLimit,
                   "the greatest norm of all gradients together; 0 does not clip"),
      only(kind, {"one_bit_adam"},
           RIESZ_INTEGER(optimizer.freeze, 1, kNoLimit, "steps of AdamW before momentum goes as signs")),
      RIESZ_TEXT(optimizer.groups,
                 "parameters with a highest rate or a decay of their own, such as lm_head transformer.wte: "
                 "learning_rate=1e-4; *.bias: weight_decay=0.01: patterns as in train.frozen, and the first "
                 "group that has a parameter counts; empty: none"),
  };
}

std::vector<Key> offload_keys() {
  const auto of_disk = [](Key key) {
    key.readers.push_back({"offload.state", {"disk"}, "offload.activations"});
    return key;
  };
  return {
      choice(
          RIESZ_TEXT(offload.state,
                     "where the optimizer's state lies: in memory, with the values that are trained; of "
                     "values on a GPU, in the memory of the host; or on a disk. From there a step takes it "
                     "page by page"),
          {"device", "host", "disk"}),
      only("offload.state", {"host", "disk"},
           choice(RIESZ_TEXT(offload.masters,
                             "where the fp32 masters of bf16 and fp16 parameters lie: in memory, with the "
                             "values, or where the state lies"),
                  {"device", "host", "disk"})),
      choice(
          RIESZ_TEXT(offload.activations,
                     "where what the model's blocks save for backward lies meanwhile: in memory, or on a "
                     "disk, from which it is read a few blocks before backward comes to it; of blocks that "
                     "run again (layout.recompute) it is what they keep"),
          {"device", "disk"}),
      of_disk(paths(RIESZ_TEXT(offload.path,
                               "a folder on a disk of each host, or several on several disks, such as "
                               "/a,/b; the files there have no names, and vanish with the job"))),
      of_disk(RIESZ_INTEGER(offload.depth, 1, 64,
                            "of state the pages of 4 MiB that are read ahead, and as many that are written "
                            "behind, of each number that the optimizer keeps for an element; of activations "
                            "the blocks that are in memory beside the one that computes")),
  };
}

}  // namespace riesz::detail
