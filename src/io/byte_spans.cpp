// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/byte_spans.h"

#include <cstring>

namespace riesz {
namespace {

constexpr std::int64_t kPage = 4096;
constexpr std::int64_t kMost = std::int64_t{1} << 20;

}  // namespace

void ByteSpans::add(const Interval& bytes) {
  const bool close = !pieces_.empty() && bytes.begin >= pieces_.back().end &&
                     bytes.begin - pieces_.back().end <= kPage && bytes.end - pieces_.front().begin <= kMost;
  if (!close) flush();
  pieces_.push_back(bytes);
}

void ByteSpans::flush() {
  if (pieces_.empty()) return;
  const Interval span{pieces_.front().begin, pieces_.back().end};
  if (pieces_.size() == 1) {
    file_.read(span.begin, out_, span.size());
    out_ += span.size();
  } else {
    buffer_.resize(static_cast<std::size_t>(span.size()));
    file_.read(span.begin, buffer_.data(), span.size());
    for (const Interval& piece : pieces_) {
      std::memcpy(out_, buffer_.data() + (piece.begin - span.begin), static_cast<std::size_t>(piece.size()));
      out_ += piece.size();
    }
  }
  pieces_.clear();
}

}  // namespace riesz
