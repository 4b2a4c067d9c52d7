// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/out_of_memory.h"

#include <c10/util/Exception.h>

#include <new>
#include <optional>

#include "riesz/comm/error.h"
#include "riesz/comm/host_memory.h"

namespace riesz {
namespace {

enum class Full { nothing, device, host };

/// Which memory is full, as this exception or one that is nested in it says.
Full full_by(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const c10::OutOfMemoryError&) {
    return Full::device;
  } catch (const std::bad_alloc&) {
    return Full::host;
  } catch (const c10::Error& error) {
    // LibTorch has no type for it.
    const std::string text = error.what_without_backtrace();
    if (text.find("DefaultCPUAllocator") != std::string::npos) return Full::host;
    return text.find("CUDA error: out of memory") != std::string::npos ? Full::device : Full::nothing;
  } catch (const std::exception& error) {
    try {
      std::rethrow_if_nested(error);
    } catch (...) {
      return full_by(std::current_exception());
    }
  } catch (...) {
  }
  return Full::nothing;
}

}  // namespace

std::string out_of_memory_remedy(const std::exception_ptr& thrown) {
  const Full full = full_by(thrown);
  if (full == Full::nothing) return "";
  std::string text;
  if (full == Full::host) {
    const std::optional<std::int64_t> left = available_memory();
    if (left) text = concat("; the host has ", *left, " bytes left");
  }
  return text +
         "\na rank needs less memory with more train.micro_batches or a smaller train.batch, with "
         "layout.recompute = "
         "\"blocks\", with a larger layout.zero or layout.dp, tp or pp, or with precision = \"bf16\"; "
         "riesz plan-memory says how much";
}

}  // namespace riesz
