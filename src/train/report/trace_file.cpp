// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/trace_file.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "riesz/comm/error.h"
#include "riesz/io/file.h"
#include "riesz/train/report/text_message.h"

namespace riesz {
namespace {

const char* category(RangeKind kind) {
  switch (kind) {
    case RangeKind::step:
      return "step";
    case RangeKind::phase:
      return "phase";
    case RangeKind::layer:
      return "layer";
    case RangeKind::operation:
      return "operator";
    case RangeKind::wait:
      return "wait";
    case RangeKind::in_flight:
      return "in flight";
    case RangeKind::kernel:
      return "kernel";
  }
  return "";
}

/// A text of JSON; bytes that are no UTF-8 are replaced.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string microseconds(std::int64_t nanoseconds) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3f", static_cast<double>(nanoseconds) / 1000);
  return text;
}

std::string arguments(const TraceEvent& event) {
  std::string text;
  const auto add = [&](const char* name, const std::string& value) {
    text += concat(text.empty() ? "" : ",", "\"", name, "\":", value);
  };
  if (!event.detail.empty()) add("detail", quoted(event.detail));
  if (event.sent != Traffic{}) {
    add("bytes", std::to_string(event.sent.bytes));
    add("elements", std::to_string(event.sent.elements));
    add("messages", std::to_string(event.sent.messages));
  }
  return ",\"args\":{" + text + "}";
}

std::string metadata(const char* what, const std::string& place, const std::string& arguments) {
  return concat("{\"name\":\"", what, "\",\"ph\":\"M\",", place, ",\"args\":{", arguments, "}}");
}

/// A file that has its name only when it is complete.
struct Writing {
  explicit Writing(const std::filesystem::path& path)
      : to(path), file(File::made(std::filesystem::path(path) += ".part")) {}
  void add(const std::string& text) {
    file.write(at, text.data(), static_cast<std::int64_t>(text.size()));
    at += static_cast<std::int64_t>(text.size());
  }
  void end() {
    file.sync();
    rename_file(file.path(), to);
    sync_folder(to.parent_path().empty() ? "." : to.parent_path());
  }

  std::filesystem::path to;
  File file;
  std::int64_t at = 0;
};

/// Runs `call` unless one before it has failed; the reason stays.
template <typename Call>
void unless_failed(std::string& reason, const Call& call) {
  if (!reason.empty()) return;
  try {
    call();
  } catch (const Error& error) {
    reason = error.what();
  }
}

}  // namespace

std::string chrome_events(const TraceLog& log, int rank, std::int64_t zero) {
  const auto place = [rank](std::size_t thread) { return concat("\"pid\":", rank, ",\"tid\":", thread); };
  std::string text = metadata("process_name", place(0), concat("\"name\":\"rank ", rank, "\"")) + ",\n" +
                     metadata("process_sort_index", place(0), concat("\"sort_index\":", rank));
  if (log.dropped > 0)
    text += ",\n" + metadata("process_labels", place(0),
                             concat("\"labels\":\"", log.dropped, " events beyond the limit dropped\""));
  for (std::size_t i = 0; i < log.threads.size(); ++i)
    text += ",\n" + metadata("thread_name", place(i), "\"name\":" + quoted(log.threads[i]));
  for (std::size_t i = 0; i < log.events.size(); ++i) {
    const TraceEvent& event = log.events[i];
    const std::string begin = microseconds(event.begin - zero), end = microseconds(event.end - zero);
    const std::string head = concat(",\n{\"name\":", quoted(event.name), ",\"cat\":\"", category(event.kind),
                                    "\",", place(event.thread), ",\"ph\":\"");
    if (event.kind == RangeKind::in_flight) {
      const std::string id = concat("\",\"id\":\"", rank, ".", i, "\"");
      text += concat(head, "b", id, ",\"ts\":", begin, arguments(event), "}");
      text += concat(head, "e", id, ",\"ts\":", end, "}");
    } else if (event.begin == event.end) {
      text += concat(head, "i\",\"s\":\"t\",\"ts\":", begin, arguments(event), "}");
    } else {
      text += concat(head, "X\",\"ts\":", begin, ",\"dur\":", microseconds(event.end - event.begin),
                     arguments(event), "}");
    }
  }
  return text;
}

std::string write_trace(const Partition& partition, const TraceLog& mine,
                        const std::vector<std::int64_t>& offsets, const std::filesystem::path& path) {
  if (partition.rank() != 0) {
    const std::int64_t zero = std::stoll(receive_text(partition, 0));
    send_text(partition, 0, chrome_events(mine, partition.rank(), zero));
    return {};
  }
  std::string reason;
  std::optional<Writing> writing;
  unless_failed(reason, [&] {
    writing.emplace(path);
    writing->add("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  });
  for (int rank = 0; rank < partition.size(); ++rank) {
    const std::int64_t zero = mine.begin + offsets.at(static_cast<std::size_t>(rank));
    if (rank > 0) send_text(partition, rank, std::to_string(zero));
    const std::string events = rank == 0 ? chrome_events(mine, 0, zero) : receive_text(partition, rank);
    unless_failed(reason, [&] { writing->add(concat(rank == 0 ? "" : ",\n", events)); });
  }
  unless_failed(reason, [&] {
    writing->add("\n]}\n");
    writing->end();
  });
  return reason;
}

}  // namespace riesz
