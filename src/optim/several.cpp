// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
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
  explicit Several(std::vector<std::shared_ptr<Store>> stores)
      : stores_(std::move(stores)), partition_(union_of(stores_)) {}

  std::vector<Share> shares() override {
    std::vector<Share> all;
    std::set<std::string> before;
    std::size_t part = 0;
    for (const auto& store : stores_) {
      std::set<std::string> names;
      for (Share& share : store->shares()) {
        const std::string& name = share.parameter.name();
        share.counted = share.counted && !before.contains(name);
        share.part += part;
        names.insert(name);
        all.push_back(std::move(share));
      }
      before.merge(names);
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

  State state() override {
    State all;
    std::set<std::string> before;  // as shares are counted
    for (const auto& store : stores_) {
      std::set<std::string> names;
      for (StateView& view : store->state()) {
        view.counted = view.counted && !before.contains(view.name);
        names.insert(view.name);
        all.push_back(std::move(view));
      }
      before.merge(names);
    }
    return all;
  }

  void zero_gradients() override {
    for (const auto& store : stores_) store->zero_gradients();
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
  Partition partition_;
};

}  // namespace

std::shared_ptr<Store> several(std::vector<std::shared_ptr<Store>> stores) {
  return std::make_shared<Several>(std::move(stores));
}

}  // namespace riesz
