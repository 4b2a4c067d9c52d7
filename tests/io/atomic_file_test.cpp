// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "riesz/testing/error.h"
#include "temporary_folder.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(WriteFile, WritesAllBytesAndNothingElse) {
  const TemporaryFolder folder;
  const std::string bytes("a\0b\n\xff", 5);

  write_file(folder.path() / "new", bytes);

  EXPECT_EQ(folder.read("new"), bytes);
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(WriteFile, ReplacesAFileByAnother) {
  const TemporaryFolder folder;
  const fs::path path = folder.write("file", "a long old text");
  struct stat before {
  }, after{};
  ::stat(path.c_str(), &before);
  const fs::path other = folder.path() / "link";
  fs::create_hard_link(path, other);

  write_file(path, "new");

  ::stat(path.c_str(), &after);
  EXPECT_EQ(folder.read("file"), "new");
  EXPECT_EQ(folder.read("link"), "a long old text");  // the old file was never written into
  EXPECT_NE(before.st_ino, after.st_ino);
}

TEST(WriteFile, WritesTheFileThatALinkLeadsTo) {
  const TemporaryFolder folder;
  folder.write("file", "old");
  fs::create_symlink("file", folder.path() / "link");
  fs::create_symlink("link", folder.path() / "further");
  fs::create_symlink("not_yet", folder.path() / "dangling");

  write_file(folder.path() / "further", "new");
  write_file(folder.path() / "dangling", "first");

  EXPECT_TRUE(fs::is_symlink(folder.path() / "further"));
  EXPECT_TRUE(fs::is_symlink(folder.path() / "link"));
  EXPECT_TRUE(fs::is_symlink(folder.path() / "dangling"));
  EXPECT_EQ(folder.read("file"), "new");
  EXPECT_EQ(folder.read("not_yet"), "first");
  EXPECT_EQ(entries(folder.path()), 5u);
}

TEST(WriteFile, LinksInACircleAreAnError) {
  const TemporaryFolder folder;
  fs::create_symlink("two", folder.path() / "one");
  fs::create_symlink("one", folder.path() / "two");

  EXPECT_ERROR(write_file(folder.path() / "one", "x"), "cannot write", "symbolic links");
}

TEST(WriteFile, WritesIntoAPipeAndLeavesItAPipe) {
  const TemporaryFolder folder;
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink("pipe", folder.path() / "link");
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);

  write_file(pipe, "by name");
  write_file(folder.path() / "link", ", by a link");

  char text[32] = {};
  EXPECT_EQ(::read(reader, text, sizeof text - 1), 18);
  EXPECT_STREQ(text, "by name, by a link");
  ::close(reader);
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(entries(folder.path()), 2u);
}

TEST(WriteFile, FailureNamesThePathAndLeavesNothing) {
  const TemporaryFolder folder;
  folder.write("file", "");
  fs::create_directory(folder.path() / "taken");
  folder.write("taken/inside", "");

  EXPECT_ERROR(write_file(folder.path() / "missing" / "file", "x"), "cannot write", "missing/file",
               "No such file");
  EXPECT_ERROR(write_file(folder.path() / "taken", "x"), "cannot write", "taken");
  EXPECT_EQ(entries(folder.path()), 2u);
}

TEST(CheckFolder, AcceptsOneThatIsThereOrCouldBe) {
  const TemporaryFolder folder;

  EXPECT_NO_THROW(check_folder_can_be_written(folder.path()));
  EXPECT_NO_THROW(check_folder_can_be_written(folder.path() / "a" / "b" / "c"));
  EXPECT_EQ(entries(folder.path()), 0u);
  EXPECT_NO_THROW(check_folder_can_be_written("relative"));
  EXPECT_FALSE(fs::exists("relative"));
}

TEST(CheckFolder, NamesTheFileInTheWay) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("file", "");

  EXPECT_ERROR(check_folder_can_be_written(file), file.string(), "is no folder", "choose another");
  EXPECT_ERROR(check_folder_can_be_written(file / "a" / "b"), "file/a/b", "is no folder");
}

TEST(CheckFolder, NamesTheFolderWithoutPermission) {
  // The superuser may write everywhere, but nobody may make folders in /proc.
  const fs::path forbidden = ::geteuid() == 0 ? "/proc/self/riesz" : "/riesz-results";
  EXPECT_ERROR(check_folder_can_be_written(forbidden), forbidden.string());
}

}  // namespace
}  // namespace riesz
