// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/optim/store.h"

namespace riesz {
namespace {

Partition union_of(const std::vector<std::shared_ptr<Store>>& stores) {
  RIESZ_CHECK(!stores.empty(), "several: of no store; it needs one or more");
  Partition all = stores.front()->partition();
  for (const auto& store : stores) {
    if (!(store->partition() == all)) all = all | store->partition();
  }
  return all;
}

class Several : public Store {
 public:
  Several(std::vector<std::shared_ptr<Store>> stores, const std::vector<std::string>& tied)
      : stores_(std::move(stores)), tied_(tied.begin(), tied.end()), partition_(union_of(stores_)) {}

  std::vector<Share> shares() override {
    std::vector<Share> all;
    std::map<std::string, std::size_t> before;  // those that are tied, of earlier stores
    std::size_t part = 0;
    ends_.clear();
    for (const auto& store : stores_) {
      const std::size_t begin = all.size();
      for (Share& share : store->shares()) {
        const auto tied = before.find(share.parameter.name());
        if (tied != before.end())
          share.copy_of = tied->second;
        else if (share.copy_of)  // in a store of several itself
          *share.copy_of += begin;
        share.counted = share.counted && !share.copy_of;
        share.part += part;
        all.push_back(std::move(share));
      }
      for (std::size_t i = begin; i < all.size(); ++i) {
        if (tied_.contains(all[i].parameter.name())) before.emplace(all[i].parameter.name(), i);
      }
      ends_.push_back(all.size());
      part += store->parts();
    }
    return all;
  }

  std::size_t parts() const override {
    std::size_t sum = 0;
    for (const auto& store : stores_) sum += store->parts();
    return sum;
  }

  void spread(std::size_t part) override {
    for (const auto& store : stores_) {
      if (part < store->parts()) return store->spread(part);
      part -= store->parts();
    }
  }

  void keep_masters_in(std::vector<std::shared_ptr<const StateElsewhere>> places) override {
    const auto at = [&](std::size_t n) { return places.begin() + static_cast<std::ptrdiff_t>(n); };
    for (std::size_t i = 0; i < stores_.size(); ++i) {
      if (places.empty())
        stores_[i]->keep_masters_in({});
      else
        stores_[i]->keep_masters_in({at(i == 0 ? 0 : ends_[i - 1]), at(ends_[i])});
    }
  }

  void cast_masters() override {
    for (const auto& store : stores_) store->cast_masters();
  }

  State state() override {
    State all;
    std::set<std::string> before;  // as shares are counted
    for (const auto& store : stores_) {
      for (StateView& view : store->state()) {
        view.counted = view.counted && !before.contains(view.name);
        all.push_back(std::move(view));
      }
      for (const StateView& view : all) {
        if (tied_.contains(view.name)) before.insert(view.name);
      }
    }
    return all;
  }

  void zero_gradients() override {
    for (const auto& store : stores_) store->zero_gradients();
  }

  /// Each of them may have an optimizer of its own.
  void step_only_if(const at::Tensor& flag) override {
    Store::step_only_if(flag);
    for (const auto& store : stores_) store->step_only_if(flag);
  }
  void skip_if(const at::Tensor& flag) override {
    Store::skip_if(flag);
    for (const auto& store : stores_) store->skip_if(flag);
  }
  at::Tensor take_only_if() override {
    for (const auto& store : stores_) store->take_only_if();
    return Store::take_only_if();
  }
  at::Tensor take_goes_on(const at::Tensor& only_if) override {
    for (const auto& store : stores_) store->take_goes_on({});
    return Store::take_goes_on(only_if);
  }

  /// Whoever begins one of them.
  std::uint64_t generation() const override {
    std::uint64_t sum = 0;
    for (const auto& store : stores_) sum += store->generation();
    return sum;
  }

  /// The least of them.
  Holds holds() const override {
    const auto has = [this](Holds holds) {
      return std::any_of(stores_.begin(), stores_.end(), [&](const auto& s) { return s->holds() == holds; });
    };
    if (has(Holds::parts)) return Holds::parts;
    return has(Holds::whole_gradients) ? Holds::whole_gradients : Holds::whole;
  }

  bool reduced() const override {
    const bool first = stores_.front()->reduced();
    for (const auto& store : stores_)
      RIESZ_CHECK(store->reduced() == first,
                  "several: the gradients of some stores are reduced, and those "
                  "of others each worker's own terms; say the same to all (Zero::set_reducing)");
    return first;
  }

  const Partition& partition() const override { return partition_; }

 private:
  std::vector<std::shared_ptr<Store>> stores_;
  std::set<std::string> tied_;
  Partition partition_;
  std::vector<std::size_t> ends_;  // of each store's shares among all
};

}  // namespace

std::shared_ptr<Store> several(std::vector<std::shared_ptr<Store>> stores,
                               const std::vector<std::string>& tied) {
  return std::make_shared<Several>(std::move(stores), tied);
}

}  // namespace riesz
