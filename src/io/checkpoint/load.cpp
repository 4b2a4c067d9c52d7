// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/checkpoint/load.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/sum.h>

#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>

#include "riesz/comm/error.h"
#include "riesz/io/checkpoint/all_or_none.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/json/strict_json.h"
#include "riesz/io/safetensors/stored_tensors.h"
#include "riesz/optim/untrained.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/partition/intervals/global_intervals.h"

namespace riesz {
namespace {

constexpr std::size_t kNamed = 20;  // more of a kind are counted

void add_lines(std::ostream& out, const char* what, const std::vector<std::string>& names) {
  if (names.empty()) return;
  out << "\n  " << names.size() << " " << what << ":";
  for (std::size_t i = 0; i < names.size() && i < kNamed; ++i) out << "\n    " << names[i];
  if (names.size() > kNamed) out << "\n    and " << names.size() - kNamed << " more";
}

/// What is wanted of a tensor.
struct Wanted {
  at::ScalarType type;
  std::vector<std::int64_t> shape;
  bool may_be_cast = false;  ///< from another floating type
  bool may_be_missing = false;
};

using WantedTensors = std::map<StoredName, Wanted>;

/// Nothing where it fits.
std::string misfit(const StoredName& name, const Wanted& wanted, const StoredTensor& there) {
  const bool cast = wanted.may_be_cast && at::isFloatingType(wanted.type) && at::isFloatingType(there.type);
  if (there.shape == wanted.shape && (there.type == wanted.type || cast)) return "";
  return concat(in_quotes(name.tensor), ": ", there.type, " of ", at::IntArrayRef(there.shape),
                " in the file, and ", wanted.type, " of ", at::IntArrayRef(wanted.shape), " here");
}

/// A checkpoint's files, by stem.
using Stores = std::map<std::string, StoredTensors>;

void compare(const WantedTensors& wanted, const Stores& files, LoadReport& report) {
  for (const auto& [name, what] : wanted) {
    const auto store = files.find(name.stem);
    const StoredTensor* there = store == files.end() ? nullptr : store->second.find(name.tensor);
    if (there == nullptr) {
      if (!what.may_be_missing) report.missing.push_back(in_quotes(name.tensor));
    } else if (const std::string text = misfit(name, what, *there); !text.empty()) {
      report.misshapen.push_back(text);
    }
  }
}

void add_extra(const std::set<StoredName>& wanted, const Stores& files, LoadReport& report) {
  for (const auto& [stem, store] : files) {
    for (const StoredTensor& tensor : store.tensors()) {
      const bool own = stem == "optimizer" && is_own(tensor.name);
      if (!own && !wanted.contains({stem, tensor.name})) report.extra.push_back(in_quotes(tensor.name));
    }
  }
}

/// What config.json, in the folder or beside the file, says of the kind of model; "" where it says nothing.
std::string kind_of(const std::filesystem::path& path) {
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(path, error);
  const std::filesystem::path file = (is_folder ? path : path.parent_path()) / "config.json";
  if (!std::filesystem::is_regular_file(file, error)) return "";
  try {
    const Json config = json_of("it", bytes_of_file(file));
    const bool says = config.is_object() && config.contains("model_type") && config["model_type"].is_string();
    return says ? concat(", by its config.json a ", in_quotes(config["model_type"].get<std::string>())) : "";
  } catch (const Error&) {
    return "";  // of what is read here, something else is wrong
  }
}

void refuse(const std::filesystem::path& path, const LoadReport& report, const LoadOptions& options) {
  constexpr const char* kRemedy =
      "make the model and the optimizer as what was saved, by the same configuration; a program may load the "
      "rest by LoadOptions::strict = false";
  throw_error(concat("cannot load ", in_quotes(path.string()), kind_of(path),
                     ": what it has is not what is wanted, and nothing was changed:", to_string(report), "\n",
                     options.remedy.empty() ? kRemedy : options.remedy));
}

WantedTensors wanted_of(const State& state, const Shapes& shapes) {
  WantedTensors wanted;
  for (const StateView& view : state) {
    wanted[stored_name(view.name, view.key)] = {view.options().dtype().toScalarType(),
                                                stored_shape(view, shapes), view.key == "value",
                                                is_own(view.key)};
  }
  return wanted;
}

/// One worker's lists as text, and those of all as one. Names are in quotes, and so without new lines.
std::string text_of(const LoadReport& report, const WantedTensors& wanted) {
  std::ostringstream out;
  for (const std::string& line : report.missing) out << "-" << line << "\n";
  for (const std::string& line : report.misshapen) out << "!" << line << "\n";
  for (const auto& [name, what] : wanted) out << "=" << name.stem << "\n" << name.tensor << "\n";
  return out.str();
}

/// But for what is extra; and the names that any worker wants.
LoadReport joined(const std::vector<std::string>& texts, std::set<StoredName>& wanted) {
  std::set<std::string> missing, misshapen;
  for (const std::string& text : texts) {
    std::istringstream in(text);
    for (std::string line, tensor; std::getline(in, line);) {
      if (line[0] == '-') missing.insert(line.substr(1));
      if (line[0] == '!') misshapen.insert(line.substr(1));
      if (line[0] == '=' && std::getline(in, tensor)) wanted.insert({line.substr(1), tensor});
    }
  }
  return {{missing.begin(), missing.end()}, {}, {misshapen.begin(), misshapen.end()}};
}

/// The files' names of what has another one here; those that nothing is made of become `known`.
std::map<std::string, std::string> stored_as(const std::filesystem::path& path, const StoredTensors& store,
                                             const LoadOptions& options, std::set<StoredName>& known) {
  std::map<std::string, std::string> stored;
  if (!options.called) return stored;
  for (const StoredTensor& tensor : store.tensors()) {
    const std::string here = options.called(tensor.name);
    if (here.empty()) known.insert({"model", tensor.name});
    const bool first = here.empty() || stored.emplace(here, tensor.name).second;
    RIESZ_CHECK(first, "cannot load ", in_quotes(path.string()), ": both ", in_quotes(stored[here]), " and ",
                in_quotes(tensor.name), " are ", here);
  }
  return stored;
}

void open(Stores& files, const std::filesystem::path& folder, const std::string& stem) {
  if (!files.contains(stem)) files.emplace(stem, StoredTensors(folder, stem));
}

/// One pass over the values; a second one, which counts, only where something is wrong.
void check_finite(const std::filesystem::path& path, const std::string& tensor, at::ScalarType stored,
                  const at::Tensor& part) {
  if (!part.is_floating_point() || part.numel() == 0 || std::isfinite(part.sum().item<double>())) return;
  const auto bad = part.numel() - at::isfinite(part).sum().item<std::int64_t>();
  RIESZ_CHECK(
      bad == 0, "cannot load ", in_quotes(path.string()), ": tensor ", in_quotes(tensor), " has ", bad,
      " numbers that are not finite, of ", part.numel(),
      " that this worker reads, so all that is computed with it would be NaN; take other weights, such "
      "as of an earlier checkpoint",
      stored == part.scalar_type() ? ""
                                   : concat("; they are ", stored, " in the file and ", part.scalar_type(),
                                            " here: a wider type may hold them"));
}

}  // namespace

std::string to_string(const LoadReport& report) {
  std::ostringstream out;
  add_lines(out, "missing", report.missing);
  add_lines(out, "extra", report.extra);
  add_lines(out, "of another shape or type", report.misshapen);
  return out.str();
}

LoadReport load_checkpoint(const std::filesystem::path& folder, const Partition& P, const State& state,
                           const Shapes& shapes, const LoadOptions& options) {
  if (!P.active()) return {};
  const at::NoGradGuard no_gradient;
  const WantedTensors wanted = wanted_of(state, shapes);
  Stores files;
  LoadReport mine;
  all_or_none(P, [&] {
    for (const auto& [name, what] : wanted) open(files, folder, name.stem);
    compare(wanted, files, mine);
  });
  std::set<StoredName> of_all;
  LoadReport report = joined(collect_texts(P, text_of(mine, wanted)), of_all);
  // Also where this worker wants none of a file: what is extra there, all refuse alike.
  all_or_none(P, [&] {
    for (const StoredName& name : of_all) open(files, folder, name.stem);
  });
  add_extra(of_all, files, report);
  if (options.strict && !report.empty()) refuse(folder, report, options);
  tell_written_next(state);
  all_or_none(P, [&] {
    for (const StateView& view : state) {
      const StoredName name = stored_name(view.name, view.key);
      const StoredTensor* there = files.at(name.stem).find(name.tensor);
      if (there == nullptr && is_own(view.key)) view.change([](const at::Tensor& x) { x.zero_(); });
      if (there == nullptr || !misfit(name, wanted.at(name), *there).empty()) continue;
      view.change([&](const at::Tensor& x) {
        files.at(name.stem).read(name.tensor, global_intervals(view.space, view.interval), x);
        if (options.finite) check_finite(folder, name.tensor, there->type, x);
      });
    }
  });
  tell_written(state, !report.missing.empty() || !report.misshapen.empty());
  return report;
}

LoadReport load_weights(const std::filesystem::path& path, const std::vector<Parameter>& parameters,
                        const LoadOptions& options) {
  const at::NoGradGuard no_gradient;
  const Stores files{{"model", StoredTensors(path)}};
  const StoredTensors& store = files.at("model");
  WantedTensors wanted;
  std::set<StoredName> names;
  const std::map<std::string, std::string> stored = stored_as(path, store, options, names);
  const auto name_of = [&](const Parameter& parameter) -> std::optional<StoredName> {
    if (!options.called) return StoredName{"model", parameter.name()};
    const auto other = stored.find(parameter.name());
    return other == stored.end() ? std::nullopt : std::optional(StoredName{"model", other->second});
  };
  LoadReport report;
  for (const Parameter& parameter : parameters) {
    const std::optional<StoredName> name = name_of(parameter);
    if (name) wanted[*name] = {parameter.type(), parameter.shape(), true}, names.insert(*name);
    if (!name) report.missing.push_back(in_quotes(parameter.name()));
  }
  compare(wanted, files, report);
  add_extra(names, files, report);
  if (options.strict && !report.empty()) refuse(path, report, options);
  for (Parameter parameter : parameters) {
    const std::optional<StoredName> name = name_of(parameter);
    const StoredTensor* there = name ? store.find(name->tensor) : nullptr;
    if (there == nullptr || !misfit(*name, wanted.at(*name), *there).empty()) continue;
    parameter.fill([&](const at::Tensor& part) {
      store.read_part(name->tensor, parameter.space(), part);
      if (options.finite) check_finite(path, name->tensor, there->type, part);
    });
  }
  return report;
}

State state_of_values(const std::vector<Parameter>& parameters) {
  State state;
  for (const Parameter& parameter : parameters) {
    RIESZ_CHECK(!parameter.has_keeper(), "state_of_values: ", parameter.name(),
                " is kept by riesz::Zero; save the state of its store, Zero::store()->state()");
    state.push_back(detail::whole_value("state_of_values: ", parameter));
  }
  return state;
}

}  // namespace riesz
