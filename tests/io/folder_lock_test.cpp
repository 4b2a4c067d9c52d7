// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/folder_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "riesz/testing/error.h"
#include "temporary_folder.h"

namespace riesz {
namespace {

using testing::TemporaryFolder;

TEST(FolderLock, KeepsASecondJobOut) {
  const TemporaryFolder folder;
  {
    const FolderLock lock(folder.path());
    EXPECT_TRUE(lock.keeps_others_out());
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
    ::_exit(lock.keeps_others_out() ? 0 : 1);  // without its destructor
  }
  int status = -1;
  ::waitpid(other, &status, 0);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(std::filesystem::exists(folder.path() / ".lock"));

  EXPECT_TRUE(FolderLock(folder.path()).keeps_others_out());
}

TEST(FolderLock, NamesTheFileThatCannotBeMade) {
  const TemporaryFolder folder;
  EXPECT_ERROR(FolderLock(folder.path() / "none"), "cannot write", "none/.lock");
}

}  // namespace
}  // namespace riesz
