// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/contraction/product.h"

#include <ATen/ops/einsum.h>

#include <optional>
#include <vector>

#include "riesz/nn/contraction/matrix_product.h"
#include "riesz/nn/contraction/row_product.h"

namespace riesz::detail {
namespace {

std::string in_both(const std::string& of, const std::string& other) {
  std::string both;
  for (const char index : of) both += other.find(index) != std::string::npos ? std::string(1, index) : "";
  return both;
}

/// The product as one of matrices: (left, summed) x (summed, right), their indices in this order.
struct Matrices {
  std::string left, summed, right;
};

std::optional<Matrices> as_matrices(const std::string& a, const std::string& b, const std::string& c) {
  if (!in_both(in_both(a, b), c).empty()) return std::nullopt;
  return Matrices{in_both(a, c), in_both(a, b), in_both(b, c)};
}

std::vector<std::int64_t> order(const std::string& wanted, const std::string& indices) {
  std::vector<std::int64_t> dims;
  for (const char index : wanted) dims.push_back(static_cast<std::int64_t>(indices.find(index)));
  return dims;
}

std::int64_t volume(const std::string& of, const std::string& indices, const at::Tensor& x) {
  std::int64_t elements = 1;
  for (const char index : of) elements *= x.size(static_cast<std::int64_t>(indices.find(index)));
  return elements;
}

at::Tensor in_order(const at::Tensor& x, const std::string& indices, const std::string& wanted) {
  return indices == wanted ? x : x.permute(order(wanted, indices));
}

/// x as the matrix of rows and columns: a view where they lie together, either way round.
Factor matrix(const at::Tensor& x, const std::string& indices, const std::string& rows,
              const std::string& columns) {
  const std::int64_t m = volume(rows, indices, x);
  const std::int64_t n = volume(columns, indices, x);
  if (indices == columns + rows) return {x.reshape({n, m}), true};
  return {in_order(x, indices, rows + columns).reshape({m, n})};
}

std::vector<std::int64_t> shape_of_product(const Matrices& m, const std::string& a_indices,
                                           const std::string& b_indices, const at::Tensor& a,
                                           const at::Tensor& b) {
  std::vector<std::int64_t> shape;
  for (const char index : m.left) shape.push_back(a.size(static_cast<std::int64_t>(a_indices.find(index))));
  for (const char index : m.right) shape.push_back(b.size(static_cast<std::int64_t>(b_indices.find(index))));
  return shape;
}

/// The view of c whose memory lies as the product's rows and columns.
at::Tensor of_product(const at::Tensor& product, const Matrices& m, const std::string& a_indices,
                      const std::string& b_indices, const std::string& c_indices, const at::Tensor& a,
                      const at::Tensor& b) {
  return in_order(product.view(shape_of_product(m, a_indices, b_indices, a, b)), m.left + m.right, c_indices);
}

/// Of an a that is one row: by the kernel for it, without the views that make matrices of operands. Undefined
/// where they lie in another way.
at::Tensor product_of_one_row(const Matrices& m, const std::string& a_indices, const std::string& b_indices,
                              const std::string& c_indices, const at::Tensor& a, const at::Tensor& b) {
  const bool in_rows = b_indices == m.right + m.summed, in_columns = b_indices == m.summed + m.right;
  if ((!in_rows && !in_columns) || c_indices != m.left + m.right || volume(m.left, a_indices, a) != 1 ||
      !is_row_product(a, b))
    return {};
  return row_product(a, b, in_rows ? Weights::in_rows : Weights::in_columns,
                     shape_of_product(m, a_indices, b_indices, a, b));
}

}  // namespace

at::Tensor local_product(const std::string& a_indices, const std::string& b_indices,
                         const std::string& c_indices, const at::Tensor& a, const at::Tensor& b) {
  const auto m = as_matrices(a_indices, b_indices, c_indices);
  if (!m) return at::einsum(a_indices + "," + b_indices + "->" + c_indices, {a, b});
  if (c_indices == m->right + m->left && c_indices != m->left + m->right)
    return local_product(b_indices, a_indices, c_indices, b, a);
  if (const at::Tensor y = product_of_one_row(*m, a_indices, b_indices, c_indices, a, b); y.defined())
    return y;
  const at::Tensor product =
      matrix_product(matrix(a, a_indices, m->left, m->summed), matrix(b, b_indices, m->summed, m->right));
  return of_product(product, *m, a_indices, b_indices, c_indices, a, b);
}

void add_local_product(const std::string& a_indices, const std::string& b_indices,
                       const std::string& c_indices, const at::Tensor& a, const at::Tensor& b,
                       at::Tensor& c) {
  const auto m = as_matrices(a_indices, b_indices, c_indices);
  const std::string rows_first = m ? m->left + m->right : "";
  const at::Tensor lying = m ? in_order(c, c_indices, rows_first) : c;
  if (!m || !lying.is_contiguous()) {
    c.add_(local_product(a_indices, b_indices, c_indices, a, b));
    return;
  }
  at::Tensor sum = lying.view({volume(m->left, a_indices, a), volume(m->right, b_indices, b)});
  add_matrix_product(matrix(a, a_indices, m->left, m->summed), matrix(b, b_indices, m->summed, m->right),
                     sum);
}

at::Tensor laid_out_as_product(const std::string& a_indices, const std::string& b_indices,
                               const std::string& c_indices, const at::Tensor& c) {
  const auto m = as_matrices(a_indices, b_indices, c_indices);
  if (!m || c_indices == m->right + m->left) return c;
  const std::string lying = m->left + m->right;
  return in_order(in_order(c, c_indices, lying).contiguous(), lying, c_indices);
}

}  // namespace riesz::detail
