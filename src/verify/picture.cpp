// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/verify/picture.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "riesz/comm/error.h"
#include "riesz/io/svg_document.h"
#include "riesz/verify/alike.h"
#include "riesz/verify/shown_events.h"

namespace riesz {
namespace {

constexpr double kLeft = 24, kColumn = 420, kBoxWidth = 330, kRow = 54, kBox = 42, kLine = 17, kTitle = 21;
constexpr std::size_t kMostWorkers = 8, kCharacters = 42, kCharactersOfTitle = 44;
constexpr const char* kBegins = "#3b6fb6";
constexpr const char* kWaits = "#6f7580";
constexpr const char* kFault = "#d1495b";
constexpr const char* kMessage = "#9db7da";
constexpr const char* kWorker = "#c9ccd1";

/// An event as it is drawn.
struct EventBox {
  std::size_t column, event;
  double top;
  bool of_fault, reached;
};

/// Is the worker the receiver of a message, whose sender has an entry before?
bool seen_from_sender(const WorkerInFault& worker, const std::vector<WorkerInFault>& all) {
  return worker.other == all.front().at && worker.at == all.front().other;
}

class FaultPicture {
 public:
  FaultPicture(const Fault& fault, const std::vector<Recording>& recordings, const StandIns& stand_ins,
               const Matching& matching)
      : fault_(fault),
        recordings_(recordings),
        stand_ins_(stand_ins),
        matching_(matching),
        columns_(shown_events(fault, recordings, kMostWorkers)),
        width_(2 * kLeft + kColumn * static_cast<double>(std::max(columns_.size(), std::size_t{2})) -
               (kColumn - kBoxWidth)),
        title_(lines_of(fault.what, kCharactersOfTitle * std::max(columns_.size(), std::size_t{2}))) {
    for (const ShownEvents& column : columns_) says_.push_back(lines_of(text_of(column.rank), kCharacters));
    place_boxes();
  }

  std::string draw() {
    SvgDocument out(width_, bottom_ + 78);
    double top = 28;
    for (const std::string& line : title_)
      out.text(kLeft, take(top, kTitle), "start", line, " font-size=\"16\"");
    for (std::size_t column = 0; column < columns_.size(); ++column) draw_worker(out, column);
    for (const EventBox& from : boxes_) draw_messages(out, from);
    for (const EventBox& box : boxes_) draw_box(out, box);
    for (const WorkerInFault& worker : fault_.workers) draw_fault(out, worker);
    draw_legend(out);
    return out.str();
  }

 private:
  static double take(double& top, double height) { return (top += height) - height; }
  static double left(std::size_t column) { return kLeft + kColumn * static_cast<double>(column); }
  const Recording& of(std::size_t column) const { return recordings_[columns_[column].recording]; }

  /// What the worker does in the fault.
  std::string text_of(int rank) const {
    std::string text;
    for (const WorkerInFault& worker : fault_.workers) {
      if (worker.at.rank == rank) text += (text.empty() ? "" : "; ") + worker.does + " " + worker.what;
    }
    return text;
  }

  bool of_fault(int rank, std::size_t event) const {
    return std::any_of(fault_.workers.begin(), fault_.workers.end(), [&](const WorkerInFault& worker) {
      return worker.at.rank == rank && worker.at.event == event;
    });
  }

  /// Is it known of an event that a worker of the circle does not come to it?
  bool beyond(std::size_t column, std::size_t event) const {
    const std::vector<RecordedEvent>& events = of(column).events;
    if (event >= events.size() || is_of_a_message()) return false;
    const auto stops = [&](const EventId& stop, std::size_t first) {
      return stop.rank == columns_[column].rank && events[stop.event].strand == events[event].strand &&
             event >= first;
    };
    for (const WorkerInFault& worker : fault_.workers) {
      if (stops(worker.at, worker.at.event + 1) || stops(worker.other, worker.other.event)) return true;
    }
    const auto begins = std::find_if(events.begin(), events.end(), [&](const RecordedEvent& each) {
      return each.kind == RecordedEvent::Kind::begin && each.subject == events[event].strand;
    });
    return begins != events.end() && beyond(column, static_cast<std::size_t>(begins - events.begin()));
  }

  bool is_of_a_message() const {
    return fault_.workers.size() == 2 && seen_from_sender(fault_.workers[1], fault_.workers);
  }

  /// The events at which the workers stand are beside each other.
  void place_boxes() {
    std::size_t lines = 0, before = 0, after = 0;
    for (const auto& text : says_) lines = std::max(lines, text.size());
    std::vector<std::size_t> stands;
    for (const ShownEvents& column : columns_) {
      const auto found = std::find(column.events.begin(), column.events.end(), column.at);
      stands.push_back(static_cast<std::size_t>(found - column.events.begin()));
      before = std::max(before, stands.back());
      after = std::max(after, column.events.size() - stands.back());
    }
    heads_ = 28 + kTitle * static_cast<double>(title_.size()) + 10;
    top_ = heads_ + kLine * static_cast<double>(lines) + 14;
    bottom_ = top_ + kRow * static_cast<double>(before + after);
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      double top = top_ + kRow * static_cast<double>(before - stands[column]);
      for (const std::size_t event : columns_[column].events) {
        boxes_.push_back(
            {column, event, take(top, kRow), of_fault(columns_[column].rank, event), !beyond(column, event)});
      }
    }
  }

  void draw_worker(SvgDocument& out, std::size_t column) {
    double top = heads_;
    out.text(left(column), top, "start", concat("rank ", columns_[column].rank),
             " font-size=\"15\" font-weight=\"bold\"");
    for (const std::string& line : says_[column])
      out.text(left(column), top += kLine, "start", line, concat(" fill=\"", kFault, "\""));
    out.line(left(column) + kBoxWidth / 2, top_ - 6, left(column) + kBoxWidth / 2, bottom_, kWorker);
  }

  std::string text_of(const EventBox& box) const {
    const Recording& recording = of(box.column);
    if (box.event == recording.events.size()) return "is at its end";
    const RecordedEvent& event = recording.events[box.event];
    if (event.kind == RecordedEvent::Kind::begin) return "begins a strand";
    if (event.kind == RecordedEvent::Kind::join) return "waits for what is under way";
    const bool begins = event.kind == RecordedEvent::Kind::post;
    return concat(begins ? "begins " : "waits in ", operation_of(recording, recording.rounds[event.subject]));
  }

  void draw_box(SvgDocument& out, const EventBox& box) {
    if (box.event == ShownEvents::kSkipped) {
      out.text(left(box.column) + kBoxWidth / 2 + 8, box.top + 18, "start", "…");
      return;
    }
    const Recording& recording = of(box.column);
    const bool end = box.event == recording.events.size();
    const bool begins = !end && recording.events[box.event].kind == RecordedEvent::Kind::post;
    const std::string says = text_of(box) + (end ? "" : origin_text(recording.events[box.event].origin));
    out.rectangle(left(box.column), box.top, kBoxWidth, kBox,
                  box.of_fault ? kFault
                  : begins     ? kBegins
                               : kWaits,
                  box.reached ? 1 : 0.3, says);
    std::vector<std::string> lines = lines_of(says, kCharacters - 2);
    if (lines.size() > 2) lines[1] += " …";
    for (std::size_t i = 0; i < std::min(lines.size(), std::size_t{2}); ++i)
      out.text(left(box.column) + 8, box.top + 17 + kLine * static_cast<double>(i), "start", lines[i],
               box.reached ? " fill=\"white\"" : "");
  }

  void draw_arrow(SvgDocument& out, const EventBox& from, const EventBox& to, const char* colour,
                  double down) {
    const bool right = from.column < to.column;
    const double x1 = left(from.column) + (right ? kBoxWidth : 0), y1 = from.top + kBox / 2 + down;
    const double x2 = left(to.column) + (right ? 0 : kBoxWidth), y2 = to.top + kBox / 2 + down;
    const double back = right ? -8 : 8;
    out.polyline({{x1, y1}, {x2, y2}}, colour);
    out.polyline({{x2 + back, y2 - 4}, {x2, y2}, {x2 + back, y2 + 4}}, colour);
  }

  /// From each send of a box to the box that receives it.
  void draw_messages(SvgDocument& out, const EventBox& from) {
    for (const EventBox& to : boxes_) {
      if (to.column != from.column && sends(from, to)) draw_arrow(out, from, to, kMessage, 0);
    }
  }

  const RecordedRound* begun(const EventBox& box) const {
    const Recording& recording = of(box.column);
    if (box.event >= recording.events.size()) return nullptr;
    const RecordedEvent& event = recording.events[box.event];
    return event.kind == RecordedEvent::Kind::post ? &recording.rounds[event.subject] : nullptr;
  }

  bool sends(const EventBox& from, const EventBox& to) const {
    const RecordedRound* sent = begun(from);
    const RecordedRound* received = begun(to);
    if (sent == nullptr || received == nullptr) return false;
    const ShownEvents& sender = columns_[from.column];
    const ShownEvents& receiver = columns_[to.column];
    for (std::size_t m = sent->first; m < sent->last; ++m) {
      const RecordedMessage& message = of(from.column).messages[m];
      const MessageId end = matching_.ends[sender.recording][m];
      if (!message.sent || end.recording != receiver.recording || end.message < received->first ||
          end.message >= received->last)
        continue;
      const RecordedMessage& expected = of(to.column).messages[end.message];
      if (!expected.sent && alike(message, expected) && same_key(message, expected) &&
          stand_ins_.as_recorded(sender.rank, message.peer) == receiver.rank &&
          stand_ins_.as_recorded(receiver.rank, expected.peer) == sender.rank)
        return true;
    }
    return false;
  }

  const EventBox* box_of(const EventId& event) const {
    const auto found = std::find_if(boxes_.begin(), boxes_.end(), [&](const EventBox& box) {
      return columns_[box.column].rank == event.rank && box.event == event.event;
    });
    return found == boxes_.end() ? nullptr : &*found;
  }

  void draw_fault(SvgDocument& out, const WorkerInFault& worker) {
    const EventBox* from = box_of(worker.at);
    const EventBox* to = box_of(worker.other);
    if (from != nullptr && to != nullptr && !seen_from_sender(worker, fault_.workers))
      draw_arrow(out, *from, *to, kFault, 5);
  }

  void draw_legend(SvgDocument& out) {
    std::set<int> all;
    for (const WorkerInFault& worker : fault_.workers) all.insert(worker.at.rank);
    const std::size_t more = all.size() - columns_.size();
    const double top = bottom_ + 20;
    double x = kLeft;
    const auto entry = [&](const char* colour, const char* says, double width) {
      out.rectangle(x, top, 16, 16, colour, 1, says);
      out.text(x + 22, top + 13, "start", says);
      x += width;
    };
    entry(kBegins, "begins to send and receive", 210);
    entry(kWaits, "waits until that is done", 190);
    entry(kFault, "the fault", 100);
    out.text(kLeft, top + 40, "start",
             concat("A blue arrow: a message. A red arrow: what does not fit, or whom a worker waits for.",
                    more > 0 ? concat(" ", more, " more workers are not drawn.") : ""),
             concat(" fill=\"", kWaits, "\""));
  }

  const Fault& fault_;
  const std::vector<Recording>& recordings_;
  const StandIns& stand_ins_;
  const Matching& matching_;
  std::vector<ShownEvents> columns_;
  double width_;
  std::vector<std::string> title_;
  std::vector<std::vector<std::string>> says_;  // by column
  std::vector<EventBox> boxes_;
  double heads_ = 0, top_ = 0, bottom_ = 0;
};

}  // namespace

std::string svg(const Fault& fault, const std::vector<Recording>& recordings, const StandIns& stand_ins,
                const Matching& matching) {
  return FaultPicture(fault, recordings, stand_ins, matching).draw();
}

}  // namespace riesz
