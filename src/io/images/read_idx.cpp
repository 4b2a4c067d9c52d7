// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/images/read_idx.h"

#include <ATen/ops/empty.h>
#include <c10/util/accumulate.h>
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
#include "riesz/io/file.h"

namespace riesz {
namespace {

/// A file's bytes in their order, unpacked where it is packed.
class Unpacked {
 public:
  explicit Unpacked(const std::filesystem::path& path)
      : what_("cannot read " + in_quotes(path.string()) + ": ") {
    File::to_read(path);  // a pipe would be waited for, and a device has no end
    file_ = ::gzopen(path.c_str(), "rb");
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
  ::gzFile file_ = nullptr;
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

/// Fills the tensor with the elements that follow the first `before` of `all`.
void read_next(Unpacked& file, const at::Tensor& some, std::int64_t before, std::int64_t all) {
  const std::int64_t got = file.read(some.mutable_data_ptr<std::uint8_t>(), some.numel());
  RIESZ_CHECK(got == some.numel(), file.what(), "it ends after ", before + got, " of its ", all, " elements");
}

void check_end(Unpacked& file, std::int64_t all) {
  std::uint8_t more = 0;
  RIESZ_CHECK(file.read(&more, 1) == 0, file.what(), "it has more than its ", all, " elements");
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
  read_next(file, array, 0, array.numel());
  check_end(file, array.numel());
  return array;
}

void read_idx_rows(const std::filesystem::path& path, const Interval& rows,
                   const std::function<void(std::int64_t first, const at::Tensor& some)>& take) {
  constexpr std::int64_t kAtOnce = std::int64_t{1} << 20;  // bytes
  Unpacked file(path);
  std::vector<std::int64_t> shape = read_extents(file);
  const std::int64_t all = c10::multiply_integers(shape), count = shape[0];
  const std::int64_t row = count == 0 ? 0 : all / count;
  const std::int64_t most = std::max<std::int64_t>(1, kAtOnce / std::max<std::int64_t>(1, row));
  for (std::int64_t at = 0; at < rows.end;) {
    const bool skipped = at < rows.begin;
    shape[0] = std::min(most, (skipped ? rows.begin : rows.end) - at);
    const at::Tensor some = at::empty(shape, at::kByte);
    read_next(file, some, at * row, all);
    if (!skipped) take(at, some);
    at += shape[0];
  }
  if (rows.end == count) check_end(file, all);
}

}  // namespace riesz
