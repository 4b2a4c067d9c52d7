// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/transport.h"

#include <ATen/ops/empty.h>

namespace riesz {

bool Message::admits(const Signature& sent) {
  if (arrived == nullptr) return sent.matches(signature());
  const auto each = static_cast<std::int64_t>(c10::elementSize(sent.type));
  if (sent.digest != label->digest() || sent.bytes != span.count * each) return false;
  *arrived = at::empty({span.count}, sent.type);
  span = TensorSpan(*arrived);
  return true;
}

}  // namespace riesz
