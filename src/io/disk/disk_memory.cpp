// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/disk/disk_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "riesz/comm/error.h"
#include "riesz/io/disk/unnamed_file.h"

namespace riesz {

std::int64_t disk_lines(std::int64_t bytes) { return (bytes + kDiskLine - 1) / kDiskLine * kDiskLine; }

std::shared_ptr<std::byte> disk_memory(const std::string& what, std::int64_t bytes) {
  constexpr std::size_t kHuge = std::size_t{1} << 21;
  const auto size = static_cast<std::size_t>(bytes);
  const std::size_t mapped = size < kHuge ? size : size + kHuge;  // one begins somewhere in it
  void* const memory = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  RIESZ_CHECK(memory != MAP_FAILED, what, ": no memory for a page of ", bytes,
              " bytes: ", std::strerror(errno));
  std::byte* begin = static_cast<std::byte*>(memory);
  if (size >= kHuge) {
    begin += (kHuge - reinterpret_cast<std::uintptr_t>(memory) % kHuge) % kHuge;
    ::madvise(begin, size, MADV_HUGEPAGE);  // where it is refused, small ones do
  }
  return {begin, [memory, mapped](std::byte*) { ::munmap(memory, mapped); }};
}

}  // namespace riesz
