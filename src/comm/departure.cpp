// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/departure.h"

#include <utility>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/comm/progress.h"
#include "riesz/comm/recording/strand.h"

namespace riesz {
namespace {

class Departure final : public Activity {
 public:
  Departure(std::string operation, std::int64_t bytes, std::unique_ptr<Exchange> sends)
      : operation_(std::move(operation)), bytes_(bytes), sends_(std::move(sends)) {
    Counters::instance().keep(bytes_);
  }
  ~Departure() override {
    if (sends_) Counters::instance().keep(-bytes_);
  }

 private:
  bool go_on() override {
    if (!sends_->done()) return false;
    sends_.reset();
    Counters::instance().keep(-bytes_);
    return true;
  }
  const std::string& operation() const override { return operation_; }
  std::vector<int> waits_for() const override { return sends_ ? sends_->unfinished() : std::vector<int>{}; }

  std::string operation_;
  std::int64_t bytes_;
  std::unique_ptr<Exchange> sends_;
};

}  // namespace

void depart(const std::string& operation, std::int64_t bytes, std::unique_ptr<Exchange> sends) {
  Strand apart;
  if (const Strand::Scope here(apart, true); sends->done()) return;
  advance_in_background(std::make_shared<Departure>(operation, bytes, std::move(sends)));
}

}  // namespace riesz
