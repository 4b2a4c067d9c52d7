// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/mpi_listener.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <sstream>
#include <utility>
#include <vector>

#include "riesz/comm/runtime.h"

namespace riesz::testing {
namespace {

constexpr char kSeparator = '\x1e';
constexpr std::chrono::seconds kPatience{5};

struct Failure {
  std::string text;
  std::vector<int> ranks;
};

/// All ranks' failures in the order of their first mention, alike ones together.
std::vector<Failure> folded(const std::vector<std::string>& by_rank) {
  std::vector<Failure> failures;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    std::istringstream texts(by_rank[rank]);
    for (std::string text; std::getline(texts, text, kSeparator);) {
      Failure* same = nullptr;
      for (Failure& failure : failures) {
        if (failure.text == text) same = &failure;
      }
      if (same == nullptr) same = &failures.emplace_back(Failure{text, {}});
      if (same->ranks.empty() || same->ranks.back() != static_cast<int>(rank)) {
        same->ranks.push_back(static_cast<int>(rank));
      }
    }
  }
  return failures;
}

std::string text_of(const ::testing::TestPartResult& part) {
  const std::string file = part.file_name() == nullptr ? "unknown file" : part.file_name();
  const std::string line = part.line_number() < 0 ? "" : ":" + std::to_string(part.line_number());
  return file + line + ": Failure\n" + part.message();
}

std::vector<std::string> gather_in_time(AllRanks& ranks, const std::string& mine, const std::string& where) {
  if (mine.empty()) return ranks.gather(mine);
  auto all = std::async(std::launch::async, [&] { return ranks.gather(mine); });
  if (all.wait_for(kPatience) == std::future_status::timeout) {
    std::fprintf(stderr,
                 "[rank %d of %d] failed %s, which other ranks do not leave; the job ends here.\n%s\n",
                 Runtime::rank(), Runtime::size(), where.c_str(), mine.c_str());
    std::fflush(stderr);
    std::_Exit(1);
  }
  return all.get();
}

}  // namespace

MpiListener::MpiListener(AllRanks& ranks, std::unique_ptr<::testing::TestEventListener> printer)
    : ranks_(ranks), printer_(std::move(printer)) {}

void MpiListener::share_failures(const std::string& where) {
  const std::vector<Failure> failures = folded(gather_in_time(ranks_, std::exchange(failures_, {}), where));
  if (failures.empty()) return;
  if (printer_ != nullptr) {
    for (const Failure& failure : failures) {
      std::printf("[ %s ] %s\n", ranks_text(failure.ranks).c_str(), failure.text.c_str());
    }
    std::fflush(stdout);
  }
  sharing_ = true;
  ADD_FAILURE() << "failed on some rank";
  sharing_ = false;
}

void MpiListener::OnTestPartResult(const ::testing::TestPartResult& part) {
  if (!part.failed() || sharing_) return;
  if (!failures_.empty()) failures_ += kSeparator;
  failures_ += text_of(part);
}

void MpiListener::OnTestProgramStart(const ::testing::UnitTest& program) {
  if (printer_ != nullptr) printer_->OnTestProgramStart(program);
}

void MpiListener::OnTestIterationStart(const ::testing::UnitTest& program, int iteration) {
  if (printer_ != nullptr) printer_->OnTestIterationStart(program, iteration);
}

void MpiListener::OnTestSuiteStart(const ::testing::TestSuite& suite) {
  if (printer_ != nullptr) printer_->OnTestSuiteStart(suite);
}

void MpiListener::OnTestStart(const ::testing::TestInfo& test) {
  if (printer_ != nullptr) printer_->OnTestStart(test);
}

void MpiListener::OnTestEnd(const ::testing::TestInfo& test) {
  share_failures(std::string(test.test_suite_name()) + "." + test.name());
  if (printer_ != nullptr) printer_->OnTestEnd(test);
}

void MpiListener::OnTestSuiteEnd(const ::testing::TestSuite& suite) {
  share_failures(suite.name());
  if (printer_ != nullptr) printer_->OnTestSuiteEnd(suite);
}

void MpiListener::OnTestIterationEnd(const ::testing::UnitTest& program, int iteration) {
  if (printer_ != nullptr) printer_->OnTestIterationEnd(program, iteration);
}

void MpiListener::OnTestProgramEnd(const ::testing::UnitTest& program) {
  share_failures("the end of the program");
  if (printer_ != nullptr) printer_->OnTestProgramEnd(program);
}

}  // namespace riesz::testing
