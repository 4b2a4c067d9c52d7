// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/arrays/npy_array.h"

#include <cstddef>
#include <utility>

#include "riesz/io/arrays/npy_header.h"

namespace riesz {
namespace {

class NpyArray final : public ArraySource {
 public:
  explicit NpyArray(File file) : file_(std::move(file)) {
    const NpyHeader header = read_npy_header(file_);
    shape = header.shape, type = header.type, begin_ = header.begin;
  }

  void read(const Box& box, void* to) const override {
    const auto width = static_cast<std::int64_t>(c10::elementSize(type));
    auto* out = static_cast<std::byte*>(to);
    for_each_run(shape, box, [&](std::int64_t first, std::int64_t count) {
      file_.read(begin_ + first * width, out, count * width);
      out += count * width;
    });
  }

 private:
  File file_;
  std::int64_t begin_ = 0;
};

}  // namespace

std::unique_ptr<ArraySource> open_npy(const std::filesystem::path& path) {
  return std::make_unique<NpyArray>(File::to_read(path));
}

}  // namespace riesz
