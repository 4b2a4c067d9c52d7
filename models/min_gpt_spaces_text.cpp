// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sstream>

#include "riesz/models/min_gpt_spaces.h"

namespace riesz::models {
namespace {

/// "B/dp", for a dim called B that dp shards.
std::string dim_text(const Space& X, int dim, const std::string& name) {
  std::string text = name;
  for (const Shard& shard : X.shards(dim)) {
    const Axis& axis = X.partition().axis(shard.axis);
    if (axis.extent > 1) text += "/" + axis.name + (shard.zigzag ? " (zigzag)" : "");
  }
  return text;
}

}  // namespace

std::string to_string(const MinGptSpaces& s) {
  struct Line {
    const char* name;
    const Space& space;
    const char* dims;
  };
  const Line lines[] = {{"tokens", s.tokens, "B T"},
                        {"targets", s.targets, "B T"},
                        {"stream", s.stream, "B T C"},
                        {"qkv", s.qkv, "3 B T heads d"},
                        {"attending", s.attending, "3 B T heads d"},
                        {"heads", s.heads, "B T heads d"},
                        {"hidden", s.hidden, "B T hidden"},
                        {"logits", s.logits, "B T V"},
                        {"token_table", s.token_table, "V C"},
                        {"position_table", s.position_table, "context C"},
                        {"qkv_weight", s.qkv_weight, "C 3 heads d"},
                        {"heads_weight", s.heads_weight, "heads d C"},
                        {"up_weight", s.up_weight, "C hidden"},
                        {"down_weight", s.down_weight, "hidden C"},
                        {"logits_weight", s.logits_weight, "V C"}};
  std::string text;
  for (const auto& [name, space, dims] : lines) {
    text += "  " + std::string(name) + std::string(16 - std::string(name).size(), ' ');
    std::istringstream words(dims);
    std::string word;
    for (int dim = 0; words >> word; ++dim) text += (dim == 0 ? "" : "  ") + dim_text(space, dim, word);
    text += "\n";
  }
  return text;
}

}  // namespace riesz::models
