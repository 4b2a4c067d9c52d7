// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/layers/table_rows.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/zeros.h>

#include <memory>
#include <utility>
#include <vector>

#include "riesz/comm/without_values.h"
#include "riesz/nn/layers/added_rows.h"
#include "riesz/nn/vectors/accumulation_type.h"
#include "riesz/nn/vectors/plain_floats.h"
#include "riesz/primitives/node.h"

namespace riesz::detail {
namespace {

/// at::embedding's backward adds in the table's type, and in bf16 256 + 1 is 256. Must it be kept from that?
bool adds_in_half(const at::Tensor& table) {
  const bool half = table.scalar_type() == at::kHalf || table.scalar_type() == at::kBFloat16;
  return half && recorded(table);
}

/// A table of a half type is taken in fp32 as a whole.
at::Tensor rows_by_operators(const at::Tensor& table, const at::Tensor& ids) {
  const at::Tensor known = ids.clamp(0, table.size(0) - 1);
  if (!adds_in_half(table)) return at::embedding(table, known);
  return at::embedding(to_accumulation_type(table), known).to(table.scalar_type());
}

at::Tensor rows_in_memory(const at::Tensor& table, const at::Tensor& ids);

/// Rows are added where their ids name: the adjoint of taking rows.
class AddedRowsNode final : public Node {
 public:
  AddedRowsNode(at::Tensor ids, std::int64_t rows) : ids_(std::move(ids)), rows_(rows) {}

  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) override {
    const at::Tensor x = inputs[0].resolve_neg().contiguous();
    const at::Tensor y = at::zeros({rows_, x.size(-1)}, x.options());
    if (has_values()) add_rows(x, ids_.to(at::kLong).contiguous(), y);
    save({ids_});
    return {y};
  }

  std::vector<at::Tensor> backward(std::vector<at::Tensor> gradients) override {
    return {rows_in_memory(gradients[0], saved()[0])};
  }

 private:
  at::Tensor ids_;
  std::int64_t rows_;
};

/// Of the table alone: ids have no gradient.
class TableRowsNode final : public Node {
 public:
  explicit TableRowsNode(at::Tensor ids) : ids_(std::move(ids)) {}

  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) override {
    rows_ = inputs[0].size(0);
    save({ids_});
    return {at::embedding(inputs[0], ids_)};
  }

  std::vector<at::Tensor> backward(std::vector<at::Tensor> gradients) override {
    return record(std::make_shared<AddedRowsNode>(saved()[0], rows_), {gradients[0]});
  }

 private:
  at::Tensor ids_;
  std::int64_t rows_ = 0;
};

at::Tensor rows_in_memory(const at::Tensor& table, const at::Tensor& ids) {
  if (!recorded(table) || !has_rows_to_add(table)) return at::embedding(table, ids);
  return record(std::make_shared<TableRowsNode>(ids), {table}).front();
}

}  // namespace

Dispatched<at::Tensor(const at::Tensor&, const at::Tensor&)> table_rows_kernels{rows_in_memory,
                                                                                rows_by_operators};

at::Tensor table_rows(const at::Tensor& table, const at::Tensor& ids) {
  return table_rows_kernels(ids.device(), table, ids);
}

}  // namespace riesz::detail
