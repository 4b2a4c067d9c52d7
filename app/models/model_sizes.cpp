// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/models/model_sizes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "riesz/app/models/kept_rows.h"
#include "riesz/comm/error.h"
#include "riesz/nn/contraction/contraction.h"
#include "riesz/nn/experts/expert_rows.h"
#include "riesz/partition/space.h"

namespace riesz::app {
namespace {

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

// The roles of a small model of the kind. Which axes shard what does not depend on sizes, and the config's
// may be too great for any model; but where keys have fewer heads than queries, these lie differently.
template <typename Shape>
Roles small_roles(const Shape&) {
  return Shape{}.roles();
}
template <typename Shape>
Roles small_roles_of_llama(const models::LlamaConfig& of) {
  Shape small;
  small.heads = of.heads;
  small.key_value_heads = of.key_value_heads;
  small.head_width = 2;
  return small.roles();
}
Roles small_roles(const models::LlamaConfig& of) { return small_roles_of_llama<models::LlamaConfig>(of); }
Roles small_roles(const models::MixtralConfig& of) { return small_roles_of_llama<models::MixtralConfig>(of); }
Roles small_roles(const models::Qwen2MoeConfig& of) {
  return small_roles_of_llama<models::Qwen2MoeConfig>(of);
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

ModelSizes::Parameters& ModelSizes::Parameters::operator+=(const Parameters& other) {
  elements += other.elements, vectors += other.vectors, rows_and_columns += other.rows_and_columns;
  experts += other.experts;
  return *this;
}

ModelSizes::Parameters ModelSizes::matrix(const std::string& spec) const {
  const Letters letters(spec);
  double in = 1, out = 1;
  for (const char letter : letters.w)
    (letters.y.find(letter) == std::string::npos ? in : out) *= of_.extents.at(letter);
  return {weight(spec), 0, in + out};
}

ModelSizes::Parameters ModelSizes::matrix(const std::string& spec, const std::string& path,
                                          const WhichNames& which) const {
  return which(path) ? matrix(spec) : Parameters{};
}

ModelSizes::Parameters ModelSizes::norm(const std::string& path, const WhichNames& which) const {
  const double vectors =
      (which(path + ".weight") ? 1 : 0) + (of_.vectors_of_norm > 1 && which(path + ".bias") ? 1 : 0);
  return {vectors * width(), vectors * width()};
}

ModelSizes::Parameters ModelSizes::block(std::int64_t i, const WhichNames& which) const {
  const std::string path = concat(of_.blocks, ".", i, ".");
  Parameters sum;
  for (const Architecture::Named& w : of_.weights)
    if (of_.has(w, i)) sum += matrix(w.letters, path + w.path + ".weight", which);
  if (of_.has_experts(i)) {
    sum += experts(path, of_.mixture.up, which);
    sum += experts(path, of_.mixture.down, which);
    sum += biases_of_experts(path, which);
  }
  for (const Architecture::Named& bias : of_.biases) {
    if (!of_.has(bias, i) || !which(path + bias.path + ".bias")) continue;
    const double n = elements(spaces_.stream_or_inside(bias.letters), bias.letters);
    sum += {n, n};
  }
  for (const std::string& each : of_.norms) sum += norm(path + each, which);
  return sum;
}

ModelSizes::Parameters ModelSizes::experts(const std::string& block, const std::vector<std::string>& names,
                                           const WhichNames& which) const {
  if (of_.mixture.experts == 0) return {};
  const double E = of_.mixture.experts, C = of_.extents.at('c'), F = of_.extents.at(of_.mixture.inner);
  const auto parts = static_cast<double>(total(expert_parts().split().held(0)));
  const double here = parts / E * inner_of_expert() * C;  // each counts as its share of the first worker's
  Parameters sum;
  for (int i = 0; i < E; ++i)
    for (const std::string& name : names)
      if (which(concat(block, of_.mixture.path, ".", i, ".", name))) sum += {here, 0, F + C, here};
  return sum;
}

ModelSizes::Parameters ModelSizes::biases_of_experts(const std::string& block,
                                                     const WhichNames& which) const {
  const double E = of_.mixture.experts;
  Parameters sum;
  for (const auto& [letter, name] : of_.mixture.biases) {
    const auto parts = static_cast<double>(total(expert_parts().split().held(0)));
    const double here = parts / E * (letter == 'c' ? of_.extents.at('c') : inner_of_expert());
    for (int i = 0; i < E; ++i)
      if (which(concat(block, of_.mixture.path, ".", i, ".", name))) sum += {here, 0, 0, here};
  }
  return sum;
}

ExpertParts ModelSizes::expert_parts() const {
  const Space W = spaces_.inside({'e', of_.mixture.inner});
  int workers = 1;
  for (const Shard& shard : W.shards(0)) workers *= W.partition().axis(shard.axis).extent;
  return {static_cast<std::int64_t>(of_.mixture.experts), 1, workers};
}

double ModelSizes::inner_of_expert() const {
  const char inner = of_.mixture.inner;
  const double of_layer = local_extent(spaces_.inside({'e', inner}), 1, of_.extents.at(inner));
  const ExpertParts parts = expert_parts();
  // The last expert has the fewest parts, so each of them is the widest.
  return std::ceil(of_layer / static_cast<double>(parts.parts_of(parts.experts() - 1).size()));
}

double ModelSizes::routed(double rows, double T) const {
  const Space F = spaces_.inside("btf"), W = spaces_.inside({'e', of_.mixture.inner});
  double tokens = elements(F, "btf", rows, T) / local_extent(F, 2, of_.extents.at('f'));
  for (const Shard& shard : W.shards(0))  // which cut the tokens, also where they are not cut outside
    if (F.dim_of(shard.axis) != 0 && F.dim_of(shard.axis) != 1)
      tokens /= W.partition().axis(shard.axis).extent;
  const ExpertParts parts = expert_parts();
  const std::vector<double> of_each(static_cast<std::size_t>(parts.workers()), tokens);
  const auto chosen = static_cast<std::int64_t>(of_.mixture.chosen);
  const GateOptions& gate = of_.mixture.gate;
  if (!most_rows_)
    return kept_rows(expected_rows(parts, of_each, 0, chosen), gate, parts.experts(), rows * T).computed;
  const auto most = [&](std::int64_t k) { return most_rows(parts, of_each, 0, k); };
  return most_kept_rows(most, gate, parts.experts(), rows * T).computed;
}

ModelSizes::Parameters ModelSizes::tokens(const WhichNames& which) const {
  return matrix(of_.table, of_.embedding[0], which);
}

ModelSizes::Parameters ModelSizes::positions(const WhichNames& which) const {
  return of_.positions ? matrix("tp,pc->tc", of_.embedding[1], which) : Parameters{};
}

ModelSizes::Parameters ModelSizes::last_norm(const WhichNames& which) const {
  return norm(of_.last_norm, which);
}

ModelSizes::Parameters ModelSizes::output(const WhichNames& which) const {
  Parameters sum = of_.tied ? Parameters{} : matrix(of_.output, of_.output_path + ".weight", which);
  if (of_.output_bias && which(of_.output_path + ".bias"))
    sum.elements += elements(spaces_.inside(of_.logits), of_.logits);
  return sum;
}

bool ModelSizes::any_before_blocks(const WhichNames& which) const {
  return std::any_of(of_.embedding.begin(), of_.embedding.end(), which);
}

double ModelSizes::scores(double rows, double T) const {
  return elements(spaces_.attending("bthd"), "bthd", rows, T) / of_.extents.at('d') * T;
}

double ModelSizes::multiplied(double rows, double T) const {
  constexpr std::int64_t kAny = 64;  // where what lies does not depend on sizes
  double most = 0;
  if (of_.mixture.experts > 0) {
    const auto all = [](const std::string&) { return true; };
    most = routed(rows, T) * (of_.extents.at('c') + 2 * inner_of_expert()) +
           experts("", of_.mixture.down, all).elements;
  }
  for (const Architecture::Named& w : of_.weights) {
    const Letters letters(w.letters);
    if (letters.x != "btf" && letters.y != "btf") continue;
    const auto space = [&](const std::string& of) {
      const Space X = spaces_.stream_or_inside(of);
      return X.with_shape({kAny, kAny, X.shape().back()});
    };
    const Contraction form(w.letters, space(letters.x), spaces_.weight(w.letters), space(letters.y));
    const auto size = [&](int operand, const std::string& of) {
      return elements(form.read(operand).range(), of, rows, T);
    };
    most = std::max(most, 2 * size(0, letters.x) + 2 * size(1, letters.w) + size(2, letters.y));
  }
  return most;
}

ModelSizes::Kept ModelSizes::kept(double rows, double T) const {
  const auto all = [](const std::string&) { return true; };
  return kept(rows, T, of_.mixture.every - 1, true, all);
}

ModelSizes::Kept ModelSizes::kept(double rows, double T, std::int64_t i, bool varied,
                                  const WhichNames& trained) const {
  const std::string path = concat(of_.blocks, ".", i, ".");
  const auto of_block = [&](std::vector<Architecture::Named> layers) {
    std::erase_if(layers, [&](const Architecture::Named& each) { return !of_.has(each, i); });
    return layers;
  };
  const std::vector<Architecture::Named> weights = of_block(of_.weights), biases = of_block(of_.biases);
  // Of the layers that read or write these letters: is a weight trained, or a bias?
  const auto any = [&](const auto& of_these) {
    const auto is = [&](const char* of_what) {
      return [&, of_what](const Architecture::Named& each) {
        return of_these(each) && trained(path + each.path + of_what);
      };
    };
    return std::any_of(weights.begin(), weights.end(), is(".weight")) ||
           std::any_of(biases.begin(), biases.end(), is(".bias"));
  };
  const auto under = [&](const char* in, const char* out) {
    std::vector<std::string> paths;
    for (const Architecture::Named& w : weights) {
      const Letters letters(w.letters);
      if (letters.x.ends_with(in) && letters.y.ends_with(out)) paths.push_back(w.path);
    }
    return any([paths](const Architecture::Named& each) {
      return std::find(paths.begin(), paths.end(), each.path) != paths.end();
    });
  };
  const auto norm_trained = [&](const std::string& norm) {
    return trained(path + norm + ".weight") || (of_.vectors_of_norm > 1 && trained(path + norm + ".bias"));
  };
  const bool one_norm = of_.norms.size() == 1;
  const bool mixed = of_.has_experts(i);
  const auto any_expert = [&](const std::vector<std::string>& names) {
    return mixed && experts(path, names, trained).elements > 0;
  };
  const bool heads = under("btc", "d"), back = under("d", "btc"),
             up = under("btc", "btf") || under("btc", "btr") || any_expert(of_.mixture.up),
             down = under("btf", "btc") || any_expert(of_.mixture.down);

  Kept kept;
  const auto keep_stream = [&](bool is) { kept.stored += is ? stream(rows, T) : 0; };
  const bool to_heads = varied || norm_trained(of_.norms[0]);
  keep_stream(to_heads || heads || (one_norm && up));
  const bool attends = to_heads || heads;
  for (const std::string& letters : of_.attending)
    kept.computed += attends ? elements(spaces_.attending(letters), letters, rows, T) : 0;
  // Attention keeps its result where it attends, and the projection behind it where that is brought to.
  const Space attended = spaces_.attending("bthd"), brought = spaces_.inside("bthd");
  const bool alike = lie_alike(attended, brought);
  if (attends && !alike) kept.computed += elements(attended, "bthd", rows, T);
  if (alike ? attends || back : back) kept.computed += elements(brought, "bthd", rows, T);

  const bool middle = one_norm ? varied : varied || attends || back;
  const bool to_mlp = one_norm ? to_heads : middle || norm_trained(of_.norms[1]);
  if (!one_norm) keep_stream(to_mlp || up);
  const bool activates = to_mlp || up;
  const double between = elements(spaces_.inside("btf"), "btf", rows, T);
  const bool dense =
      !mixed || std::any_of(weights.begin(), weights.end(),
                            [](const Architecture::Named& each) { return Letters(each.letters).y == "btf"; });
  if (dense) kept.computed += between * (activates ? of_.activated : down ? 1 : 0);
  // Rows of experts as they came, what activations were given and gave, and the results before their gates.
  if (mixed && (activates || down))
    kept.computed += routed(rows, T) * (2 * of_.extents.at('c') +
                                        (1 + static_cast<double>(of_.mixture.up.size())) * inner_of_expert());
  kept.varied = varied || attends || back || activates || down;
  return kept;
}

}  // namespace riesz::app
