// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/min_gpt_spaces.h"

#include "riesz/comm/error.h"

namespace riesz::models {
namespace {

void check(const MinGptConfig& config) {
  RIESZ_CHECK(config.layers >= 1 && config.heads >= 1 && config.width >= 1 && config.vocabulary >= 1 &&
                  config.context >= 1,
              "minGPT: layers ", config.layers, ", heads ", config.heads, ", width ", config.width, ", vocabulary ",
              config.vocabulary, ", context ", config.context, "; each is at least 1");
  RIESZ_CHECK(config.width % config.heads == 0, "minGPT: a width of ", config.width, " is no multiple of ",
              config.heads, " heads");
}

}  // namespace

MinGptSpaces spaces::one_d(const Partition& mesh, const MinGptConfig& config) {
  check(config);
  const std::int64_t B = Space::any;
  const std::int64_t T = Space::any;
  const std::int64_t C = config.width;
  const std::int64_t V = config.vocabulary;
  const std::int64_t H = config.heads;
  return {
      .tokens = Space(mesh, {B, T}).sharded(0, "dp"),
      .stream = Space(mesh, {B, T, C}).sharded(0, "dp"),
      .qkv = Space(mesh, {3, B, T, H, C / H}).sharded(1, "dp").sharded(3, "tp"),
      .heads = Space(mesh, {B, T, H, C / H}).sharded(0, "dp").sharded(2, "tp"),
      .hidden = Space(mesh, {B, T, 4 * C}).sharded(0, "dp").sharded(2, "tp"),
      .logits = Space(mesh, {B, T, V}).sharded(0, "dp").sharded(2, "tp"),
      .token_table = Space(mesh, {V, C}).sharded(0, "tp"),
      .position_table = Space(mesh, {config.context, C}),
  };
}

}  // namespace riesz::models
