// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/freeze.h"

#include <algorithm>

#include "riesz/comm/error.h"
#include "riesz/nn/means_parameter.h"
#include "riesz/nn/names.h"

namespace riesz {
namespace {

/// Of modules that hold parameters; some, where there are many.
std::string some_modules(const std::vector<Parameter>& parameters) {
  constexpr std::size_t kSome = 12;
  std::vector<std::string> paths;
  for (const Parameter& parameter : parameters) {
    const std::string path = parameter.name().substr(0, parameter.name().rfind('.'));
    if (paths.size() < kSome && (paths.empty() || paths.back() != path)) paths.push_back(path);
  }
  return shortened(paths);
}

void freeze_where(const Module& model, const std::vector<std::string>& patterns, bool meant,
                  const std::string& said_in) {
  const std::vector<Parameter> parameters = model.parameters();
  for (const std::string& pattern : patterns)
    RIESZ_CHECK(std::any_of(parameters.begin(), parameters.end(),
                            [&](const Parameter& parameter) {
                              return detail::means_parameter(pattern, parameter.name());
                            }),
                said_in, ": the pattern \"", pattern,
                "\" means no parameter of the model; it is a parameter's name, or the path of a module, in "
                "which * stands for any run of characters but dots and [0-3] for these numbers; there are ",
                some_modules(parameters));
  for (Parameter parameter : parameters) {
    const bool any = std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
      return detail::means_parameter(pattern, parameter.name());
    });
    if (any == meant) parameter.freeze();
  }
}

}  // namespace

void freeze(const Module& model, const std::vector<std::string>& patterns, const std::string& said_in) {
  freeze_where(model, patterns, true, said_in);
}

void freeze_all_but(const Module& model, const std::vector<std::string>& patterns,
                    const std::string& said_in) {
  freeze_where(model, patterns, false, said_in);
}

}  // namespace riesz
