// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A process that is killed at any of its writes leaves the last good checkpoint, or the new one, whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dies_at.h"
#include "lying.h"
#include "riesz/io/atomic_file.h"
#include "riesz/io/checkpoint/background_save.h"
#include "riesz/io/checkpoint/folder.h"
#include "riesz/io/checkpoint/load.h"
#include "riesz/io/checkpoint/save.h"
#include "riesz/io/file.h"
#include "riesz/io/tokenizer/learn_tokenizer.h"
#include "riesz/io/tokenizer/tokenizer_files.h"
#include "shared_folder.h"
#include "temporary_folder.h"

namespace riesz::testing {
namespace {

/// In a child that dies at its n-th call; true if it came to its end before.
bool survives(int n, const std::function<void()>& program) {
  const pid_t child = ::fork();
  if (child == 0) {
    die_at(n);
    program();
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGKILL) << status;
  return WIFEXITED(status);
}

/// Saves three checkpoints, and dies at each call of the third in turn.
void expect_a_good_one(bool background) {
  const SharedFolder folder;
  const Partition one = first_alone();
  const auto save = [&](std::int64_t step, bool zero) {
    const auto path = folder.path() / checkpoint_name(step);
    const SaveOptions options{.file_bytes = 1500};
    const auto keep = [&] { keep_checkpoints(folder.path(), 2); };
    if (background) return BackgroundSave(path, one, Lying(one, zero).contents(), keep, options).wait();
    save_checkpoint(path, one, Lying(one, zero).contents(), options);
    keep();
  };
  save(1, true);
  save(2, true);
  const auto good = files_of(folder.path() / checkpoint_name(2));
  save(3, false);
  const auto next = files_of(folder.path() / checkpoint_name(3));
  int n = 0;
  for (bool alive = false; !alive; ++n) {
    std::filesystem::remove_all(folder.path() / checkpoint_name(3));
    alive = survives(n, [&] { save(3, false); });
    const auto found = checkpoints_in(folder.path());
    ASSERT_FALSE(found.empty());
    const auto& [step, path] = found.back();
    ASSERT_EQ(files_of(path), step == 3 ? next : good) << "killed at call " << n;
    Lying loaded(one, step == 3);
    load_checkpoint(path, one, loaded.state, loaded.shapes);
    if (step == 3) loaded.expect_filled();
    EXPECT_TRUE(!alive || step == 3);
  }
  EXPECT_GE(n, 50);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / ".checkpoint-3.unfinished"));
}

TEST(CheckpointKilled, LeavesTheLastGoodOne) { expect_a_good_one(false); }
TEST(CheckpointKilled, LeavesTheLastGoodOneInTheBackgroundToo) { expect_a_good_one(true); }

/// The same for one folder that is written again and again.
TEST(CheckpointKilled, LeavesOneWhereItReplacesIt) {
  const SharedFolder folder;
  const Partition one = first_alone();
  const auto save = [&](bool zero) {
    save_checkpoint(folder.path() / "x", one, Lying(one, zero).contents());
  };
  save(false);
  const auto next = files_of(folder.path() / "x");
  save(true);
  const auto good = files_of(folder.path() / "x");
  int n = 0;
  for (bool alive = false; !alive; ++n) {
    save(true);
    alive = survives(n, [&] { save(false); });
    const auto found = files_of(folder.path() / "x");
    ASSERT_TRUE(found == next || (!alive && found == good)) << "killed at call " << n;
  }
  EXPECT_GE(n, 15);
}

/// A power failure leaves the names of new folders, also of those that they lie in.
TEST(CheckpointKilled, HasTheNamesOfItsFoldersOnTheDisk) {
  const TemporaryFolder temporary;
  const std::filesystem::path folder = std::filesystem::canonical(temporary.path());
  const auto expect_synced = [&](const std::string& name, const std::function<void()>& made) {
    const std::vector<std::string> synced = synced_by(made);
    for (const std::filesystem::path& parent : {folder, folder / name, folder / name / "b"})
      EXPECT_EQ(std::count(synced.begin(), synced.end(), parent.string()), 1) << parent;
  };
  expect_synced("a", [&] { make_folders(folder / "a/b/c"); });
  expect_synced("tokenizer", [&] {
    write_tokenizer(learn_tokenizer({"the thesis"}, {.vocabulary = 257}), folder / "tokenizer/b/c");
  });
}

/// A power failure leaves a whole file under its name: its bytes come to the disk first, then the name.
TEST(CheckpointKilled, HasAFilesBytesAndNameOnTheDisk) {
  const TemporaryFolder temporary;
  const std::filesystem::path folder = std::filesystem::canonical(temporary.path());
  const std::vector<std::string> synced = synced_by([&] { write_file(folder / "report.txt", "text"); });
  ASSERT_EQ(synced.size(), 2u);
  EXPECT_THAT(synced[0], ::testing::StartsWith((folder / "report.txt.").string()));
  EXPECT_EQ(synced[1], folder.string());
}

}  // namespace
}  // namespace riesz::testing
