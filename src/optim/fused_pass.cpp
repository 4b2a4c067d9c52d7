// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/fused_pass.h"

#include <ATen/ops/zeros.h>

#include "riesz/comm/dispatched.h"

namespace riesz {

namespace {

using Pass = std::function<void(const std::vector<at::Tensor>&)>;

void pass_in_full_registers(const std::vector<at::Tensor>& operands, const Pass& pass) {
  constexpr std::int64_t line = 16;  // fills a register of every width and type
  const std::int64_t n = operands.front().numel();
  const std::int64_t rest = n % line;
  std::vector<at::Tensor> full;
  std::vector<at::Tensor> last;
  for (const at::Tensor& x : operands) {
    full.push_back(x.narrow(0, 0, n - rest));
    if (rest > 0) last.push_back(at::zeros({line}, x.options()));
    if (rest > 0) last.back().narrow(0, 0, rest).copy_(x.narrow(0, n - rest, rest));
  }
  if (n > rest) pass(full);
  if (rest == 0) return;
  pass(last);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    operands[i].narrow(0, n - rest, rest).copy_(last[i].narrow(0, 0, rest));
  }
}

void pass_at_once(const std::vector<at::Tensor>& operands, const Pass& pass) { pass(operands); }

const Dispatched<void(const std::vector<at::Tensor>&, const Pass&)> passes{pass_in_full_registers,
                                                                           pass_at_once};

}  // namespace

void fused_pass(const std::vector<at::Tensor>& operands, const Pass& pass) {
  passes(operands.front().device(), operands, pass);
}

}  // namespace riesz
