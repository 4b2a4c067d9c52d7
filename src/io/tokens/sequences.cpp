// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokens/sequences.h"

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"

namespace riesz {
namespace {

constexpr std::int64_t kStride = 1024;

}  // namespace

Sequences::Sequences(std::shared_ptr<const TokenSet> set, Interval tokens, std::int64_t length,
                     Packing packing)
    : set_(std::move(set)), tokens_(tokens), length_(length) {
  RIESZ_CHECK(length >= 1, "sequences of ", length, " tokens; it must be 1 or more");
  if (packing == Packing::packed) {
    size_ = std::max<std::int64_t>(0, (tokens.size() - 1) / length);
  } else {
    documents_ = {set_->document_from(tokens.begin), set_->document_from(tokens.end)};
    for (std::int64_t document = documents_.begin; document < documents_.end; ++document) {
      if ((document - documents_.begin) % kStride == 0) before_.push_back(size_);
      size_ += of_document(document);
    }
  }
  RIESZ_CHECK(size_ > 0, "the ", tokens.size(), " tokens ", tokens.begin, " to ", tokens.end, " of ",
              in_quotes(set_->folder().string()), " hold no sequence of ", length,
              "; take more text, a shorter context, or another part held out");
}

std::int64_t Sequences::of_document(std::int64_t document) const {
  const Interval where = set_->document(document);
  const std::int64_t end = std::min(where.end, tokens_.end);
  return std::max<std::int64_t>(0, (end - where.begin - 1 + length_ - 1) / length_);
}

Interval Sequences::extent(std::int64_t number) const {
  if (before_.empty()) {
    const std::int64_t begin = tokens_.begin + number * length_;
    return {begin, begin + length_ + 1};
  }
  const auto stride = std::upper_bound(before_.begin(), before_.end(), number) - before_.begin() - 1;
  std::int64_t document = documents_.begin + stride * kStride;
  std::int64_t left = number - before_[static_cast<std::size_t>(stride)];
  for (std::int64_t here = of_document(document); left >= here; here = of_document(++document)) left -= here;
  const Interval where = set_->document(document);
  const std::int64_t begin = where.begin + left * length_;
  return {begin, std::min({begin + length_ + 1, where.end, tokens_.end})};
}

void Sequences::read(std::int64_t number, std::int64_t* ids, std::int64_t* targets) const {
  RIESZ_CHECK(number >= 0 && number < size_, "sequence ", number, " of ", size_);
  const Interval where = extent(number);
  const std::int64_t count = where.size() - 1;
  set_->read(where.begin, count, ids);
  set_->read(where.begin + 1, count, targets);
  std::fill(ids + count, ids + length_, 0);
  std::fill(targets + count, targets + length_, -1);
}

}  // namespace riesz
