// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "riesz/testing/all_ranks.h"

namespace riesz::testing {

/// Carries every rank's failures to the verdict. After each test the ranks exchange their failures: rank 0
/// prints them, alike ones once, with the ranks that saw them; and a test that failed on any rank fails on
/// all.
///
/// A rank that left a failed test early waits here for the others. If they stay away (they wait for it in a
/// call of the test), it tells its failures itself and ends the job.
class MpiListener final : public ::testing::EmptyTestEventListener {
 public:
  /// `printer`: gtest's own on rank 0, nullptr on the others.
  MpiListener(AllRanks& ranks, std::unique_ptr<::testing::TestEventListener> printer);

  /// This rank's failures that are not told yet.
  const std::string& untold() const { return failures_; }

  void OnTestProgramStart(const ::testing::UnitTest& program) override;
  void OnTestIterationStart(const ::testing::UnitTest& program, int iteration) override;
  void OnTestSuiteStart(const ::testing::TestSuite& suite) override;
  void OnTestStart(const ::testing::TestInfo& test) override;
  void OnTestPartResult(const ::testing::TestPartResult& part) override;
  void OnTestEnd(const ::testing::TestInfo& test) override;
  void OnTestSuiteEnd(const ::testing::TestSuite& suite) override;
  void OnTestIterationEnd(const ::testing::UnitTest& program, int iteration) override;
  void OnTestProgramEnd(const ::testing::UnitTest& program) override;

 private:
  void share_failures(const std::string& where);

  AllRanks& ranks_;
  std::unique_ptr<::testing::TestEventListener> printer_;
  std::string failures_;
  bool sharing_ = false;
};

}  // namespace riesz::testing
