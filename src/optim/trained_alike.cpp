// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/trained_alike.h"

#include <algorithm>

#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/error.h"
#include "riesz/partition/agreement/alike.h"

namespace riesz {
namespace {

/// One character for each of the parameters on P.
std::string who_is_trained(const std::vector<Parameter>& parameters, const Partition& P) {
  std::string marks;
  for (const Parameter& parameter : parameters)
    if (parameter.space().partition() == P) marks += parameter.trained() ? 't' : 'f';
  return marks;
}

void check_trained_alike_on(const Partition& P, const std::string& what,
                            const std::vector<Parameter>& parameters) {
  const std::vector<std::string> all = collect_texts(P, who_is_trained(parameters, P));
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    RIESZ_CHECK(all[rank].size() == all[0].size(), what, ": rank 0 of ", to_string(P), " gives it ",
                all[0].size(), " parameters and rank ", rank, " ", all[rank].size(),
                "; give the same ones on all workers (seen with RIESZ_CHECK=1)");
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    std::size_t i = 0;
    for (const Parameter& parameter : parameters) {
      if (!(parameter.space().partition() == P)) continue;
      const char one = all[0][i], other = all[rank][i++];
      const auto text = [](char mark) { return mark == 't' ? "trained" : "frozen"; };
      RIESZ_CHECK(one == other, what, ": ", parameter.name(), " is ", text(one), " on rank 0 of ",
                  to_string(P), " and ", text(other), " on rank ", rank,
                  "; freeze the same parameters on all workers, before ", what,
                  " is called (seen with RIESZ_CHECK=1)");
    }
  }
}

}  // namespace

void check_trained_alike(const std::string& what, const std::vector<Parameter>& parameters) {
  if (!consistency_checks()) return;
  std::vector<Partition> seen;
  for (const Parameter& parameter : parameters) {
    const Partition& P = parameter.space().partition();
    if (std::find(seen.begin(), seen.end(), P) != seen.end()) continue;
    seen.push_back(P);
    if (P.active() && P.real()) check_trained_alike_on(P, what, parameters);
  }
}

}  // namespace riesz
