// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/divided.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

/// What the stores of one division have in common.
struct Division {
  std::shared_ptr<Store> store;
  std::vector<std::size_t> group_of;  // by share
  std::size_t groups = 0;             // that have parameters
  std::set<std::size_t> asked;        // of those, to let gradients go
};

std::vector<std::size_t> groups_of(const std::vector<Share>& shares, const std::vector<Which>& groups) {
  std::vector<std::size_t> all;
  for (const Share& share : shares) {
    const auto has = [&](const Which& which) { return which(share.parameter); };
    const auto found = std::find_if(groups.begin(), groups.end(), has);
    all.push_back(share.copy_of ? all[*share.copy_of] : static_cast<std::size_t>(found - groups.begin()));
  }
  return all;
}

/// One of them.
class Divided final : public Store {
 public:
  Divided(std::shared_ptr<Division> of, std::size_t group, const std::vector<Share>& all)
      : of_(std::move(of)), group_(group) {
    keep_state_in(of_->store->state_place());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string& name = all[i].parameter.name();
      (is_mine(i) ? mine_ : others_).insert(name);
      if (is_mine(i) && (parts_.empty() || parts_.back() != all[i].part)) parts_.push_back(all[i].part);
    }
  }

  std::vector<Share> shares() override {
    std::vector<Share> all = of_->store->shares(), mine;
    std::vector<std::size_t> place(all.size());
    std::size_t part = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!is_mine(i)) continue;
      while (parts_[part] != all[i].part) ++part;
      place[i] = mine.size();
      mine.push_back(std::move(all[i]));
      mine.back().part = part;
      if (mine.back().copy_of) mine.back().copy_of = place[*mine.back().copy_of];
    }
    return mine;
  }

  std::size_t parts() const override { return parts_.size(); }
  void spread(std::size_t part) override { of_->store->spread(parts_[part]); }

  State state() override {
    for (const std::string& name : mine_)
      RIESZ_CHECK(
          !others_.contains(name), "divided: parameters named ", name,
          " are in two of the stores, and a state knows them by their names; divide the store of each "
          "model by itself, or name the models' parts differently");
    State mine;
    for (StateView& view : of_->store->state()) {
      if (mine_.contains(view.name)) mine.push_back(std::move(view));
    }
    return mine;
  }

  void zero_gradients() override {
    if (mine_.empty()) return;
    RIESZ_CHECK(of_->asked.insert(group_).second, "divided: the gradients of store ", group_,
                " are let go twice, and those of another store "
                "not yet, so they would be added up; call zero_gradients of each store once a step");
    if (of_->asked.size() < of_->groups) return;
    of_->asked.clear();
    of_->store->zero_gradients();
  }

  Holds holds() const override { return of_->store->holds(); }
  bool reduced() const override { return of_->store->reduced(); }
  const Partition& partition() const override { return of_->store->partition(); }
  std::uint64_t generation() const override { return of_->store->generation(); }

 private:
  bool is_mine(std::size_t share) const { return of_->group_of[share] == group_; }

  std::shared_ptr<Division> of_;
  std::size_t group_;
  std::vector<std::size_t> parts_;       // of the whole store, in order
  std::set<std::string> mine_, others_;  // names of parameters
};

}  // namespace

std::vector<std::shared_ptr<Store>> divided(const std::shared_ptr<Store>& store,
                                            const std::vector<Which>& groups) {
  RIESZ_CHECK(!groups.empty(),
              "divided: among no groups; name the parameters of one optimizer at least, such "
              "as divided(zero.store(), {matrices()})");
  RIESZ_CHECK(!store->state_place() || store->lies_there() == LiesThere::state,
              "divided: the masters of a store that is divided stay in memory; keep only the state elsewhere "
              "(LiesThere::state)");
  store->keep_masters_in({});  // of an optimizer before
  const std::vector<Share> all = store->shares();
  const auto of = std::make_shared<Division>(Division{store, groups_of(all, groups)});
  std::vector<std::shared_ptr<Store>> stores;
  for (std::size_t group = 0; group <= groups.size(); ++group) {
    const bool any = std::find(of->group_of.begin(), of->group_of.end(), group) != of->group_of.end();
    RIESZ_CHECK(any || group == groups.size(), "divided: group ", group, " has none of the store's ",
                all.size(), " parameters that no group before it has; leave it out");
    of->groups += any ? 1 : 0;
    stores.push_back(std::make_shared<Divided>(of, group, all));
  }
  return stores;
}

}  // namespace riesz
