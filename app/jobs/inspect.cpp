// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/jobs/inspect.h"

#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include "riesz/app/models/pretrained.h"
#include "riesz/comm/error.h"
#include "riesz/comm/table_text.h"
#include "riesz/io/escaped.h"
#include "riesz/io/safetensors/stored_tensors.h"
#include "riesz/io/safetensors/tensor_sums.h"
#include "riesz/io/safetensors/types.h"

namespace riesz::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFile = ".safetensors";
constexpr std::string_view kIndex = ".safetensors.index.json";

/// Is it one of several files, NAME-00001-of-00002.safetensors, which an index lists?
bool is_numbered(const std::string& stem) {
  const std::size_t at = stem.rfind("-of-");
  return at != std::string::npos && at + 4 < stem.size() &&
         stem.find_first_not_of("0123456789", at + 4) == std::string::npos;
}

/// What a path has, by stem: all of a folder, or one.
std::map<std::string, StoredTensors> stores_of(const fs::path& given) {
  const fs::path path = weights_of(given);
  std::map<std::string, StoredTensors> stores;
  std::error_code error;
  std::set<std::string> stems;
  if (fs::is_directory(path, error)) {
    for (const auto& entry : fs::directory_iterator(path, error)) {
      const std::string name = entry.path().filename().string();
      for (const std::string_view end : {kIndex, kFile}) {
        if (name.ends_with(end)) stems.insert(name.substr(0, name.size() - end.size()));
      }
    }
  }
  const std::set<std::string> all = stems;
  std::erase_if(stems, [&](const std::string& stem) {
    return is_numbered(stem) && all.contains(stem.substr(0, stem.rfind('-', stem.rfind("-of-") - 1)));
  });
  for (const std::string& stem : stems) stores.emplace(stem, StoredTensors(path, stem));
  if (stores.empty()) stores.emplace(path.filename().string(), StoredTensors(path));
  return stores;
}

std::string shape_text(const StoredTensor& tensor) {
  std::string text;
  for (const std::int64_t n : tensor.shape) text += (text.empty() ? "" : " x ") + std::to_string(n);
  return text.empty() ? "one" : text;
}

std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", number);
  return text;
}

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

std::string kind_text(const StoredTensor& tensor) {
  return std::string(safetensors_name(tensor.type)) + " of " + shape_text(tensor);
}

/// What the files of one stem have, each nullptr where a path has none.
struct Two {
  const StoredTensors* one = nullptr;
  const StoredTensors* other = nullptr;
};

/// A text about how a tensor differs; "" where it does not.
std::string difference(const Two& files, const std::string& name, const std::string& one,
                       const std::string& other) {
  const StoredTensor* x = files.one ? files.one->find(name) : nullptr;
  const StoredTensor* y = files.other ? files.other->find(name) : nullptr;
  if (x == nullptr || y == nullptr)
    return concat("only in ", escaped(x ? one : other), ": ", kind_text(x ? *x : *y));
  if (x->shape != y->shape || x->type != y->type) return kind_text(*x) + ", and " + kind_text(*y);
  const TensorDifference d = difference_of(*files.one, *files.other, *x);
  if (d.elements == 0) return "";
  const bool some = d.not_finite < d.elements;
  return concat(
      d.elements, " of ", x->numel(), " elements differ",
      some ? ", by at most " + number_text(d.greatest) : "",
      d.not_finite > 0 ? concat(some ? " and " : ", ", d.not_finite, " where one is not finite") : "");
}

std::set<std::string> names_in(const Two& files) {
  std::set<std::string> names;
  for (const StoredTensors* some : {files.one, files.other}) {
    if (some == nullptr) continue;
    for (const StoredTensor& tensor : some->tensors()) names.insert(tensor.name);
  }
  return names;
}

/// By stem; two that are alone belong together, whatever their names.
std::vector<Two> pairs_of(const std::map<std::string, StoredTensors>& a,
                          const std::map<std::string, StoredTensors>& b) {
  if (a.size() == 1 && b.size() == 1) return {{&a.begin()->second, &b.begin()->second}};
  std::map<std::string, Two> pairs;
  for (const auto& [stem, files] : a) pairs[stem].one = &files;
  for (const auto& [stem, files] : b) pairs[stem].other = &files;
  std::vector<Two> result;
  for (const auto& [stem, two] : pairs) result.push_back(two);
  return result;
}

}  // namespace

std::string inspect_report(const std::string& path, Form form) {
  std::ostringstream out;
  Json json = Json::object();
  for (const auto& [stem, files] : stores_of(path)) {
    Rows rows{{"tensor", "type", "shape", "bytes", "sum", "greatest magnitude"}};
    std::int64_t elements = 0;
    for (const StoredTensor& tensor : files.tensors()) {
      const TensorSums sums = sums_of(files, tensor);
      elements += tensor.numel();
      json[printable(stem)].push_back({{"tensor", printable(tensor.name)},
                                       {"type", safetensors_name(tensor.type)},
                                       {"shape", tensor.shape},
                                       {"bytes", tensor.bytes()},
                                       {"sum", sums.sum},
                                       {"greatest_magnitude", sums.greatest},
                                       {"not_finite", sums.not_finite}});
      rows.push_back({escaped(tensor.name), safetensors_name(tensor.type), shape_text(tensor),
                      std::to_string(tensor.bytes()), number_text(sums.sum), number_text(sums.greatest)});
      if (sums.not_finite > 0)
        rows.back().push_back(concat(sums.not_finite, " of them not finite, and left out of both"));
    }
    out << escaped(stem) << ": " << rows.size() - 1 << " tensors, " << elements << " elements, "
        << files.bytes() << " bytes\n"
        << table_text(rows, "l", "  ");
  }
  return form == Form::json ? json.dump(2) + "\n" : out.str();
}

std::string difference_report(const std::string& one, const std::string& other, Form form) {
  const auto a = stores_of(one), b = stores_of(other);
  std::int64_t same = 0;
  Rows rows;
  for (const Two& files : pairs_of(a, b)) {
    for (const std::string& name : names_in(files)) {
      const std::string text = difference(files, name, one, other);
      if (text.empty())
        ++same;
      else
        rows.push_back({escaped(name), text});
    }
  }
  if (form == Form::json) {
    Json json = {{"same", same}, {"differ", Json::object()}};
    for (const auto& row : rows) json["differ"][row[0]] = row[1];
    return json.dump(2) + "\n";
  }
  return concat(same, " tensors are the same, ", rows.size(), " differ\n", table_text(rows, "l", "  "));
}

}  // namespace riesz::app
