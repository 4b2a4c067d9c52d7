// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/safetensors/read_runs.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <cstring>

namespace riesz {
namespace {

constexpr std::int64_t kPage = 4096;
constexpr std::int64_t kAtOnce = std::int64_t{1} << 20;  // bytes

/// Intervals of bytes that follow each other closely, as one read and the copies out of it.
class Spans {
 public:
  Spans(const File& file, std::byte* out) : file_(file), out_(out) {}

  void add(const Interval& bytes) {
    const bool close = !pieces_.empty() && bytes.begin >= pieces_.back().end &&
                       bytes.begin - pieces_.back().end <= kPage &&
                       bytes.end - pieces_.front().begin <= kAtOnce;
    if (!close) flush();
    pieces_.push_back(bytes);
  }

  void flush() {
    if (pieces_.empty()) return;
    const Interval span{pieces_.front().begin, pieces_.back().end};
    if (pieces_.size() == 1) {
      file_.read(span.begin, out_, span.size());
      out_ += span.size();
    } else {
      buffer_.resize(static_cast<std::size_t>(span.size()));
      file_.read(span.begin, buffer_.data(), span.size());
      for (const Interval& piece : pieces_) {
        std::memcpy(out_, buffer_.data() + (piece.begin - span.begin),
                    static_cast<std::size_t>(piece.size()));
        out_ += piece.size();
      }
    }
    pieces_.clear();
  }

 private:
  const File& file_;
  std::byte* out_;
  Intervals pieces_;
  std::vector<std::byte> buffer_;
};

void read_straight(const File& file, const StoredTensor& tensor, const Intervals& wanted, void* out) {
  const auto width = static_cast<std::int64_t>(c10::elementSize(tensor.type));
  Spans spans(file, static_cast<std::byte*>(out));
  for (const Interval& part : wanted) {
    if (part.size() > 0)
      spans.add({tensor.place.begin + part.begin * width, tensor.place.begin + part.end * width});
  }
  spans.flush();
}

}  // namespace

void read_runs(const File& file, const StoredTensor& tensor, const Intervals& wanted, const at::Tensor& out) {
  const at::NoGradGuard no_gradient;
  if (out.scalar_type() == tensor.type && out.is_cpu())
    return read_straight(file, tensor, wanted, out.data_ptr());
  const std::int64_t most = std::min(kAtOnce, std::max<std::int64_t>(out.numel(), 1));
  const at::Tensor buffer = at::empty({most}, at::TensorOptions(tensor.type));
  Intervals some;
  std::int64_t size = 0;
  std::int64_t at = 0;
  const auto convert = [&] {
    read_straight(file, tensor, some, buffer.data_ptr());
    out.narrow(0, at, size).copy_(buffer.narrow(0, 0, size));
    at += size;
    size = 0;
    some.clear();
  };
  for (Interval rest : wanted) {
    while (rest.size() > 0) {
      const std::int64_t taken = std::min(rest.size(), most - size);
      some.push_back({rest.begin, rest.begin + taken});
      rest.begin += taken;
      size += taken;
      if (size == most) convert();
    }
  }
  convert();
}

}  // namespace riesz
