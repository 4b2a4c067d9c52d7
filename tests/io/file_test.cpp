// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "riesz/testing/error.h"
#include "temporary_folder.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

/// What has no end, or waits for who writes into it, is refused at once.
TEST(File, IsReadOnlyWhereItIsOne) {
  const TemporaryFolder folder;
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);

  for (const fs::path& path : {pipe, fs::path("/dev/zero"), folder.path()}) {
    EXPECT_ERROR(bytes_of_file(path), "cannot read", path.string(),
                 "it is a folder, a pipe or a device; name a file");
    EXPECT_ERROR(File::to_read(path), "it is a folder, a pipe or a device");
  }
  EXPECT_ERROR(bytes_of_file(folder.path() / "none"), "cannot read", "none\": No such file");
}

TEST(File, IsReadWholeUpToABound) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("file", "12345");

  EXPECT_EQ(bytes_of_file(file, 5), "12345");
  EXPECT_ERROR(bytes_of_file(file, 4), "file\": it has 5 bytes, and such a file has at most 4");
  fs::resize_file(file, std::uintmax_t{1} << 40);  // takes no room on the disk
  EXPECT_ERROR(bytes_of_file(file), "it has 1099511627776 bytes, and such a file has at most 1073741824");
}

TEST(File, IsAnotherWhereItWasReplaced) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("file", "12345");
  const FileState before = File::to_read(file).state();

  EXPECT_EQ(File::to_read(file).state(), before);
  fs::rename(folder.write("other", "12345"), file);
  EXPECT_NE(File::to_read(file).state(), before);
}

TEST(File, IsRenamedCopiedAndRemovedOrTheErrorNamesIt) {
  const TemporaryFolder folder;
  const fs::path a = folder.write("a", "text"), b = folder.path() / "b", none = folder.path() / "none" / "x";

  duplicate_file(a, b);
  EXPECT_EQ(folder.read("b"), "text");
  EXPECT_ERROR(duplicate_file(a, none), "cannot copy", a.string(), none.string(), "No such file");
  rename_file(b, folder.path() / "c");
  EXPECT_EQ(folder.read("c"), "text");
  EXPECT_ERROR(rename_file(a, none), "cannot rename", a.string(), none.string(), "No such file");
  EXPECT_TRUE(remove_tree(folder.path() / "c"));
  EXPECT_FALSE(remove_tree(folder.path() / "c"));
  EXPECT_ERROR(remove_tree(a / "below"), "cannot remove", (a / "below").string(), "Not a directory");
}

TEST(AbsolutePath, IsAnErrorInAFolderThatIsGone) {
  const fs::path here = fs::current_path();
  {
    const TemporaryFolder folder;
    fs::current_path(folder.path());
    EXPECT_EQ(absolute_path("x/../y"), fs::current_path() / "y");
  }
  EXPECT_ERROR(absolute_path("x"), "cannot say where \"x\" is", "the current folder has been removed");
  fs::current_path(here);
}

TEST(MakeFolders, MakesThoseThatItLiesIn) {
  const TemporaryFolder folder;

  make_folders(folder.path() / "a/b/../c/");
  make_folders(folder.path() / "a/c");

  EXPECT_TRUE(fs::is_directory(folder.path() / "a/c"));
  EXPECT_FALSE(fs::exists(folder.path() / "a/b"));
  folder.write("file", "");
  EXPECT_ERROR(make_folders(folder.path() / "file"), "cannot make the folder",
               "there is a file of that name");
  EXPECT_ERROR(make_folders(folder.path() / "file/x"), "cannot make the folder", "file/x\": Not a directory");
}

}  // namespace
}  // namespace riesz
