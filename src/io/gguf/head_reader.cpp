// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/gguf/head_reader.h"

#include <algorithm>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"

namespace riesz {
namespace {

constexpr std::int64_t kAtOnce = std::int64_t{1} << 16;

}  // namespace

HeadReader::HeadReader(const File& file, std::int64_t longest)
    : file_(file), file_bytes_(file.bytes()), longest_(longest) {}

void HeadReader::refuse(const std::string& why) const {
  throw_error(concat("cannot read ", in_quotes(file_.path().string()), ": ", place_,
                     place_.empty() ? "" : ": ", why));
}

void HeadReader::need(std::uint64_t count, std::int64_t each, const char* what) const {
  const std::int64_t left = file_bytes_ - position_;
  const std::string size =
      each == 1 ? concat(count, " bytes") : concat(count, " elements of ", each, " bytes or more");
  if (count > static_cast<std::uint64_t>(left / each))
    refuse(concat(what, " has ", size, ", and the file has ", left, " bytes after byte ", position_,
                  "; it is cut off or damaged"));
  if (count > static_cast<std::uint64_t>((longest_ - position_) / each))
    refuse(concat(what, " has ", size, ", and the head would be longer than ", longest_,
                  " bytes, the longest that is read"));
}

void HeadReader::read(void* to, std::int64_t bytes, const char* what) {
  need(static_cast<std::uint64_t>(bytes), 1, what);
  auto* out = static_cast<char*>(to);
  while (bytes > 0) {
    const std::int64_t end = begin_ + static_cast<std::int64_t>(buffer_.size());
    if (position_ == end) {
      begin_ = position_;
      buffer_.resize(static_cast<std::size_t>(std::min(kAtOnce, file_bytes_ - begin_)));
      file_.read(begin_, buffer_.data(), static_cast<std::int64_t>(buffer_.size()));
      continue;
    }
    const std::int64_t some = std::min(bytes, end - position_);
    std::memcpy(out, buffer_.data() + (position_ - begin_), static_cast<std::size_t>(some));
    out += some, position_ += some, bytes -= some;
  }
}

std::int64_t HeadReader::count(const char* what, std::int64_t each) {
  const auto n = number<std::uint64_t>(what);
  need(n, each, what);
  return static_cast<std::int64_t>(n);
}

std::string HeadReader::text(const char* what, std::int64_t longest) {
  const std::int64_t n = count(what, 1);
  if (n > longest) refuse(concat(what, " has ", n, " bytes; it may have ", longest));
  std::string text(static_cast<std::size_t>(n), ' ');
  read(text.data(), n, what);
  return text;
}

}  // namespace riesz
