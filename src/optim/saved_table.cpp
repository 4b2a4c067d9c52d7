// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/saved_table.h"

#include <algorithm>
#include <sstream>

#include "riesz/partition/agreement/alike.h"
#include "riesz/partition/intervals/global_intervals.h"

namespace riesz {
namespace {

/// As runs of intervals of one size, one step apart: begin, size, step and count.
void write(std::ostream& out, const Intervals& intervals) {
  for (std::size_t i = 0, count = 1; i < intervals.size(); i += count) {
    const Interval& first = intervals[i];
    const std::int64_t step = i + 1 < intervals.size() ? intervals[i + 1].begin - first.begin : 0;
    const auto continues = [&](std::size_t k) {
      return k < intervals.size() && intervals[k].size() == first.size() &&
             intervals[k].begin - intervals[k - 1].begin == step;
    };
    for (count = 1; continues(i + count);) ++count;
    out << " " << first.begin << " " << first.size() << " " << step << " " << count;
  }
}

Intervals intervals_in(std::istream& in) {
  Intervals intervals;
  for (std::int64_t begin, size, step, count; in >> begin >> size >> step >> count;) {
    for (; count > 0; --count, begin += step) intervals.push_back({begin, begin + size});
  }
  return intervals;
}

std::string text_of(const SavedTable& table) {
  std::ostringstream out;
  for (const auto& [key, part] : table) {
    out << key.first << "\n" << key.second << "\n" << part.n << " " << static_cast<int>(part.type);
    write(out, part.intervals);
    out << "\n";
  }
  return out.str();
}

SavedTable table_in(const std::string& text) {
  SavedTable table;
  std::istringstream in(text);
  for (std::string name, key, line;
       std::getline(in, name) && std::getline(in, key) && std::getline(in, line);) {
    SavedPart& part = table[{name, key}];
    std::istringstream numbers(line);
    int type = 0;
    numbers >> part.n >> type;
    part.type = static_cast<at::ScalarType>(type);
    part.intervals = intervals_in(numbers);
  }
  return table;
}

}  // namespace

SavedTable table_of(const State& state, bool counted) {
  SavedTable table;
  for (const StateView& view : state) {
    if (counted && !view.counted) continue;
    SavedPart& part = table[{view.name, view.key}];
    part.n = view.space.numel();
    part.type = view.options().dtype().toScalarType();
    const Intervals more = global_intervals(view.space, view.interval);
    part.intervals.insert(part.intervals.end(), more.begin(), more.end());
  }
  return table;
}

std::vector<SavedTable> tables_of_all(const Partition& P, const SavedTable& mine) {
  std::vector<SavedTable> tables;
  for (const std::string& text : collect_texts(P, text_of(mine))) tables.push_back(table_in(text));
  return tables;
}

const SavedPart* find(const SavedTable& table, const SavedKey& key) {
  const auto found = table.find(key);
  return found == table.end() ? nullptr : &found->second;
}

std::vector<Intervals> intervals_of(const std::vector<SavedTable>& tables, const SavedKey& key) {
  std::vector<Intervals> result;
  for (const SavedTable& table : tables) {
    const SavedPart* part = find(table, key);
    result.push_back(part ? part->intervals : Intervals{});
  }
  return result;
}

std::vector<Intervals> each_once(const std::vector<Intervals>& held) {
  std::vector<std::pair<Interval, std::size_t>> all;
  for (std::size_t worker = 0; worker < held.size(); ++worker) {
    for (const Interval& interval : held[worker]) all.emplace_back(interval, worker);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; });
  std::vector<Intervals> result(held.size());
  std::int64_t covered = 0;
  for (const auto& [interval, worker] : all) {
    if (interval.end <= covered) continue;
    result[worker].push_back({std::max(interval.begin, covered), interval.end});
    covered = interval.end;
  }
  return result;
}

}  // namespace riesz
