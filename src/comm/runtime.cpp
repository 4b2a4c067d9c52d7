// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/runtime.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "riesz/comm/communicator.h"
#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/error.h"
#include "riesz/comm/failure_note.h"
#include "riesz/comm/late_checks.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/comm/out_of_memory.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/progress/watchdog.h"
#include "riesz/comm/start/launcher.h"
#include "riesz/comm/start/start_up.h"
#include "riesz/comm/status_board.h"
#include "riesz/comm/transports/mpi_check.h"
#include "riesz/comm/transports/mpi_left.h"
#include "riesz/comm/transports/router.h"
#include "riesz/comm/untaken.h"
#include "riesz/comm/wait.h"

namespace riesz {
namespace {

int world_rank = 0;
int world_size = 1;
bool started = false;
pid_t process = 0;  // that has started
std::mutex failure_note_mutex;
std::function<std::string()> failure_note;  // under the mutex

/// A child that the program forked has a copy of everything here, and is no worker: it has none of this
/// process's threads, and what it would tell others is not so.
bool in_child() { return started && getpid() != process; }

/// Waits until all workers have come to their ends, and sends those who still work what they are owed. After
/// that MPI_Finalize waits for nobody who still works.
void wait_for_all() {
  MPI_Request all = MPI_REQUEST_NULL;
  RIESZ_MPI(MPI_Ibarrier(MPI_COMM_WORLD, &all));
  const auto here = [&] {
    Communicator::world().progress();
    int done = 0;
    RIESZ_MPI(MPI_Test(&all, &done, MPI_STATUS_IGNORE));
    return done != 0;
  };
  wait_until("the end of the program", here, StatusBoard::unfinished);
}

std::string prefix() { return concat("[rank ", world_rank, " of ", world_size, "] "); }

/// On a line of their own.
std::string text_of_failure_note() {
  std::function<std::string()> note;
  {
    const std::lock_guard lock(failure_note_mutex);
    note = failure_note;
  }
  try {
    return note ? note() + "\n" : "";
  } catch (...) {
    return "";  // the job ends for another reason, which is said
  }
}

/// Asks for them for a second at most: what they look at, such as a disk, may hang.
void print_failure_note() {
  struct Answer {
    std::mutex mutex;
    std::condition_variable came;
    std::optional<std::string> text;
  };
  const auto answer = std::make_shared<Answer>();
  try {
    std::thread([answer] {
      std::string text = text_of_failure_note();
      const std::lock_guard lock(answer->mutex);
      answer->text = std::move(text);
      answer->came.notify_all();
    }).detach();
  } catch (const std::system_error&) {
    return;
  }
  std::unique_lock lock(answer->mutex);
  answer->came.wait_for(lock, std::chrono::seconds(1), [&] { return answer->text.has_value(); });
  if (!answer->text) return;
  std::fputs(answer->text->c_str(), stderr);
  std::fflush(stderr);
}

/// A worker that leaves by `exit` sends nothing more and ends MPI for nobody.
void say_so_at_exit(int status, void* /*unused*/) {
  if (in_child()) leave(status);  // what was made here is its parent's to end
  if (started)
    end_job(concat(prefix(), "the program called exit(", status,
                   "), while other workers may wait for this one; return from main instead"));
}

void check_joined(std::optional<int> ranks) {
  const std::string wrong = launch_problem(ranks);
  RIESZ_CHECK(wrong.empty(), wrong);
}

/// The beginning of a text of a library's, which may quote any input.
std::string beginning_of(const std::string& text) {
  constexpr std::size_t kMost = 2000;
  return text.size() <= kMost ? text : concat(text.substr(0, kMost), "… (", text.size(), " bytes)");
}

/// What is said of an exception, without the stack that LibTorch appends.
std::string said_of(const std::exception_ptr& thrown) {
  const std::string layer = LayerScope::left_by_exception();
  const std::string where = layer.empty() ? "" : "; in layer " + layer;
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    return error.what() + where;
  } catch (const c10::Error& error) {
    return prefix() + beginning_of(error.what_without_backtrace()) + where;
  } catch (const std::system_error& error) {
    // So say LibTorch's and others' threads that cannot be started.
    const bool no_thread = error.code() == std::errc::resource_unavailable_try_again;
    return prefix() + error.what() +
           (no_thread ? "; if it is a thread that cannot be started, raise ulimit -u or ulimit -v" : "") +
           where;
  } catch (const std::exception& error) {
    return prefix() + beginning_of(error.what()) + where;
  } catch (...) {
    return prefix() + "an exception of unknown type" + where;
  }
}

std::string text_of(const std::exception_ptr& thrown) {
  return said_of(thrown) + out_of_memory_remedy(thrown);
}

}  // namespace

Runtime::Runtime(int& argc, char**& argv) {
  RIESZ_CHECK(!started, "Runtime: this process has one already; make a single one, in main");
  check_joined(std::nullopt);
  StartUp start;
  start.enter(StartStep::init);
  int provided = MPI_THREAD_SINGLE;
  {
    const HiddenLauncherScope hidden;
    RIESZ_MPI(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  }
  RIESZ_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  RIESZ_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &world_rank));
  RIESZ_MPI(MPI_Comm_size(MPI_COMM_WORLD, &world_size));
  check_joined(world_size);
  started = true;
  process = getpid();
  set_error_prefix(prefix());
  RIESZ_CHECK(
      provided == MPI_THREAD_MULTIPLE, "Runtime: MPI provides thread level ", provided,
      " where MPI_THREAD_MULTIPLE is needed, since backward "
      "may communicate from the autograd engine's threads; use an MPI library built with thread support");
  start.enter(StartStep::board);
  StatusBoard::open();
  start.enter(StartStep::transport);
  set_world_communicator(std::make_unique<Communicator>(make_transport(TransportSettings::of_environment())));
  start.enter(StartStep::started);
  deadline();  // these read the environment: a bad value is said now
  consistency_checks();
  most_untaken();
  if (std::getenv("OMP_NUM_THREADS") == nullptr) at::set_num_threads(1);
  on_exit(say_so_at_exit, nullptr);  // last, so that it comes before all that was made here goes
}

Runtime::~Runtime() {
  if (in_child()) return;
  if (std::uncaught_exceptions() > 0)
    return;  // peers may be inside other calls: ending MPI would wait for them
  std::optional<Watchdog> watchdog;
  try {
    StatusBoard::note("at its end");
    finish_background();
    settle_late_checks();
    StatusBoard::finish();
    wait_for_all();
    watchdog.emplace("MPI_Finalize");
  } catch (...) {
    end_job(std::current_exception());
  }
  set_world_communicator(nullptr);
  StatusBoard::close();
  free_what_is_left();
  MPI_Finalize();
  started = false;
}

/// Only the first speaker aborts: a second abort would add a second notice of the launcher's. Where an error
/// is alike on several hosts, that of rank 0 is the one to say it.
void end_job(const std::string& what) {
  if (in_child()) {
    std::fprintf(stderr, "%s; it was in a process that this worker forked, so the job goes on\n",
                 what.c_str());
    leave(kReported);
  }
  if (StatusBoard::first_to_report()) {
    if (!StatusBoard::has_rank_0()) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    std::fflush(stdout);  // what was printed before
    std::fprintf(stderr, "%s\n", what.c_str());
    std::fflush(stderr);
    if (!started) std::_Exit(kReported);  // before MPI has; the launcher ends the others
    print_failure_note();
    int workers = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &workers);
    if (workers == 1) std::_Exit(kReported);  // nobody else to end, and no notice of MPI's
    MPI_Abort(MPI_COMM_WORLD, kReported);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  std::_Exit(kReported);
}

void set_failure_note(std::function<std::string()> note) {
  const std::lock_guard lock(failure_note_mutex);
  failure_note = std::move(note);
}

void end_job(const std::exception_ptr& thrown) { end_job(text_of(thrown)); }

bool Runtime::active() { return started; }
int Runtime::rank() { return world_rank; }
int Runtime::size() { return world_size; }

void Runtime::set_rank(int rank, int size) {
  world_rank = rank;
  world_size = size;
}

int run_main(int argc, char** argv, const std::function<int(int, char**)>& body) {
  try {
    Runtime runtime(argc, argv);
    try {
      return body(argc, argv);
    } catch (...) {
      end_job(std::current_exception());
    }
  } catch (...) {
    const std::string text = text_of(std::current_exception());
    if (started) end_job(text);
    if (launched_rank().value_or(0) == 0) std::fprintf(stderr, "%s\n", text.c_str());
    return kReported;
  }
}

void leave(int status) {
  std::cout.flush();
  std::fflush(nullptr);
  _exit(status);  // which sanitizers see, unlike std::_Exit
}

}  // namespace riesz
