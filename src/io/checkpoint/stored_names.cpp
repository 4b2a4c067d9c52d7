// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/checkpoint/stored_names.h"

namespace riesz {
namespace {

const std::map<std::string, std::string>& torch_words() {
  static const std::map<std::string, std::string> words = {
      {"first", "exp_avg"}, {"second", "exp_avg_sq"}, {"momentum", "momentum_buffer"},
      {"rows", "row_var"},  {"columns", "col_var"},   {"steps", "step"}};
  return words;
}

}  // namespace

Shapes published_shapes(const std::vector<Parameter>& parameters) {
  Shapes shapes;
  for (const Parameter& parameter : parameters) shapes[parameter.name()] = parameter.shape();
  return shapes;
}

StoredName stored_name(const std::string& name, const std::string& key) {
  if (key == "value" && name != "loss_scale") return {"model", name};
  const auto word = torch_words().find(key);
  return {"optimizer", (word == torch_words().end() ? key : word->second) + "." + name};
}

std::vector<std::int64_t> stored_shape(const StateView& view, const Shapes& shapes) {
  const std::vector<std::int64_t>& own = view.space.shape();
  const auto published = shapes.find(view.name);
  if (published == shapes.end() || view.key == "steps") return own;
  std::int64_t elements = 1;
  for (const std::int64_t n : published->second) elements *= n;
  return elements == view.space.numel() ? published->second : own;
}

bool is_own(const std::string& key) { return key.find(" of worker ") != std::string::npos; }

}  // namespace riesz
