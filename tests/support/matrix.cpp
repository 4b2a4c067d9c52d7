// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/matrix.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <complex>
#include <string>
#include <type_traits>
#include <vector>

#include "riesz/testing/adjoint.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

template <typename Number>
using Matrix = Eigen::Matrix<Number, Eigen::Dynamic, Eigen::Dynamic>;
template <typename Number>
constexpr at::ScalarType kType = std::is_same_v<Number, double> ? at::kDouble : at::kComplexDouble;

struct Coordinate {
  int rank;  // the first that holds it
  std::int64_t element;
};

std::vector<Coordinate> coordinates_of(const Space& X) {
  std::vector<Coordinate> coordinates;
  for (int rank = 0; rank < X.partition().size(); ++rank) {
    if (X.leader(rank, {Placement::Replicated}) != rank) continue;
    const std::int64_t count = volume(X.boxes(rank));
    for (std::int64_t element = 0; element < count; ++element) coordinates.push_back({rank, element});
  }
  return coordinates;
}

Vector unit_vector(const Space& X, const Coordinate& coordinate, at::ScalarType type) {
  const at::Tensor local = at::zeros(X.local_shape(), type);
  const Partition& P = X.partition();
  if (P.active() && X.leader(P.rank(), {Placement::Replicated}) == coordinate.rank) {
    local.view({-1})[coordinate.element].fill_(1);
  }
  return {X, local};
}

std::string text_of(const Coordinate& coordinate) {
  return "element " + std::to_string(coordinate.element) + " of worker " + std::to_string(coordinate.rank);
}

int position(const Partition& team, int world_rank) {
  int rank = 0;
  while (team.world_rank(rank) != world_rank) ++rank;
  return rank;
}

template <typename Number>
Matrix<Number> matrix_of(const Operator& A) {
  const at::NoGradGuard guard;
  const Space& Y = A.range();
  const Partition team = workers_of(A);
  if (!team.active()) return {};
  const std::vector<Coordinate> columns = coordinates_of(A.domain());
  const std::vector<Coordinate> rows = coordinates_of(Y);
  const std::int64_t mine = at::zeros(Y.local_shape(), at::kByte).numel();
  at::Tensor block = at::zeros({static_cast<std::int64_t>(columns.size()), mine}, kType<Number>);
  for (std::size_t column = 0; column < columns.size(); ++column) {
    const Vector y = A(unit_vector(A.domain(), columns[column], kType<Number>));
    block[static_cast<std::int64_t>(column)].copy_(y.local().reshape({mine}));
  }
  const std::vector<at::Tensor> blocks = all_parts(team, block);
  Matrix<Number> M(rows.size(), columns.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const at::Tensor& of_row =
        blocks[static_cast<std::size_t>(position(team, Y.partition().world_rank(rows[row].rank)))];
    for (std::size_t column = 0; column < columns.size(); ++column) {
      const std::int64_t at = static_cast<std::int64_t>(column) * of_row.size(1) + rows[row].element;
      M(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(column)) =
          static_cast<const Number*>(of_row.const_data_ptr())[at];
    }
  }
  return M;
}

template <typename Number>
::testing::AssertionResult is_adjoint_matrix(const Operator& A) {
  const Matrix<Number> M = matrix_of<Number>(A);
  const Matrix<Number> N = matrix_of<Number>(adjoint(A)).conjugate();
  const auto failure = [&] {
    return ::testing::AssertionFailure() << "A is " << to_string(A) << "\nfrom " << to_string(A.domain())
                                         << "\nto " << to_string(A.range()) << "\n";
  };
  if (N.rows() != M.cols() || N.cols() != M.rows()) {
    return failure() << "matrix(A) is " << M.rows() << " x " << M.cols() << ", matrix(A*) is " << N.rows()
                     << " x " << N.cols();
  }
  const std::vector<Coordinate> columns = coordinates_of(A.domain());
  const std::vector<Coordinate> rows = coordinates_of(A.range());
  for (Eigen::Index row = 0; row < M.rows(); ++row) {
    for (Eigen::Index column = 0; column < M.cols(); ++column) {
      if (M(row, column) == N(column, row)) continue;
      return failure() << "from " << text_of(columns[static_cast<std::size_t>(column)]) << " to "
                       << text_of(rows[static_cast<std::size_t>(row)]) << ": A has " << M(row, column)
                       << ", A* has back " << N(column, row) << ", ratio " << M(row, column) / N(column, row);
    }
  }
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult named(const char* text, const ::testing::AssertionResult& result) {
  if (result) return result;
  return ::testing::AssertionFailure()
         << "matrix(adjoint(" << text << ")) is not the transpose of matrix(" << text << "):\n"
         << result.message();
}

}  // namespace

Eigen::MatrixXd matrix(const Operator& A) { return matrix_of<double>(A); }
Eigen::MatrixXcd complex_matrix(const Operator& A) { return matrix_of<std::complex<double>>(A); }

::testing::AssertionResult is_matrix_adjoint(const Operator& A) { return is_adjoint_matrix<double>(A); }
::testing::AssertionResult is_complex_matrix_adjoint(const Operator& A) {
  return is_adjoint_matrix<std::complex<double>>(A);
}

::testing::AssertionResult is_matrix_adjoint_predicate(const char* text, const Operator& A) {
  return named(text, is_matrix_adjoint(A));
}
::testing::AssertionResult is_complex_matrix_adjoint_predicate(const char* text, const Operator& A) {
  return named(text, is_complex_matrix_adjoint(A));
}

}  // namespace riesz::testing
