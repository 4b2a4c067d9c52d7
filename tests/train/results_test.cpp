// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <sstream>
#include <vector>

#include "../io/temporary_folder.h"
#include "riesz/testing/error.h"
#include "riesz/train/config/load_config.h"
#include "riesz/train/loop/ignored_signals.h"
#include "riesz/train/loop/stop_signals.h"
#include "riesz/train/report/event_file.h"

namespace riesz {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TemporaryFolder;
namespace fs = std::filesystem;

Config run_in(const TemporaryFolder& folder) {
  Config config;
  config.output.folder = (folder.path() / "run").string();
  config.output.progress = "log";
  return config;
}

Row row(std::int64_t step) { return {step, 1.0, 2.0, 0, 0, 10, 1.0}; }

std::string history(std::int64_t steps) {
  std::string text = csv_header();
  for (std::int64_t step = 1; step <= steps; ++step) text += csv_line(row(step));
  return text;
}

constexpr const char* kEvents = "run/events.out.tfevents.0.riesz";

/// Of an event file, each whole.
std::int64_t records_in(std::string_view text) {
  std::int64_t records = 0;
  for (; !text.empty(); ++records) {
    if (text.size() < 16) return -1;
    const std::size_t length =
        static_cast<unsigned char>(text[0]) + 256 * static_cast<unsigned char>(text[1]);
    if (text.size() < length + 16 || tf_record(text.substr(12, length)) != text.substr(0, length + 16))
      return -1;
    text.remove_prefix(length + 16);
  }
  return records;
}

/// Of the last record of an event file, in seconds.
double last_time_in(std::string_view text) {
  std::string_view last;
  while (!text.empty()) {
    last = text.substr(12, static_cast<unsigned char>(text[0]));
    text.remove_prefix(last.size() + 16);
  }
  double time = 0;
  std::memcpy(&time, last.data() + 1, sizeof time);
  return time;
}

/// No file of this process can be longer than `bytes`, as on a full disk, as long as this lives.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit less{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &less);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  const IgnoredSignals ignored_;
  rlimit before_{};
};

/// What no config.toml can say is refused before anything is made.
TEST(SavedConfig, IsOneThatReadsBack) {
  const TemporaryFolder folder;
  Config config = run_in(folder);
  config.output.folder = (folder.path() / "r\xc3\xa9").string();
  const Config again = load_config(folder.write("config.toml", saved_config(config)), {});
  EXPECT_EQ(again.output.folder, config.output.folder);
  config.output.folder = (folder.path() / "r\xe9").string();
  EXPECT_ERROR(saved_config(config), "output.folder is \"", "r\\xe9\", which is no UTF-8 text",
               "rename the folder");
}

TEST(Results, StepsAndNotesAreNoReport) {
  const TemporaryFolder folder;
  std::ostringstream report, notes;
  Results results(run_in(folder), DataUnit(), report, notes);

  results.step(row(1));
  results.say("a note");
  results.finish({row(1)}, {"what it can do"}, "the summary\n");
  results.conclude("where it lies");

  EXPECT_THAT(notes.str(), AllOf(HasSubstr("step 1/"), HasSubstr("a note\n"), Not(HasSubstr("summary"))));
  EXPECT_THAT(report.str(),
              AllOf(HasSubstr("what it can do"), HasSubstr("the summary"), Not(HasSubstr("step 1/"))));
  EXPECT_THAT(report.str(), ::testing::EndsWith("events.out.tfevents.0.riesz\nwhere it lies\n"));
}

TEST(Results, AReportThatCannotBePrintedIsAnErrorOnceAllIsWritten) {
  const TemporaryFolder folder;
  std::ostringstream notes;
  std::ostream nowhere(nullptr);
  Results results(run_in(folder), DataUnit(), nowhere, notes);

  results.step(row(1));
  results.finish({row(1)}, {"what it can do"}, "the summary\n");

  EXPECT_THAT(folder.read("run/report.txt"), HasSubstr("the summary"));
  EXPECT_TRUE(fs::exists(folder.path() / "run/loss.svg"));
  EXPECT_ERROR(results.conclude("where it lies"), "cannot write to standard output: Input/output error",
               "the report is in", "report.txt");
}

TEST(Results, ReplaceThoseOfAnEarlierRunWhenAStepHasSucceeded) {
  const TemporaryFolder folder;
  const std::vector<std::string> files{"run/config.toml", "run/loss.csv",      "run/loss.svg",
                                       "run/report.txt",  "run/metrics.jsonl", kEvents};
  for (const std::string& file : files) folder.write(file, "earlier");
  std::ostringstream out;

  Results results(run_in(folder), DataUnit(), out, out);
  for (const std::string& file : files) EXPECT_EQ(folder.read(file), "earlier") << file;
  results.step(row(1));

  EXPECT_EQ(folder.read(files[1]), history(1));
  EXPECT_EQ(folder.read(files[4]), json_lines().of({row(1)}));
  EXPECT_EQ(records_in(folder.read(kEvents)), 1 + 1);
  EXPECT_THAT(folder.read(files[0]), HasSubstr("[train]"));
  EXPECT_FALSE(fs::exists(folder.path() / files[2]));  // of another run than the history beside it
  EXPECT_FALSE(fs::exists(folder.path() / files[3]));
  results.finish({row(1)}, {"what it can do"}, "the summary\n");
  EXPECT_THAT(folder.read(files[3]), HasSubstr("what it can do\n"));
  EXPECT_THAT(out.str(), HasSubstr(folder.read(files[3])));
  EXPECT_THAT(folder.read(files[2]), HasSubstr("<svg"));
}

/// No file has a row twice, whatever steps an earlier run made after the checkpoint.
TEST(Results, GoOnWhereTheEarlierRunIsResumed) {
  const TemporaryFolder folder;
  std::ostringstream out;
  for (const std::int64_t from : {0, 3, 3}) {
    Results results(run_in(folder), DataUnit(), out, out);
    EXPECT_EQ(results.resume(from).size(), static_cast<std::size_t>(from));
    for (std::int64_t step = from + 1; step <= 5; ++step) results.step(row(step));
  }
  EXPECT_EQ(folder.read("run/loss.csv"), history(5));
  EXPECT_EQ(folder.read("run/metrics.jsonl"), json_lines().of({row(1), row(2), row(3), row(4), row(5)}));
  EXPECT_EQ(records_in(folder.read(kEvents)), 1 + 5);
}

/// A damaged record stops nobody: it is repaired, and what was there is kept.
TEST(Results, GoOnFromADamagedHistory) {
  const TemporaryFolder folder;
  std::ostringstream out;
  {
    Results results(run_in(folder), DataUnit(), out, out);
    for (std::int64_t step = 1; step <= 5; ++step) results.step(row(step));
  }
  const std::string damaged =
      csv_header() + csv_line(row(1)) + "damaged\n" + csv_line(row(1)) + csv_line(row(3));
  for (const char* kept : {"run/loss.csv.kept", "run/loss.csv.kept.2"}) {
    folder.write("run/loss.csv", damaged);
    Results results(run_in(folder), DataUnit(), out, out);
    EXPECT_EQ(results.resume(3).size(), 3u);
    EXPECT_EQ(folder.read("run/loss.csv"), damaged) << "nothing changes before the first step";
    for (std::int64_t step = 4; step <= 5; ++step) results.step(row(step));
    EXPECT_EQ(folder.read(kept), damaged);
    EXPECT_EQ(folder.read("run/loss.csv"), history(5));
    EXPECT_EQ(folder.read("run/metrics.jsonl"), json_lines().of({row(1), row(2), row(3), row(4), row(5)}));
  }
  EXPECT_THAT(out.str(), HasSubstr("run/loss.csv\", line 3: it is no row: \"damaged\"\n"));
  EXPECT_THAT(out.str(), HasSubstr("run/loss.csv\" has no row of step 2; taken from \""));
  EXPECT_THAT(out.str(), HasSubstr("as it was, it is kept as \""));
}

/// What is no file is neither waited for nor an error.
TEST(Results, GoOnFromAHistoryThatIsNoFile) {
  for (const char* what : {"a folder", "a pipe"}) {
    const TemporaryFolder folder;
    std::ostringstream out;
    {
      Results results(run_in(folder), DataUnit(), out, out);
      for (std::int64_t step = 1; step <= 5; ++step) results.step(row(step));
    }
    fs::remove(folder.path() / "run/loss.csv");
    if (what == std::string("a folder")) {
      folder.write("run/loss.csv/inside", "");
    } else {
      ASSERT_EQ(::mkfifo((folder.path() / "run/loss.csv").c_str(), 0600), 0);
    }
    Results results(run_in(folder), DataUnit(), out, out);
    EXPECT_EQ(results.resume(3).size(), 3u) << "from metrics.jsonl";
    for (std::int64_t step = 4; step <= 5; ++step) results.step(row(step));
    EXPECT_EQ(folder.read("run/loss.csv"), history(5));
    EXPECT_TRUE(fs::exists(folder.path() / "run/loss.csv.kept"));
    EXPECT_THAT(out.str(), HasSubstr("run/loss.csv\": it is a folder, a pipe or a device"));
    EXPECT_THAT(out.str(), HasSubstr("the record goes on without it"));
  }
}

/// The seconds of a row go on from the earlier run's, and its time in TensorBoard is when it was made.
TEST(Results, TellTensorBoardWhenEachStepWasMade) {
  const TemporaryFolder folder;
  std::ostringstream out;
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  };
  Row late = row(1);
  late.seconds = 5000;
  Results(run_in(folder), DataUnit(), out, out).step(late);
  Results again(run_in(folder), DataUnit(), out, out);
  again.resume(1);
  late.step = 2;
  again.step(late);
  EXPECT_NEAR(last_time_in(folder.read(kEvents)), now(), 600);
}

TEST(Results, RefuseAFolderInWhichAnotherJobWrites) {
  const TemporaryFolder folder;
  std::ostringstream out;
  const Results results(run_in(folder), DataUnit(), out, out);

  EXPECT_ERROR(Results(run_in(folder), DataUnit(), out, out), "run\" is in use by another job");
}

TEST(Results, AreKeptAsAConfigurationThatTrainsTheSameFromAnywhere) {
  const TemporaryFolder folder;
  std::ostringstream out;
  Config config = run_in(folder);
  config.data.task = "text";
  config.data.text = "some/../data.md";
  config.output.folder = fs::relative(config.output.folder).string();

  Results(config, DataUnit(), out, out).step(row(1));
  const Config written = load_config(folder.path() / "run" / "config.toml", {});

  EXPECT_EQ(written.data.text, (fs::current_path() / "data.md").string());
  EXPECT_EQ(written.output.folder, (folder.path() / "run").string());

  config.data.task = "tokens";
  config.data.tokens = "a=3,some/../b=1";
  Results(config, DataUnit(), out, out).step(row(1));
  const std::string here = fs::current_path().string();
  EXPECT_EQ(load_config(folder.path() / "run" / "config.toml", {}).data.tokens,
            here + "/a=3," + here + "/b=1");
}

TEST(Results, OnAFullDiskTheReportIsPrintedFirst) {
  const TemporaryFolder folder;
  std::ostringstream out;
  Results results(run_in(folder), DataUnit(), out, out);
  results.step(row(1));
  const FullDisk full(100);

  EXPECT_ERROR(results.finish({row(1)}, {"what it can do"}, "the summary\n"), "cannot write", "report.txt",
               "File too large");
  EXPECT_THAT(out.str(), HasSubstr("what it can do"));
  EXPECT_THAT(out.str(), HasSubstr("the summary"));
}

TEST(Results, OnADiskThatIsFullForAWhileTrainingGoesOn) {
  const TemporaryFolder folder;
  std::ostringstream out;
  Results results(run_in(folder), DataUnit(), out, out);
  std::vector<Row> rows;
  for (std::int64_t step = 1; step <= 9; ++step) {
    rows.push_back(row(step));
    std::optional<FullDisk> full;
    if (step == 5) full.emplace(history(4).size() + 3);
    results.step(rows.back());
  }
  EXPECT_THAT(out.str(), HasSubstr("loss.csv\": File too large (this process may write files of at most "));
  EXPECT_THAT(out.str(), HasSubstr(" bytes; raise it by ulimit -f); training goes on"));

  results.finish(rows, {}, "");

  EXPECT_EQ(folder.read("run/loss.csv"), history(9));
  EXPECT_EQ(folder.read("run/metrics.jsonl"), json_lines().of(rows));
  EXPECT_EQ(records_in(folder.read(kEvents)), 1 + 9);
}

TEST(Results, OnAFullDiskARunDoesNotBegin) {
  const TemporaryFolder folder;
  folder.write("run/report.txt", "earlier");
  std::ostringstream out;
  Results results(run_in(folder), DataUnit(), out, out);
  const FullDisk full(10);

  EXPECT_ERROR(results.step(row(1)), "cannot write", "File too large");
  EXPECT_EQ(folder.read("run/report.txt"), "earlier");
}

/// How a process ends to whom SIGUSR1 comes so often while StopSignals live: 0, or the signal.
int end_after(int times, std::chrono::milliseconds patience) {
  const pid_t child = ::fork();
  if (child == 0) {
    const StopSignals signals(patience);
    for (int i = 0; i < times; ++i) {
      std::raise(SIGUSR1);
      ::usleep(2000);
    }
    ::_exit(StopSignals::came() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(StopSignals, EndItWhenTheyComeLaterOrAThirdTime) {
  EXPECT_EQ(end_after(2, std::chrono::minutes(1)), 0);
  EXPECT_EQ(end_after(3, std::chrono::minutes(1)), SIGUSR1);
  EXPECT_EQ(end_after(2, std::chrono::milliseconds(1)), SIGUSR1);
}

TEST(StopSignals, AreRememberedAsLongAsItLives) {
  static int others = 0;
  const auto usual = std::signal(SIGUSR1, [](int) { ++others; });
  {
    const StopSignals signals;
    EXPECT_FALSE(StopSignals::came());
    std::raise(SIGUSR1);
    EXPECT_TRUE(StopSignals::came());
    EXPECT_EQ(others, 0);
  }
  std::raise(SIGUSR1);
  EXPECT_EQ(others, 1);
  std::signal(SIGUSR1, usual);
  const StopSignals signals;
  EXPECT_FALSE(StopSignals::came());
}

#if defined(__x86_64__)
/// Sends SIGUSR1 to this thread, with the stack pointer at `there` as it comes.
void signal_with_stack_at(void* there) {
  long call = SYS_tgkill;
  asm volatile("mov %%rsp, %%r12\n\tmov %[there], %%rsp\n\tsyscall\n\tmov %%r12, %%rsp"
               : "+a"(call)
               : [there] "r"(there), "D"(long(::getpid())), "S"(::syscall(SYS_gettid)), "d"(long(SIGUSR1))
               : "rcx", "r11", "r12", "memory");
}

// As a kernel of oneDNN keeps its operands there.
TEST(StopSignals, WriteNothingWhereTheStackPointerPoints) {
  std::vector<unsigned char> operands(64 << 10, 7);
  const StopSignals signals;
  signal_with_stack_at(operands.data() + (48 << 10));
  EXPECT_TRUE(StopSignals::came());
  EXPECT_EQ(std::count(operands.begin(), operands.end(), 7), 64 << 10);
}
#endif

}  // namespace
}  // namespace riesz
