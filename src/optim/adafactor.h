// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "riesz/optim/lines.h"
#include "riesz/optim/optimizer.h"

namespace riesz {

struct AdafactorElements;

struct AdafactorOptions {
  double learning_rate = 1e-2;
  double beta2_decay = -0.8;            ///< 1 − β₂ = t^beta2_decay
  std::optional<double> epsilon1 = {};  ///< of the root of the variance; else that of the value's type
  double epsilon2 = 1e-3;               ///< the least size that a parameter counts as having
  double clip = 1;                      ///< d: the greatest root mean square of an update
  double weight_decay = 0;              ///< of the parameters that decay
};

/// Adafactor (Shazeer and Stern, 1804.04235), as torch.optim.Adafactor. With ω = t^beta2_decay and ρ = min(η,
/// 1/√t):
///
///     R ← R + ω·(mean of g² over columns − R)        C ← C + ω·(mean of g² over rows − C)
///     V = R·Cᵀ / max(mean R, ε₁)                     u = g/√max(V, ε₁²)
///     w ← (1 − η·λ)·w − ρ·max(ε₂, rms(w))·u / max(1, rms(u)/d)
///
/// over the last two dims of the published shape, whatever the layout and the share; parameters of fewer dims
/// keep V itself. R and C are kept whole on all workers: rows + columns numbers. A step is collective over
/// the store's partition. It is two AllReduces of fp64 numbers for all parameters: first 1 number for each
/// and its rows and columns, then 1 for each.
class Adafactor : public Optimizer {
 public:
  /// @throws Error naming the option that is out of range.
  explicit Adafactor(std::shared_ptr<Store> store, const AdafactorOptions& options = {},
                     std::vector<Group> groups = {});
  explicit Adafactor(std::vector<Parameter> parameters, const AdafactorOptions& options = {},
                     std::vector<Group> groups = {})
      : Adafactor(whole(std::move(parameters)), options, std::move(groups)) {}

 private:
  /// The state of a parameter of two or more dims.
  struct Factors {
    Matrices shape;
    at::Tensor rows;     ///< (batch, rows)
    at::Tensor columns;  ///< (batch, columns)
  };

  void prepare(const std::vector<Share>& shares) override;
  void update(const std::vector<Share>& shares, const StorePart& part) override;
  State more_kept() const override;
  /// Moves R, C and V towards the squares of this step's gradients; returns Σ w² by parameter.
  std::vector<double> moments(const std::vector<Share>& shares);
  AdafactorElements elements(const Share& share, std::size_t i) const;
  double epsilon1(std::size_t i) const;
  double weight() const;
  /// Where what is summed of each parameter begins: w², rows, columns; and the end of all.
  std::vector<std::int64_t> begins_of_sums() const;
  // The same on a device.
  void prepare_there(const std::vector<Share>& shares);
  void update_there(const std::vector<Share>& shares, const StorePart& part);
  at::Tensor direction_there(const Share& share, std::size_t i) const;
  void move_there(const std::vector<Share>& shares, const std::vector<std::int64_t>& begins);
  static at::Tensor estimate_there(const Share& share, const Matrices& shape, const at::Tensor& rows,
                                   const at::Tensor& columns, const at::Tensor& mean);

  AdafactorOptions options_;
  std::vector<std::optional<Factors>> factors_;
  const PerElement& variance_;
  // Of each share, in this step: Σ w² of its parameter and Σ u².
  std::vector<double> value_squares_;
  std::vector<double> squares_;
  at::Tensor sums_;  // on a device: all sums over the workers, and Σ u² of each place of sums
  at::Tensor squares_there_;
};

}  // namespace riesz
