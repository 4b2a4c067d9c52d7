// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/doctor/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>

#include "riesz/app/doctor/finding.h"
#include "riesz/app/version.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/status_board.h"
#include "riesz/comm/table_text.h"
#include "riesz/partition/agreement/alike.h"
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

std::string one_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ',');
  return text;
}

/// Of each host one report: that of its first rank, with its version where that is another than rank 0's.
struct Hosts {
  Json reports = Json::array();
  std::vector<std::string> of_ranks;  ///< the host's name of each rank
  std::vector<int> first_ranks;
};

Hosts examine_hosts() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  Json mine = {{"host", name.data()}};
  if (StatusBoard::read().front().rank == Runtime::rank())
    mine.update({{"version", version_text()}, {"findings", json_of_findings(examine_host())}});
  Hosts all;
  for (const std::string& text : collect_texts(Partition::world(), mine.dump())) {
    Json report = Json::parse(text);
    all.of_ranks.push_back(report["host"]);
    if (!report.contains("findings")) continue;
    all.first_ranks.push_back(static_cast<int>(std::ssize(all.of_ranks)) - 1);
    const auto version = report["version"].get<std::string>();
    if (version != version_text())
      report["findings"].push_back({{"what", "version"},
                                    {"found", one_line(version)},
                                    {"remedy", "rank 0 has " + one_line(version_text()) +
                                                   ": install the same program on every host"}});
    all.reports.push_back(std::move(report));
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
  const Hosts hosts = examine_hosts();
  Json json = {{"version", version_text()}, {"hosts", hosts.reports}};
  json["links"] = json_of_findings(examine_links(hosts.of_ranks, hosts.first_ranks));
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
