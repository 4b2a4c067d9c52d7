// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/byte_text.h"

#include <gtest/gtest.h>

#include "riesz/io/file.h"
#include "riesz/testing/error.h"
#include "temporary_folder.h"

namespace riesz {
namespace {

using testing::TemporaryFolder;

TEST(BytesOfFile, AreOfFilesAlone) {
  const TemporaryFolder folder;
  EXPECT_EQ(bytes_of_file(folder.write("a", std::string("b\0c", 3))), std::string("b\0c", 3));
  EXPECT_ERROR(bytes_of_file(folder.path()), "it is a folder, a pipe or a device; name a file");
  EXPECT_ERROR(bytes_of_file("/dev/null"), "cannot read \"/dev/null\": it is a folder, a pipe or a device");
}

TEST(ReadBytes, TakesAFileAsItIs) {
  const TemporaryFolder folder;
  const std::string bytes("\0\xff\r\n\x1a text", 10);

  EXPECT_EQ(read_bytes(folder.write("binary", bytes)), bytes);
}

TEST(ReadBytes, TakesAFoldersTextsByPath) {
  const TemporaryFolder folder;
  folder.write("b.md", "3");
  folder.write("c.txt", "4");
  folder.write("a/z.cpp", "2");
  folder.write("a/a.h", "1");
  folder.write("a/picture.png", "no text");
  folder.write(".git/config.md", "hidden");
  folder.write("build/CMakeCache.txt", "");
  folder.write("build/made.cpp", "a build tree");
  folder.write("runs/first/config.toml", "written by a training");
  folder.write("runs/first/loss.csv", "");
  std::filesystem::create_symlink(".loop", folder.path() / ".loop");  // which nobody can read

  EXPECT_EQ(read_bytes(folder.path()), "1234");
}

TEST(ReadBytes, NamesWhatIsMissingOrEmpty) {
  const TemporaryFolder folder;

  EXPECT_ERROR(read_bytes(folder.path() / "none"), "there is no file or folder", "none");
  EXPECT_ERROR(read_bytes(folder.write("empty", "")), "empty\"", "is empty");
  EXPECT_ERROR(read_bytes(folder.path()), "has no texts");
  EXPECT_ERROR(read_bytes("/dev/zero"), "/dev/zero", "neither a file nor a folder");
  EXPECT_ERROR(read_bytes("no\x1b[31mne"), "\"no\\u001b[31mne\"");
  std::filesystem::create_symlink("loop.md", folder.path() / "loop.md");
  EXPECT_ERROR(read_bytes(folder.path()), "cannot read all of the folder",
               "loop.md\": Too many levels of symbolic links; remove it");
  EXPECT_ERROR(read_bytes(folder.path() / "loop.md"), "cannot read", "loop.md\": Too many levels");
}

}  // namespace
}  // namespace riesz
