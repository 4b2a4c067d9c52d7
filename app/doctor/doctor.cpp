// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/doctor/doctor.h"

#include <ATen/ops/empty.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "riesz/app/doctor/finding.h"
#include "riesz/app/version.h"
#include "riesz/comm/board.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/table_text.h"
#include "riesz/partition/pairing.h"
#include "riesz/partition/partition.h"

namespace riesz::app {
namespace {

using Json = nlohmann::ordered_json;

Json json_of_findings(const std::vector<Finding>& findings) {
  Json json = Json::array();
  for (const Finding& finding : findings)
    json.push_back({{"what", finding.what}, {"found", finding.found}, {"remedy", finding.remedy}});
  return json;
}

/// What each rank says, by rank; longer texts are cut.
std::vector<std::string> said_by_all(const std::string& mine) {
  constexpr std::int64_t kMost = 8192;
  const at::Tensor bytes = at::empty({kMost}, at::kByte).zero_();
  std::memcpy(bytes.data_ptr(), mine.data(), std::min(mine.size(), static_cast<std::size_t>(kMost - 1)));
  std::vector<std::string> texts;
  for (const at::Tensor& one : collect("doctor", Partition::world(), bytes))
    texts.emplace_back(static_cast<const char*>(one.const_data_ptr()));
  return texts;
}

/// Of each host one report: that of its first rank.
Json hosts() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  const bool first = Board::read().front().rank == Runtime::rank();
  const Json mine = {{"host", name.data()}, {"findings", json_of_findings(examine_host())}};
  Json all = Json::array();
  for (const std::string& text : said_by_all(first ? mine.dump() : "")) {
    if (!text.empty()) all.push_back(Json::parse(text));
  }
  return all;
}

std::string section(const std::string& title, const Json& findings) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& finding : findings) {
    const auto remedy = finding["remedy"].get<std::string>();
    rows.push_back({finding["what"], finding["found"], remedy.empty() ? "" : "<- " + remedy});
  }
  return title + "\n" + table_text(rows, "l", "  ");
}

}  // namespace

Diagnosis diagnose(Form form) {
  Json json = {{"version", version_text()}, {"hosts", hosts()}};
  json["links"] = json_of_findings(examine_links());
  json["adjoints"] = json_of_findings(examine_adjoints());
  json["training"] = json_of_findings(examine_training());
  Diagnosis diagnosis;
  std::string text = version_text();
  bool advice = false;
  const auto add = [&](const std::string& title, const Json& findings) {
    text += findings.empty() ? "" : section(title, findings);
    bool right = true;
    for (const Json& finding : findings) right = right && finding["remedy"] == "";
    advice = advice || !right;
    return right;
  };
  for (const Json& host : json["hosts"]) add("host " + host["host"].get<std::string>(), host["findings"]);
  add("links", json["links"]);
  const bool adjoints = add("moves and their adjoints", json["adjoints"]);
  diagnosis.right = add("training", json["training"]) && adjoints;
  json["right"] = diagnosis.right;
  text += advice ? "look at the lines with <-\n" : "all is right\n";
  diagnosis.text = form == Form::json ? json.dump(2) + "\n" : text;
  return diagnosis;
}

}  // namespace riesz::app
