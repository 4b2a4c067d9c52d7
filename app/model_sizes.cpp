// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/model_sizes.h"

#include <cmath>

#include "riesz/partition/space.h"

namespace riesz::app {
namespace {

double real(std::int64_t n) { return static_cast<double>(n); }

/// Of `extent` indices of a dim, those of the first worker; in zigzag it has the first and the last of twice
/// as many pieces.
double local_extent(const Space& X, int dim, double extent) {
  for (const Shard& shard : X.shards(dim)) {
    const double workers = X.partition().axis(shard.axis).extent;
    extent = shard.zigzag ? std::ceil(extent / (2 * workers)) + std::floor(extent / (2 * workers))
                          : std::ceil(extent / workers);
  }
  return extent;
}

Anatomy anatomy(const models::MinGptConfig& of) {
  const double C = real(of.width), H = real(of.heads);
  const double F = of.hidden > 0 ? real(of.hidden) : 4 * C;
  return {.extents = {{'c', C},
                      {'q', 3},
                      {'h', H},
                      {'d', C / H},
                      {'f', F},
                      {'v', real(of.vocabulary)},
                      {'p', real(of.context)}},
          .weights = {"btc,cqhd->qbthd", "bthd,hdc->btc", "btc,cf->btf", "btf,fc->btc"},
          .biases = {"qbthd", "btc", "btf", "btc"},
          .norms = 4,
          .last_norm = 2,
          .attending = {"qbthd"},
          .inside = {"bthd", "btf", "btf"},
          .branches = 2,
          .positions = true,
          .tied = of.tied,
          .output_bias = false};
}

Anatomy anatomy(const models::GptJConfig& of) {
  const double C = real(of.width), H = real(of.heads);
  const double F = of.hidden > 0 ? real(of.hidden) : 4 * C;
  return {.extents = {{'c', C}, {'h', H}, {'d', C / H}, {'f', F}, {'v', real(of.vocabulary)}},
          .weights = {"btc,hdc->bthd", "btc,hdc->bthd", "btc,hdc->bthd", "bthd,chd->btc", "btc,fc->btf",
                      "btf,cf->btc"},
          .biases = {"btf", "btc"},
          .norms = 2,
          .last_norm = 2,
          .attending = {"bthd", "bthd", "bthd"},
          .inside = {"bthd", "btf", "btf"},
          .branches = 1,
          .positions = false,
          .tied = false,
          .output_bias = true};
}

Anatomy anatomy(const models::LlamaConfig& of) {
  const double C = real(of.width), H = real(of.heads);
  const double d = of.head_width > 0 ? real(of.head_width) : C / H;
  std::vector<std::string> biases;
  if (of.attention_bias) biases = {"bthd", "btgd", "btgd", "btc"};
  if (of.mlp_bias) biases.insert(biases.end(), {"btf", "btf", "btc"});
  return {.extents = {{'c', C},
                      {'h', H},
                      {'g', real(of.key_value_heads)},
                      {'d', d},
                      {'f', real(of.hidden)},
                      {'v', real(of.vocabulary)}},
          .weights = {"btc,hdc->bthd", "btc,gdc->btgd", "btc,gdc->btgd", "bthd,chd->btc", "btc,fc->btf",
                      "btc,fc->btf", "btf,cf->btc"},
          .biases = biases,
          .norms = 2,
          .last_norm = 1,
          .attending = {"bthd", "btgd", "btgd"},
          .inside = {"bthd", "btf", "btf", "btf", "btf"},
          .branches = 2,
          .kept_by_norm = 1,  // what the weight is multiplied by
          .positions = false,
          .tied = of.tied,
          .output_bias = false};
}

Anatomy anatomy(const models::VitConfig& of) {
  const double C = real(of.width), H = real(of.heads), P = real(of.patch);
  const double F = of.hidden > 0 ? real(of.hidden) : 4 * C;
  std::vector<std::string> biases{"btc", "btf", "btc"};
  if (of.qkv_bias) biases.insert(biases.end(), 3, "bthd");
  return {.extents = {{'c', C},
                      {'h', H},
                      {'d', C / H},
                      {'f', F},
                      {'l', real(of.labels)},
                      {'p', real(of.tokens())},
                      {'x', real(of.channels)},
                      {'y', P},
                      {'z', P}},
          .weights = {"btc,hdc->bthd", "btc,hdc->bthd", "btc,hdc->bthd", "bthd,chd->btc", "btc,fc->btf",
                      "btf,cf->btc"},
          .biases = biases,
          .norms = 4,
          .last_norm = 2,
          .attending = {"bthd", "bthd", "bthd"},
          .inside = {"bthd", "btf", "btf"},
          .branches = 2,
          .table = "btxyz,cxyz->btc",
          .output = "bc,lc->bl",
          .logits = "bl",
          .positions = true,
          .tied = false,
          .output_bias = true};
}

// Of the least sizes.
Roles least_roles(const models::MinGptConfig&) {
  return models::MinGptConfig{.layers = 1, .heads = 1, .width = 1, .vocabulary = 1, .context = 1}.roles();
}
Roles least_roles(const models::GptJConfig&) {
  return models::GptJConfig{
      .layers = 1, .heads = 1, .width = 1, .vocabulary = 1, .context = 1, .rotary_dims = 0}
      .roles();
}
Roles least_roles(const models::VitConfig&) {
  return models::VitConfig{
      .layers = 1, .heads = 1, .width = 1, .hidden = 1, .image = 1, .patch = 1, .channels = 1, .labels = 1}
      .roles();
}
Roles least_roles(const models::LlamaConfig&) {
  models::LlamaConfig least;
  least.layers = least.heads = least.key_value_heads = least.width = least.hidden = least.vocabulary =
      least.context = 1;
  return least.roles();
}

/// The letters of x, w and y in "x,w->y".
struct Letters {
  explicit Letters(const std::string& spec)
      : x(spec.substr(0, spec.find(','))),
        w(spec.substr(spec.find(',') + 1, spec.find('-') - spec.find(',') - 1)),
        y(spec.substr(spec.find('>') + 1)) {}
  std::string x, w, y;
};

}  // namespace

ModelSizes::ModelSizes(const models::VitConfig& config, const Layout& layout)
    : of_(anatomy(config)), spaces_(layout, least_roles(config)) {}

ModelSizes::ModelSizes(const models::CausalConfig& config, const Layout& layout)
    : of_(std::visit([](const auto& of) { return anatomy(of); }, config)),
      spaces_(layout, std::visit([](const auto& of) { return least_roles(of); }, config)) {}

double ModelSizes::elements(const Space& X, const std::string& letters, double rows, double T) const {
  double product = 1;
  for (int dim = 0; dim < X.dims(); ++dim) {
    const char letter = letters[static_cast<std::size_t>(dim)];
    const double extent = letter == 'b' ? rows : letter == 't' ? T : of_.extents.at(letter);
    product *= local_extent(X, dim, extent);
  }
  return product;
}

double ModelSizes::weight(const std::string& spec) const {
  return elements(spaces_.weight(spec), Letters(spec).w);
}

double ModelSizes::width() const { return local_extent(spaces_.stream("btc"), 2, of_.extents.at('c')); }

double ModelSizes::matrices() const {
  double sum = 0;
  for (const std::string& spec : of_.weights) sum += weight(spec);
  return sum;
}

double ModelSizes::vectors() const {
  double sum = of_.norms * width();
  for (const std::string& letters : of_.biases) sum += elements(spaces_.stream_or_inside(letters), letters);
  return sum;
}

double ModelSizes::last_norm() const { return of_.last_norm * width(); }

double ModelSizes::output() const {
  const double bias = of_.output_bias ? elements(spaces_.inside(of_.logits), of_.logits) : 0;
  return (of_.tied ? 0 : weight(of_.output)) + bias;
}

double ModelSizes::rows_and_columns(const std::string& spec) const {
  const Letters letters(spec);
  double in = 1, out = 1;
  for (const char letter : letters.w)
    (letters.y.find(letter) == std::string::npos ? in : out) *= of_.extents.at(letter);
  return in + out;
}

double ModelSizes::rows_and_columns_of_block() const {
  double sum = 0;
  for (const std::string& spec : of_.weights) sum += rows_and_columns(spec);
  return sum;
}

double ModelSizes::rows_and_columns_of_tables() const {
  const double tables = rows_and_columns(of_.table) + (of_.tied ? 0 : rows_and_columns(of_.output));
  return tables + (of_.positions ? of_.extents.at('c') + of_.extents.at('p') : 0);
}

double ModelSizes::scores(double rows, double T) const {
  return elements(spaces_.attending("bthd"), "bthd", rows, T) / of_.extents.at('d') * T;
}

ModelSizes::Kept ModelSizes::kept(double rows, double T) const {
  const double streams = of_.branches * stream(rows, T);
  Kept kept{(1 + of_.kept_by_norm) * streams, streams};
  for (const std::string& letters : of_.attending)
    kept.computed += elements(spaces_.attending(letters), letters, rows, T);
  for (const std::string& letters : of_.inside)
    kept.computed += elements(spaces_.inside(letters), letters, rows, T);
  return kept;
}

}  // namespace riesz::app
