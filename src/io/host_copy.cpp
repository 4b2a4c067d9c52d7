// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/host_copy.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <sstream>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/team/host_tensor.h"
#include "riesz/io/checkpoint/all_or_none.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/partition/split.h"

namespace riesz {
namespace {

/// This worker's piece of the rows.
Interval rows_of(const HostTensor& tensor) {
  const std::vector<int>& holders = tensor.holders();
  const auto me = std::find(holders.begin(), holders.end(), Runtime::rank()) - holders.begin();
  return Split::balanced(tensor.local().size(0), static_cast<int>(holders.size()))[static_cast<int>(me)];
}

/// Its rows filled by all of its workers.
HostTensor filled(const Partition& P, at::IntArrayRef shape, at::ScalarType type,
                  const std::function<void(const Interval& rows, const at::Tensor& piece)>& fill) {
  std::optional<HostTensor> whole;
  all_or_none(P, [&] { whole.emplace(P.workers(), shape, type); });
  all_or_none(P, [&] {
    const Interval rows = rows_of(*whole);
    if (rows.size() > 0) fill(rows, whole->local().narrow(0, rows.begin, rows.size()));
  });
  return *whole;
}

/// A line of the missing rows' numbers, and why the first is missing.
std::string text_of(const std::vector<MissingRow>& missing) {
  std::string text;
  for (const MissingRow& one : missing) text += concat(one.row, ' ');
  return concat(text, '\n', missing.empty() ? "" : missing.front().why);
}

/// What any worker misses: the numbers, and why the first of all is missing.
SomeRows missing_to_any(const std::vector<std::string>& texts) {
  std::map<std::int64_t, std::string> why_by_row;
  for (const std::string& text : texts) {
    const std::size_t end = text.find('\n');
    std::istringstream numbers(text.substr(0, end));
    std::string why = text.substr(end + 1);
    for (std::int64_t row = 0; numbers >> row; why.clear()) {
      std::string& known = why_by_row[row];
      if (known.empty()) known = why;
    }
  }
  SomeRows some;
  for (const auto& [row, why] : why_by_row) some.missing.push_back(row);
  if (!some.missing.empty()) some.why = why_by_row.begin()->second;
  return some;
}

/// Moves the other rows of memory to where the missing ones were.
void close_gaps(const at::Tensor& whole, const std::vector<std::int64_t>& missing) {
  const auto row_bytes = static_cast<std::int64_t>(whole.stride(0) * whole.element_size());
  auto* const bytes = static_cast<std::byte*>(whole.mutable_data_ptr());
  for (std::size_t i = 0; i < missing.size(); ++i) {
    const std::int64_t begin = missing[i] + 1;
    const std::int64_t end = i + 1 < missing.size() ? missing[i + 1] : whole.size(0);
    const auto to = begin - 1 - static_cast<std::int64_t>(i);
    std::memmove(bytes + to * row_bytes, bytes + begin * row_bytes,
                 static_cast<std::size_t>((end - begin) * row_bytes));
  }
}

}  // namespace

at::Tensor host_copy(const Partition& P, at::IntArrayRef shape, at::ScalarType type,
                     const std::function<void(const Interval& rows, const at::Tensor& piece)>& fill) {
  HostTensor whole = filled(P, shape, type, fill);
  whole.make_read_only();
  return whole.local();
}

SomeRows host_copy_of_those(
    const Partition& P, at::IntArrayRef shape, at::ScalarType type,
    const std::function<std::vector<MissingRow>(const Interval& rows, const at::Tensor& piece)>& fill) {
  std::vector<MissingRow> mine;
  HostTensor whole = filled(P, shape, type,
                            [&](const Interval& rows, const at::Tensor& piece) { mine = fill(rows, piece); });
  SomeRows some = missing_to_any(collect_texts(P, text_of(mine)));
  if (!some.missing.empty()) {
    all_or_none(P, [&] {
      if (whole.holders().front() == Runtime::rank()) close_gaps(whole.local(), some.missing);
    });
  }
  whole.make_read_only();
  some.rows = whole.local().narrow(0, 0, shape[0] - static_cast<std::int64_t>(some.missing.size()));
  return some;
}

int holders_of_host_copy(const Partition& P) {
  return static_cast<int>(ranks_sharing_memory(P.workers()).size());
}

}  // namespace riesz
