// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/arrays/write_npy.h"

#include <c10/util/accumulate.h>

#include <cstddef>

#include "riesz/io/arrays/array_source.h"
#include "riesz/io/arrays/npy_header.h"
#include "riesz/io/file.h"

namespace riesz {

void NpyOutput::make(const std::filesystem::path& path, const std::vector<std::int64_t>& shape,
                     at::ScalarType type) {
  const std::string head = npy_header(shape, type);
  const File file = File::made(path);
  file.write(head);
  file.resize(static_cast<std::int64_t>(head.size()) +
              c10::multiply_integers(shape) * static_cast<std::int64_t>(c10::elementSize(type)));
}

NpyOutput::NpyOutput(const std::filesystem::path& path)
    : file_(std::make_shared<const File>(File::shared(path))) {
  const NpyHeader header = read_npy_header(*file_);
  shape_ = header.shape, type_ = header.type, begin_ = header.begin;
}

void NpyOutput::write(const Box& box, const at::Tensor& elements) const {
  if (elements.numel() == 0) return;
  const at::Tensor here = elements.to(type_).cpu().contiguous();
  const auto width = static_cast<std::int64_t>(c10::elementSize(type_));
  const auto* from = static_cast<const std::byte*>(here.const_data_ptr());
  for_each_run(shape_, box, [&](std::int64_t first, std::int64_t count) {
    file_->write(begin_ + first * width, from, count * width);
    from += count * width;
  });
}

void NpyOutput::sync() const { file_->sync(); }

void write_npy(const std::filesystem::path& path, const at::Tensor& whole) {
  Box all;
  for (const std::int64_t extent : whole.sizes()) all.push_back({0, extent});
  NpyOutput::make(path, whole.sizes().vec(), whole.scalar_type());
  NpyOutput(path).write(all, whole);
}

}  // namespace riesz
