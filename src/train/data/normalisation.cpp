// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/data/normalisation.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/json/strict_json.h"

namespace riesz {
namespace {

/// `what` begins an error.
Normalisation normalisation_in(const std::string& what, const std::string& text) {
  const auto json = strict_json(what, text);
  Normalisation of;
  try {
    of.mean = json.at("inputs").at("mean").get<std::vector<double>>();
    of.deviation = json.at("inputs").at("deviation").get<std::vector<double>>();
    of.scale = json.at("targets").at("scale").get<double>();
  } catch (const nlohmann::json::exception&) {
    throw_error(concat(what,
                       " has not the means and deviations of inputs and the scale of targets; take the "
                       "file that the training wrote"));
  }
  const bool sound = of.mean.size() == of.deviation.size() && of.scale > 0 &&
                     std::all_of(of.deviation.begin(), of.deviation.end(), [](double d) { return d > 0; });
  RIESZ_CHECK(sound, what, " needs as many means as deviations, and deviations and a scale above 0");
  return of;
}

/// What fp32 tells apart; "" where there is nothing.
std::string difference(const Normalisation& then, const Normalisation& now) {
  const auto differ = [](double a, double b, double unit) { return std::abs(a - b) > 1e-6 * unit; };
  if (then.mean.size() != now.mean.size())
    return concat("means of ", then.mean.size(), " channels were subtracted, and now of ", now.mean.size());
  for (std::size_t c = 0; c < now.mean.size(); ++c) {
    const double deviation = now.deviation[c];
    if (differ(then.mean[c], now.mean[c], deviation) || differ(then.deviation[c], deviation, deviation))
      return concat("channel ", c, " had mean ", then.mean[c], " and deviation ", then.deviation[c],
                    ", and now has ", now.mean[c], " and ", deviation);
  }
  if (!differ(then.scale, now.scale, now.scale)) return "";
  return concat("targets were divided by ", then.scale, ", and now by ", now.scale);
}

}  // namespace

at::Tensor Normalisation::inputs(const at::Tensor& fields, const Interval& channels) const {
  if (mean.empty()) return fields.to(at::kFloat);
  const at::Tensor numbers = fields.to(at::kDouble, /*non_blocking=*/false, /*copy=*/true);
  for (std::int64_t c = channels.begin; c < channels.end; ++c)
    numbers.select(1, c - channels.begin)
        .sub_(mean[static_cast<std::size_t>(c)])
        .div_(deviation[static_cast<std::size_t>(c)]);
  return numbers.to(at::kFloat);
}

std::string to_text(const Normalisation& of) {
  const nlohmann::ordered_json json = {{"inputs", {{"mean", of.mean}, {"deviation", of.deviation}}},
                                       {"targets", {{"scale", of.scale}}}};
  return json.dump(2) + "\n";
}

Normalisation read_normalisation(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / Normalisation::file;
  if (!is_there(path)) return {};
  return normalisation_in("cannot read " + in_quotes(path.string()) + ": it", bytes_of_file(path));
}

void check_normalised_alike(const std::filesystem::path& folder, const std::string& now) {
  const std::string what = std::string(Normalisation::file) + " of this training";
  const std::string differs = difference(read_normalisation(folder), normalisation_in(what, now));
  RIESZ_CHECK(differs.empty(), "cannot go on from ", in_quotes(folder.string()),
              ": its data were normalised otherwise: ", differs,
              "; give the files and the data.normalise of that training, or begin anew with its weights: "
              "model.from=",
              in_quotes(folder.string()), ", in another output.folder, without --resume");
}

}  // namespace riesz
