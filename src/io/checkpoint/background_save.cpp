// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/checkpoint/background_save.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/thread.h"
#include "riesz/comm/wait.h"
#include "riesz/io/checkpoint/all_or_none.h"
#include "riesz/io/checkpoint/folder.h"
#include "riesz/io/checkpoint/pieces.h"
#include "riesz/io/checkpoint/pieces_to_write.h"
#include "riesz/io/checkpoint/plan.h"
#include "riesz/io/checkpoint/unfinished_files.h"
#include "riesz/io/checkpoint/wait_for_writers.h"
#include "riesz/io/escaped.h"
#include "riesz/partition/agreement/side_channel.h"
#include "riesz/primitives/all_max.h"

namespace riesz {
namespace {

/// Between two looks whether the thread is done.
constexpr std::chrono::microseconds kPause(1000);

/// Of a worker that has met an error, and so ends the job, which is not to live on without it.
std::chrono::duration<double> longest_wait() {
  return deadline().count() > 0 ? deadline() : std::chrono::minutes(10);
}

/// What a worker writes, in memory of its own.
struct WhatIsWritten {
  CheckpointPlan plan;
  std::map<std::string, std::string> texts;
  std::vector<Piece> pieces;
  std::optional<UnfinishedFiles> files;  // open where some was written at once

  void open(const std::filesystem::path& folder, WriteProgress& progress) {
    if (!files) files.emplace(folder, plan, progress);
  }
  /// Each piece's memory goes when it is written.
  void write(const std::filesystem::path& folder, bool first, WriteProgress& progress) {
    open(folder, progress);
    if (first) files->write_rest(plan, texts);
    for (Piece& piece : pieces) {
      files->write(piece);
      piece.values.reset();
    }
    files->sync();
    files.reset();
  }
};

/// Does any worker keep state elsewhere than in memory? Collective over P.
bool lies_elsewhere(const Partition& P, const State& state) {
  return any_flag(P, {"world"}, std::any_of(state.begin(), state.end(), [](const StateView& view) {
                    return view.elsewhere != nullptr;
                  }));
}

}  // namespace

struct BackgroundSave::Impl {
  /// While this thread does not wait for the others'.
  struct AtWork {
    explicit AtWork(WriteProgress& its_progress) : progress(its_progress) { progress.set_at_work(true); }
    ~AtWork() { progress.set_at_work(false); }
    AtWork(const AtWork&) = delete;
    AtWork& operator=(const AtWork&) = delete;
    WriteProgress& progress;
  };

  Impl(const std::filesystem::path& path, const Partition& P, std::function<void()> what_then, bool replaces)
      : writers(P.grid({{"world", P.size()}})),
        channel(writers),
        folder(path, replaces),
        then(std::move(what_then)) {}

  bool first() const { return writers.rank() == 0; }

  /// On a thread, together with those of the other workers.
  void write(WhatIsWritten& copy) try {
    all_or_none(channel, [&] {
      const AtWork here(progress);
      copy.write(folder.unfinished(), first(), progress);
    });
    all_or_none(channel, [&] {
      if (!first()) return;
      const AtWork here(progress);
      folder.finish();
      progress.add();
      if (then) then();
    });
  } catch (const Error&) {
    if (first()) folder.drop();
    channel.collect_texts("");  // on no worker is it over before the folder is dropped
    throw;
  }

  /// Copies what is written later. Where state lies elsewhere, all but values is written now. Collective.
  void take(const State& state, WhatIsWritten& copy) {
    const bool elsewhere = lies_elsewhere(writers, state);
    const auto now = [elsewhere](const WrittenVector& v) { return elsewhere && v.key.second != "value"; };
    const std::string what = in_quotes(folder.unfinished().string());
    if (elsewhere) write_together(writers, what, progress, [&] { copy.open(folder.unfinished(), progress); });
    std::optional<PiecesToWrite> at_once;
    if (elsewhere) at_once.emplace(writers, what, *copy.files, progress);
    for_each_piece(
        writers, copy.plan, state,
        [&](const Piece& piece) {
          if (now(*piece.vector)) return at_once->take(piece);
          copy.pieces.push_back({piece.file, piece.at, piece.values.clone(), piece.vector});
          bytes += static_cast<std::int64_t>(piece.values.nbytes());
        },
        [&](const WrittenVector& vector) {
          if (now(vector)) at_once->after(vector);
        });
    if (elsewhere) at_once->write();
  }

  void begin(const std::shared_ptr<WhatIsWritten>& copy) {
    idle = false;
    thread.emplace([this, copy] {
      try {
        write(*copy);
      } catch (const Error& error) {
        failed = error.what();
      } catch (...) {
        end_job(std::current_exception());  // the other workers' threads would wait for this one
      }
      idle = true;
    });
  }

  void end() {
    if (thread) thread->join();
    thread.reset();
  }

  Partition writers;
  SideChannel channel;
  WholeFolder folder;
  std::function<void()> then;
  std::int64_t bytes = 0;
  WriteProgress progress;
  std::string failed;  // written before `idle` is
  std::atomic<bool> idle = true;
  std::optional<Thread> thread;  // none when all is over; the last member, for it uses the others
};

BackgroundSave::BackgroundSave(const std::filesystem::path& folder, const Partition& P,
                               const CheckpointContents& contents, const std::function<void()>& then,
                               const SaveOptions& options) {
  if (!P.active()) return;
  const at::NoGradGuard no_gradient;
  impl_ = std::make_unique<Impl>(folder, P, then, options.replaces);
  Impl& save = *impl_;
  const auto copy = std::make_shared<WhatIsWritten>();
  copy->plan = plan_checkpoint(save.writers, contents.state, contents.shapes, options.file_bytes);
  copy->texts = contents.texts;
  try {
    all_or_none(save.writers, [&] {
      if (save.first()) begin_folder(save.folder, copy->plan, contents.texts);
    });
    save.take(contents.state, *copy);
  } catch (const Error&) {
    if (save.first()) save.folder.drop();
    wait_for_all(save.writers);
    throw;
  }
  save.begin(copy);
}

BackgroundSave::~BackgroundSave() {
  if (impl_) impl_->channel.wait_at_most(longest_wait());
}
BackgroundSave::BackgroundSave(BackgroundSave&&) noexcept = default;

bool BackgroundSave::go_on() {
  if (!impl_ || !impl_->thread) return true;
  if (!every_flag(impl_->writers, {"world"}, impl_->idle)) return false;
  impl_->end();
  if (!impl_->failed.empty()) throw Error(impl_->failed);
  return true;
}

void BackgroundSave::wait() {
  if (!impl_ || !impl_->thread) return;
  wait_for_writers(impl_->writers, in_quotes(impl_->folder.unfinished().string()), impl_->progress,
                   [this](std::chrono::microseconds pause) {
                     for (; !impl_->idle && pause.count() > 0; pause -= kPause)
                       std::this_thread::sleep_for(std::min(pause, kPause));
                     return impl_->idle.load();
                   });
  go_on();
}

std::string BackgroundSave::finish() {
  if (!impl_ || !impl_->thread) return "";
  impl_->channel.wait_at_most(longest_wait());
  impl_->end();
  return impl_->failed;
}

std::int64_t BackgroundSave::bytes() const { return impl_ ? impl_->bytes : 0; }

}  // namespace riesz
