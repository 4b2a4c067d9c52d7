// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace riesz::detail {

/// A digest of the headers of kernels and of NCCL's functions (cmake/RieszDigest.cmake): a program and
/// libriesz_cuda.so that were built from other ones differ in it.
extern const char* const shared_digest;

}  // namespace riesz::detail
