// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/progress.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/start/launcher.h"
#include "riesz/train/config/number_text.h"

namespace riesz {
namespace {

constexpr double kTerminalPause = 0.1;
constexpr double kLogPause = 10;
constexpr double kSmoothing = 0.9;  // weight of the past in the rate shown

/// Of an open terminal; 0 where it is none, or says none.
std::size_t columns_of(int file) {
  winsize size{};
  return ::ioctl(file, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string number(const char* format, double value) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

}  // namespace

Screen choose_screen(const std::string& setting) {
  if (setting == "none") return Screen::none;
  if (setting != "auto") return setting == "terminal" ? Screen::terminal : Screen::log;
  const char* told = std::getenv("RIESZ_TERMINAL");
  if (told != nullptr) return std::string_view(told) == "1" ? Screen::terminal : Screen::log;
  return !launched_rank() && ::isatty(STDERR_FILENO) == 1 ? Screen::terminal : Screen::log;
}

std::size_t terminal_columns() {
  if (const std::size_t columns = columns_of(STDERR_FILENO)) return columns;
  const int terminal = ::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
  const std::size_t columns = terminal < 0 ? 0 : columns_of(terminal);
  if (terminal >= 0) ::close(terminal);
  if (columns > 0) return columns;
  constexpr std::size_t kUsual = 80;
  const char* told = std::getenv("COLUMNS");
  const long said = told == nullptr ? 0 : std::strtol(told, nullptr, 10);
  return said > 0 ? static_cast<std::size_t>(said) : kUsual;
}

double Progress::steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Progress::Progress(std::ostream& out, Screen screen, std::int64_t steps, std::string counted, Clock clock,
                   Columns columns)
    : out_(out),
      screen_(screen),
      steps_(steps),
      counted_(std::move(counted)),
      clock_(std::move(clock)),
      columns_(std::move(columns)) {}

bool Progress::due(const Row& row) const {
  if (screen_ == Screen::none) return false;
  if (!shown_at_ || row.step == steps_) return true;
  const double pause = clock_() - *shown_at_;
  if (screen_ == Screen::terminal) return pause >= kTerminalPause;
  return pause >= kLogPause || 20 * row.step / steps_ > 20 * shown_step_ / steps_;
}

std::string Progress::line(const Row& row, std::size_t width) const {
  const std::string step = "step " + std::to_string(row.step) + "/" + std::to_string(steps_);
  const std::string loss = number("  loss %.4g", row.loss);
  std::string held_out = held_out_loss_ ? number("  held out %.4g", *held_out_loss_) : "";
  if (overlap_) held_out += number("  IoU %.4f", *overlap_);
  std::string experts = row.experts ? concat(number("  expert_load %.3g", row.experts->expert_load),
                                             number("  dropped %.2g %%", 100 * row.experts->dropped),
                                             number("  gate_entropy %.3g", row.experts->gate_entropy))
                                    : "";
  std::string speed = "  " + grouped(std::llround(rate_)) + " " + counted_ + "s/s";
  // By the steps that this progress has seen, but for the first, which takes longer: an earlier run, from
  // which training goes on, may have been on other machines.
  const bool first = row.step == first_->step;
  const double seconds = first ? row.seconds : row.seconds - first_->seconds;
  const auto steps = static_cast<double>(first ? row.step : row.step - first_->step);
  const double left = seconds / steps * static_cast<double>(steps_ - row.step);
  std::string time = row.step == steps_ ? "  took " + duration(row.seconds) : "  " + duration(left) + " left";
  const auto text = [&] { return step + loss + held_out + experts + speed + time; };
  for (std::string* part : {&experts, &speed, &held_out, &time}) {
    if (text().size() > width) part->clear();
  }
  return text().substr(0, width);
}

void Progress::update(const Row& row) {
  if (!first_) first_ = row;
  const double past = rate_ == 0 ? 0 : kSmoothing;
  rate_ = past * rate_ + (1 - past) * row.rate;
  if (row.held_out_loss) held_out_loss_ = row.held_out_loss, overlap_ = row.overlap;
  if (!due(row)) return;
  if (screen_ == Screen::terminal) {
    // The last column stays free: some terminals go on to the next line once it is written.
    const std::size_t columns = columns_();
    out_ << "\r" + line(row, columns - std::min<std::size_t>(1, columns)) + "\x1b[K" << std::flush;
    open_ = true;
  } else {
    out_ << line(row, std::numeric_limits<std::size_t>::max()) + "\n" << std::flush;
  }
  shown_at_ = clock_();
  shown_step_ = row.step;
}

void Progress::finish() {
  if (open_) out_ << "\n" << std::flush;
  open_ = false;
}

}  // namespace riesz
