// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/folder_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "no_locks.h"
#include "riesz/io/lock_holder.h"
#include "riesz/testing/error.h"
#include "temporary_folder.h"

namespace riesz {
namespace {

using testing::TemporaryFolder;

TEST(FolderLock, KeepsASecondJobOut) {
  const TemporaryFolder folder;
  {
    const FolderLock lock(folder.path());
    EXPECT_ERROR(FolderLock(folder.path()), folder.path().string(), "is in use by another job: process",
                 std::to_string(::getpid()), "choose another folder");
    EXPECT_ERROR(FolderLock(folder.path()), "is in use");  // the one refused has let the holder's be
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_NO_THROW(FolderLock(folder.path()));
}

TEST(FolderLock, OfAJobThatWasKilledLocksNothing) {
  const TemporaryFolder folder;
  const pid_t other = ::fork();
  if (other == 0) {
    const FolderLock lock(folder.path());
    ::_exit(0);  // without its destructor
  }
  int status = -1;
  ::waitpid(other, &status, 0);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(std::filesystem::exists(folder.path() / ".lock"));

  EXPECT_NO_THROW(FolderLock(folder.path()));
}

/// Writes what a process would that cannot be asked about.
void write_holder(const TemporaryFolder& folder, const std::string& line) {
  std::ofstream(folder.path() / ".lock.held") << line;
}

TEST(FolderLock, WithoutSystemLocksKeepsASecondJobOut) {
  const testing::NoLocks none;
  const TemporaryFolder folder;
  {
    const FolderLock lock(folder.path());
    EXPECT_ERROR(FolderLock(folder.path()), folder.path().string(), "is in use by another job: process",
                 std::to_string(::getpid()),
                 "choose another folder; the file system has no locks: if that job", "has ended, remove",
                 ".lock.held");
    EXPECT_ERROR(FolderLock(folder.path()), "is in use");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_NO_THROW(FolderLock(folder.path()));
}

TEST(FolderLock, WithoutSystemLocksOfAKilledJobOfThisHostLocksNothing) {
  const testing::NoLocks none;
  const TemporaryFolder folder;
  const pid_t other = ::fork();
  if (other == 0) {
    const FolderLock lock(folder.path());
    ::_exit(0);  // without its destructor
  }
  int status = -1;
  ::waitpid(other, &status, 0);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(std::filesystem::exists(folder.path() / ".lock.held"));

  EXPECT_NO_THROW(FolderLock(folder.path()));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(FolderLock, WithoutSystemLocksANumberThatIsAnotherProcessNowLocksNothing) {
  const testing::NoLocks none;
  const TemporaryFolder folder;
  std::string line = lock_holder();
  const std::string start = ", started at ";
  line.insert(line.find(start) + start.size(), "9");
  write_holder(folder, line);
  EXPECT_NO_THROW(FolderLock(folder.path()));
}

TEST(FolderLock, WithoutSystemLocksNobodyJudgesAnotherHostsProcess) {
  const testing::NoLocks none;
  const TemporaryFolder folder;
  write_holder(folder, "process 99999999 on node2, started at 7 of boot another pid:[1]");
  EXPECT_ERROR(FolderLock(folder.path()), "is in use by another job: process 99999999 on node2;");
  write_holder(folder, "");  // as it is between being made and being written
  EXPECT_ERROR(FolderLock(folder.path()), "is in use by another job: another process;");
  EXPECT_TRUE(std::filesystem::exists(folder.path() / ".lock.held"));
}

TEST(FolderLock, NamesTheFileThatCannotBeMade) {
  const TemporaryFolder folder;
  EXPECT_ERROR(FolderLock(folder.path() / "none"), "cannot write", "none/.lock");
}

}  // namespace
}  // namespace riesz
