// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/models/model_sizes.h"

#include <cmath>
#include <utility>

#include "riesz/partition/space.h"

namespace riesz::app {
namespace {

double real(std::int64_t n) { return static_cast<double>(n); }

/// How many of a dim's `extent` indices the first worker has. In zigzag it has the first and the last of
/// twice as many pieces.
double local_extent(const Space& X, int dim, double extent) {
  for (const Shard& shard : X.shards(dim)) {
    const double workers = X.partition().axis(shard.axis).extent;
    extent = shard.zigzag ? std::ceil(extent / (2 * workers)) + std::floor(extent / (2 * workers))
                          : std::ceil(extent / workers);
  }
  return extent;
}

/// Do the same axes shard the same dims? One of a single worker shards nothing.
bool lie_alike(const Space& X, const Space& Y) {
  for (int axis = 0; axis < static_cast<int>(X.partition().axes().size()); ++axis)
    if (X.partition().axis(axis).extent > 1 && X.dim_of(axis) != Y.dim_of(axis)) return false;
  return true;
}

/// The letters that all kinds have, and `more`.
template <typename Shape>
std::map<char, double> extents_of(const Shape& of, std::map<char, double> more) {
  const double C = real(of.width), H = real(of.heads);
  more.insert({{'c', C}, {'h', H}, {'d', C / H}, {'f', of.hidden > 0 ? real(of.hidden) : 4 * C}});
  return more;
}

/// Queries, keys, values and the way back to the stream; the MLP up and down.
const std::vector<std::string>& six_matrices() {
  static const std::vector<std::string> specs = {"btc,hdc->bthd", "btc,hdc->bthd", "btc,hdc->bthd",
                                                 "bthd,chd->btc", "btc,fc->btf",   "btf,cf->btc"};
  return specs;
}

Architecture architecture(const models::MinGptConfig& of) {
  return {.extents = extents_of(of, {{'q', 3}, {'v', real(of.vocabulary)}, {'p', real(of.context)}}),
          .weights = {"btc,cqhd->qbthd", "bthd,hdc->btc", "btc,cf->btf", "btf,fc->btc"},
          .biases = {"qbthd", "btc", "btf", "btc"},
          .norms = 2,
          .norm_vectors = 4,
          .last_norm_vectors = 2,
          .attending = {"qbthd"},
          .inside = {"bthd", "btf"},
          .positions = true,
          .tied = of.tied,
          .output_bias = false};
}

Architecture architecture(const models::GptJConfig& of) {
  return {.extents = extents_of(of, {{'v', real(of.vocabulary)}}),
          .weights = six_matrices(),
          .biases = {"btf", "btc"},
          .norms = 1,  // which both branches read
          .norm_vectors = 2,
          .last_norm_vectors = 2,
          .attending = {"bthd", "bthd", "bthd"},
          .inside = {"bthd", "btf"},
          .positions = false,
          .tied = false,
          .output_bias = true};
}

Architecture architecture(const models::LlamaConfig& of) {
  std::map<char, double> extents =
      extents_of(of, {{'g', real(of.key_value_heads)}, {'v', real(of.vocabulary)}});
  if (of.head_width > 0) extents['d'] = real(of.head_width);
  std::vector<std::string> biases;
  if (of.attention_bias) biases = {"bthd", "btgd", "btgd", "btc"};
  if (of.mlp_bias) biases.insert(biases.end(), {"btf", "btf", "btc"});
  return {.extents = std::move(extents),
          .weights = {"btc,hdc->bthd", "btc,gdc->btgd", "btc,gdc->btgd", "bthd,chd->btc", "btc,fc->btf",
                      "btc,fc->btf", "btf,cf->btc"},
          .biases = std::move(biases),
          .norms = 2,
          .norm_vectors = 2,
          .last_norm_vectors = 1,
          .attending = {"bthd", "btgd", "btgd"},
          .inside = {"bthd", "btf", "btf"},  // attended; gate and up, from which what goes down is made again
          .positions = false,
          .tied = of.tied,
          .output_bias = false};
}

Architecture architecture(const models::VitConfig& of) {
  const double P = real(of.patch);
  std::vector<std::string> biases{"btc", "btf", "btc"};
  if (of.qkv_bias) biases.insert(biases.end(), 3, "bthd");
  return {
      .extents = extents_of(
          of,
          {{'l', real(of.labels)}, {'p', real(of.tokens())}, {'x', real(of.channels)}, {'y', P}, {'z', P}}),
      .weights = six_matrices(),
      .biases = std::move(biases),
      .norms = 2,
      .norm_vectors = 4,
      .last_norm_vectors = 2,
      .attending = {"bthd", "bthd", "bthd"},
      .inside = {"bthd", "btf"},
      .table = "btxyz,cxyz->btc",
      .output = "bc,lc->bl",
      .logits = "bl",
      .positions = true,
      .tied = false,
      .output_bias = true};
}

// The roles of a small model of the kind. Which axes shard what does not depend on sizes, and the config's
// may be too great for any model; but where keys have fewer heads than queries, these lie differently.
template <typename Shape>
Roles small_roles(const Shape&) {
  return Shape{}.roles();
}
Roles small_roles(const models::LlamaConfig& of) {
  models::LlamaConfig small;
  small.heads = of.heads;
  small.key_value_heads = of.key_value_heads;
  small.head_width = 2;
  return small.roles();
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
    : of_(architecture(config)), spaces_(layout, small_roles(config)) {}

ModelSizes::ModelSizes(const models::CausalConfig& config, const Layout& layout)
    : of_(std::visit([](const auto& of) { return architecture(of); }, config)),
      spaces_(layout, std::visit([](const auto& of) { return small_roles(of); }, config)) {}

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
  double sum = of_.norm_vectors * width();
  for (const std::string& letters : of_.biases) sum += elements(spaces_.stream_or_inside(letters), letters);
  return sum;
}

double ModelSizes::last_norm() const { return of_.last_norm_vectors * width(); }

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
  Kept kept{of_.norms * stream(rows, T), 0};
  for (const std::string& letters : of_.attending)
    kept.computed += elements(spaces_.attending(letters), letters, rows, T);
  for (const std::string& letters : of_.inside)
    kept.computed += elements(spaces_.inside(letters), letters, rows, T);
  // Attention keeps its result where it attends, and the projection behind it where that is brought to.
  if (const Space attended = spaces_.attending("bthd"); !lie_alike(attended, spaces_.inside("bthd")))
    kept.computed += elements(attended, "bthd", rows, T);
  return kept;
}

}  // namespace riesz::app
