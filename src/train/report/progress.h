// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>

#include "riesz/train/report/history.h"

namespace riesz {

/// The screen of the progress line: a line that rewrites itself in place, plain lines now and then, or
/// nothing.
enum class Screen { terminal, log, none };

/// "terminal", "log" or "none" as set; for "auto" the variable RIESZ_TERMINAL (1 or 0), else whether standard
/// error is a terminal. A launcher such as mpirun may give its processes a terminal when it has none itself,
/// so under one, auto without RIESZ_TERMINAL is a log.
Screen choose_screen(const std::string& setting);

/// The columns of the terminal: that of standard error, else that from which the process was started. mpirun
/// puts a terminal of its own, without a width, in between. Else the variable COLUMNS, else 80.
std::size_t terminal_columns();

/// The progress line of a run: step, loss, held-out loss and overlap (IoU), the `ExpertRow` where there are
/// experts, rate, and the time left. That is estimated from the steps since the first. On a terminal the line
/// is rewritten at most ten times a second, and is narrower than the terminal. Where there is too little room,
/// it leaves out the experts, the rate, the held-out loss and the time left, in this order. Then it cuts off
/// its end. A log gets a line at every twentieth of the steps, after ten seconds without one, and at the last
/// step.
class Progress {
 public:
  using Clock = std::function<double()>;         ///< seconds
  using Columns = std::function<std::size_t()>;  ///< asked for each line: a window may change

  /// `counted`: what rates count, such as "token".
  Progress(std::ostream& out, Screen screen, std::int64_t steps, std::string counted,
           Clock clock = steady_seconds, Columns columns = terminal_columns);

  void update(const Row& row);
  /// Ends the line, so that other text may follow.
  void finish();

  static double steady_seconds();

 private:
  bool due(const Row& row) const;
  std::string line(const Row& row, std::size_t width) const;

  std::ostream& out_;
  Screen screen_;
  std::int64_t steps_;
  std::string counted_;
  Clock clock_;
  Columns columns_;
  std::optional<Row> first_;
  std::optional<double> shown_at_;
  std::int64_t shown_step_ = 0;
  double rate_ = 0;
  std::optional<double> held_out_loss_, overlap_;
  bool open_ = false;
};

}  // namespace riesz
