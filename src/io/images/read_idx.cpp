// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/images/read_idx.h"

#include <ATen/ops/empty.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"

namespace riesz {
namespace {

/// A file's bytes in their order, unpacked where it is packed.
class Unpacked {
 public:
  explicit Unpacked(const std::filesystem::path& path)
      : what_("cannot read " + in_quotes(path.string()) + ": "), file_(::gzopen(path.c_str(), "rb")) {
    RIESZ_CHECK(file_ != nullptr, what_, std::strerror(errno));
  }
  ~Unpacked() { ::gzclose(file_); }
  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;

  const std::string& what() const { return what_; }

  /// How many of `count` bytes there were.
  std::int64_t read(std::uint8_t* to, std::int64_t count) {
    constexpr std::int64_t kAtOnce = std::int64_t{1} << 30;
    std::int64_t done = 0;
    while (done < count) {
      const auto wanted = static_cast<unsigned>(std::min(count - done, kAtOnce));
      const int got = ::gzread(file_, to + done, wanted);
      int error = Z_OK;
      const char* const reason = ::gzerror(file_, &error);
      RIESZ_CHECK(got >= 0 && (error == Z_OK || error == Z_STREAM_END), what_,
                  error == Z_ERRNO ? std::strerror(errno) : escaped(reason));
      if (got == 0) break;
      done += got;
    }
    return done;
  }

 private:
  std::string what_;
  ::gzFile file_;
};

/// Of four bytes, the greatest first.
std::int64_t number_of(const std::uint8_t* bytes) {
  return std::int64_t{bytes[0]} << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

std::vector<std::int64_t> read_extents(Unpacked& file) {
  constexpr std::uint8_t kBytes = 8;
  std::array<std::uint8_t, 4> head{};
  const bool whole = file.read(head.data(), 4) == 4;
  RIESZ_CHECK(whole && head[0] == 0 && head[1] == 0 && head[3] >= 1, file.what(), "it is no idx file");
  RIESZ_CHECK(head[2] == kBytes, file.what(), "its elements are of idx's type ", int{head[2]},
              ", not bytes, ", int{kBytes});
  std::vector<std::int64_t> extents;
  std::int64_t left = std::int64_t{1} << 40;  // of elements, which overflow nothing
  for (int dim = 0; dim < head[3]; ++dim) {
    std::array<std::uint8_t, 4> extent{};
    RIESZ_CHECK(file.read(extent.data(), 4) == 4, file.what(), "it ends within its head");
    extents.push_back(number_of(extent.data()));
    left = extents.back() > 0 ? left / extents.back() : left;
    RIESZ_CHECK(left > 0, file.what(), "it says that it has more than 2^40 elements");
  }
  return extents;
}

}  // namespace

std::vector<std::int64_t> idx_extents(const std::filesystem::path& path) {
  Unpacked file(path);
  return read_extents(file);
}

at::Tensor read_idx(const std::filesystem::path& path) {
  Unpacked file(path);
  const std::vector<std::int64_t> extents = read_extents(file);
  at::Tensor array = at::empty(extents, at::kByte);
  const std::int64_t got = file.read(array.mutable_data_ptr<std::uint8_t>(), array.numel());
  std::uint8_t more = 0;
  RIESZ_CHECK(got == array.numel(), file.what(), "it ends after ", got, " of its ", array.numel(),
              " elements");
  RIESZ_CHECK(file.read(&more, 1) == 0, file.what(), "it has more than its ", array.numel(), " elements");
  return array;
}

}  // namespace riesz
