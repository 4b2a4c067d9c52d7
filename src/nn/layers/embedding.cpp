// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/layers/embedding.h"

#include <ATen/ops/logical_or.h>
#include <ATen/ops/zeros.h>

#include <limits>
#include <utility>

#include "riesz/comm/dispatched.h"
#include "riesz/comm/error.h"
#include "riesz/nn/layers/table_rows.h"
#include "riesz/nn/vectors/extremes.h"
#include "riesz/nn/vectors/held_indices.h"
#include "riesz/partition/space_dims.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/check_input.h"

namespace riesz {
namespace {

std::vector<int> first_dims(int count) {
  std::vector<int> dims;
  for (int dim = 0; dim < count; ++dim) dims.push_back(dim);
  return dims;
}

std::string letters(int dims) {
  return std::string("abdefghijklm").substr(0, static_cast<std::size_t>(dims));
}

/// What this worker holds of the rows; zero of others'.
at::Tensor held_rows(const Vector& table, const at::Tensor& ids) {
  const Space& W = table.space();
  const Intervals held = W.boxes(W.partition().rank())[0];
  if (held == Intervals{{0, W.shape()[0]}}) return detail::table_rows(table.local(), ids);
  if (total(held) == 0) {
    std::vector<std::int64_t> shape = ids.sizes().vec();
    shape.push_back(table.local().size(1));
    return at::zeros(shape, table.local().options()).add(table.local().sum());
  }
  const auto [row, elsewhere] = detail::held_indices(ids, held);
  return detail::table_rows(table.local(), row).masked_fill(elsewhere.unsqueeze(-1), 0);
}

/// Rows as they are: wrong ids have thrown by now.
at::Tensor rows_of_good_ids(const at::Tensor& rows, const at::Tensor&, std::int64_t) { return rows; }

/// NaN for the rows of ids outside the vocabulary, so that no step is made with them; a late check names one.
at::Tensor rows_with_nan(const at::Tensor& rows, const at::Tensor& ids, std::int64_t vocabulary) {
  const at::Tensor wrong = at::logical_or(ids.lt(0), ids.ge(vocabulary));
  return rows.masked_fill(wrong.unsqueeze(-1), std::numeric_limits<double>::quiet_NaN());
}

const Dispatched<at::Tensor(const at::Tensor&, const at::Tensor&, std::int64_t)> rows_that_count{
    rows_of_good_ids, rows_with_nan};

/// The letters of ids, table or rows in "bt,vc->btc".
std::string of_spec(const std::string& spec, std::size_t operand) {
  const std::size_t comma = spec.find(','), arrow = spec.find("->");
  RIESZ_CHECK(comma != std::string::npos && arrow != std::string::npos && comma < arrow, "Embedding: \"",
              spec, "\" is not of the form \"bt,vc->btc\": the letters of ids, of the table and of its rows");
  if (operand == 0) return spec.substr(0, comma);
  return operand == 1 ? spec.substr(comma + 1, arrow - comma - 1) : spec.substr(arrow + 2);
}

/// As the weight of the contraction with ids that are one-hot.
Space table_of(const ModelSpaces& spaces, const std::string& spec) {
  const std::string ids = of_spec(spec, 0), table = of_spec(spec, 1);
  return spaces.weight(ids + table.substr(0, 1) + "," + table + "->" + of_spec(spec, 2));
}

}  // namespace

Embedding::Embedding(Module& owner, const std::string& name, const std::string& spec, Initial initial)
    : Embedding({owner, name}, owner.spaces_of(name).stream(of_spec(spec, 0)),
                table_of(owner.spaces_of(name), spec), owner.spaces_of(name).stream(of_spec(spec, 2)),
                initial) {}

Embedding::Embedding(OwnerAndName place, const Space& X, const Space& W, const Space& Y, Initial initial)
    : Layer(std::move(place)),
      ids_named_("Embedding " + path() + ": the vector of ids"),
      weight_(parameter("weight", W, {initial})) {
  set_domain(X), set_range(Y);
  bool fits = W.dims() == 2 && Y.dims() == X.dims() + 1 && Y.shape().back() == W.shape()[1];
  for (std::size_t dim = 0; fits && dim < X.shape().size(); ++dim) {
    const std::int64_t of_x = X.shape()[dim], of_y = Y.shape()[dim];
    fits = of_x == of_y || of_x == Space::any || of_y == Space::any;
  }
  RIESZ_CHECK(fits, "Embedding ", path(), ": ids of\n  ", to_string(X), "\nand a table of\n  ", to_string(W),
              "\ndo not give\n  ", to_string(Y),
              "\nwhich needs the dims of the ids and then the table's second");
}

void Embedding::check_ids(const Vector& ids) const {
  const at::ScalarType type = ids.local().scalar_type();
  RIESZ_CHECK(type == at::kLong || type == at::kInt, "Embedding ", path(), ": ids of type ", type,
              "; they are numbers of the vocabulary, so give whole ones, such as by tensor.to(at::kLong)");
  if (!ids.space().partition().active()) return;
  const std::int64_t vocabulary = weight_.space().shape()[0];
  const bool none = ids.space().numel() == 0;
  // By the call's origin, for it may come when the layer is gone.
  detail::check_extremes(ids, [vocabulary, none, here = origin()](const detail::Extremes& of_all) {
    const auto [least, greatest] = of_all;
    RIESZ_CHECK(none || (least >= 0 && greatest < static_cast<double>(vocabulary)), "Embedding ", here->layer,
                ": the id ", static_cast<std::int64_t>(least < 0 ? least : greatest),
                " is outside the vocabulary of ", vocabulary);
  });
}

at::Tensor Embedding::look_up(const at::Tensor& ids, const Vector& rows) const {
  const Space& W = rows.space();
  // Of no rows, but of the table: elsewhere, too, it must be seen that a gradient goes back to it.
  if (!W.partition().active()) return rows.local().reshape({0});
  return rows_that_count(ids.device(), held_rows(rows, ids), ids, W.shape()[0]);
}

/// Ids are read as the one-hot rows are computed with: an axis that shards the vocabulary needs all ids.
Embedding::Plan Embedding::planned(const Space& X, const Space& W) const {
  const std::string of_ids = letters(X.dims());
  const Space one_hot = insert_dim(X, X.dims(), weight_.space().shape()[0], weight_.space().unit_of(0));
  const Contraction form(of_ids + "v,vc->" + of_ids + "c", one_hot, W, *range());
  return {form, between(X, select_dims(form.read(0).range(), first_dims(X.dims())))};
}

Vector Embedding::forward(const Vector& ids) {
  const Space& X = ids.space();
  const Vector w = weight_.value();
  const auto plan = plans_.get(
      [&](const Plan& made) {
        return made.read_ids.domain() == X && made.form.read(1).domain() == w.space();
      },
      [&] { return planned(X, w.space()); });
  check_one_device("Embedding", ids, w);
  detail::check_operand(ids_named_, ids);
  check_ids(ids);
  const Vector read_ids = plan->read_ids(ids);
  const Vector rows = plan->form.read(1)(w);
  const Operator write = adjoint(plan->form.read(2));
  return write(Vector(write.domain(), look_up(read_ids.local(), rows), rows.is_constant()));
}

std::string Embedding::describe() const { return "Embedding with a table of " + to_string(weight_.space()); }

}  // namespace riesz
