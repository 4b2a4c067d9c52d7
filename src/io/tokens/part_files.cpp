// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokens/part_files.h"

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"

namespace riesz {
namespace {

constexpr std::size_t kOpen = 16;  // a process may have a thousand or so

}  // namespace

std::size_t PartFiles::add(const std::filesystem::path& path, std::int64_t bytes) {
  const FileState state = File::to_read(path).state();
  RIESZ_CHECK(state.bytes == bytes, in_quotes(path.string()), " has ", state.bytes,
              " bytes, and tokens.json says ", bytes,
              ": it was cut off or changed; run riesz tokenize again");
  files_.push_back({path, state});
  return files_.size() - 1;
}

void PartFiles::check_same(const File& file, const Known& known) {
  RIESZ_CHECK(file.state() == known.state, in_quotes(known.path.string()),
              " has changed since it was first opened; run riesz tokenize again, and begin anew");
}

void PartFiles::read(std::size_t file, std::int64_t at, void* to, std::int64_t count) const {
  const std::lock_guard guard(mutex_);
  auto found = std::find_if(open_.begin(), open_.end(), [&](const Open& one) { return one.number == file; });
  if (found == open_.end()) {
    if (open_.size() == kOpen) open_.pop_back();
    const Known& known = files_[file];
    Open opened{file, File::to_read(known.path)};
    check_same(opened.file, known);
    open_.push_front(std::move(opened));
    found = open_.begin();
  }
  found->file.read(at, to, count);
  check_same(found->file, files_[file]);
}

}  // namespace riesz
