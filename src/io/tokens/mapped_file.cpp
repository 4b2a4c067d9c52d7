// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokens/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"

namespace riesz {

MappedFile::MappedFile(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  RIESZ_CHECK(file >= 0, "cannot read ", in_quotes(path.string()), ": ", std::strerror(errno));
  struct stat about {};
  const bool plain = ::fstat(file, &about) == 0 && S_ISREG(about.st_mode);
  void* memory = nullptr;
  if (plain && about.st_size > 0) {
    size_ = static_cast<std::size_t>(about.st_size);
    memory = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file, 0);
  }
  const int reason = errno;
  ::close(file);
  RIESZ_CHECK(plain, in_quotes(path.string()), " is no file that can be read from its beginning to its end");
  RIESZ_CHECK(memory != MAP_FAILED, "cannot map ", in_quotes(path.string()), ": ", std::strerror(reason));
  data_ = static_cast<const char*>(memory);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
}

}  // namespace riesz
