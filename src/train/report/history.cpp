// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/history.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/atomic_file.h"
#include "riesz/io/escaped.h"
#include "riesz/io/write_error.h"

namespace riesz {
namespace {

template <typename Number>
std::string text(Number value) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

template <typename Number>
bool read(const std::string& field, Number& value) {
  const char* end = field.data() + field.size();
  const auto [stopped, error] = std::from_chars(field.data(), end, value);
  return error == std::errc() && stopped == end;
}

bool read(const std::string& field, std::optional<double>& value) {
  return field.empty() || read(field, value.emplace());
}

std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> found{""};
  for (const char letter : line) {
    if (letter == ',') {
      found.emplace_back();
    } else {
      found.back() += letter;
    }
  }
  return found;
}

}  // namespace

std::string csv_header() { return "step,loss,held_out_loss,learning_rate,gradient_norm,rate,seconds\n"; }

std::string csv_line(const Row& row) {
  return concat(row.step, ",", text(row.loss), ",", row.held_out_loss ? text(*row.held_out_loss) : "", ",",
                text(row.learning_rate), ",", text(row.gradient_norm), ",", text(row.rate), ",",
                text(row.seconds), "\n");
}

std::optional<Row> row_of_csv(const std::string& line) {
  const std::vector<std::string> f = fields(line);
  Row row;
  const bool good = f.size() == 7 && read(f[0], row.step) && read(f[1], row.loss) &&
                    read(f[2], row.held_out_loss) && read(f[3], row.learning_rate) &&
                    read(f[4], row.gradient_norm) && read(f[5], row.rate) && read(f[6], row.seconds);
  return good ? std::optional(row) : std::nullopt;
}

std::string RowFormat::of(const std::vector<Row>& rows) const {
  std::string all = head;
  for (const Row& row : rows) all += text(row);
  return all;
}

RowFormat csv_format() { return {csv_header(), csv_line}; }

RowFormat json_lines() {
  return {"", [](const Row& row) {
            std::string line = concat("{\"step\": ", row.step);
            const auto add = [&](const char* name, std::optional<double> value) {
              if (value && std::isfinite(*value)) line += concat(", \"", name, "\": ", text(*value));
            };
            add("loss", row.loss);
            add("held_out_loss", row.held_out_loss);
            add("held_out_iou", row.overlap);
            add("learning_rate", row.learning_rate);
            add("gradient_norm", row.gradient_norm);
            add("rate", row.rate);
            add("seconds", row.seconds);
            if (row.experts) {
              add("expert_load", row.experts->expert_load);
              add("dropped", row.experts->dropped);
              add("gate_entropy", row.experts->gate_entropy);
            }
            return line + "}\n";
          }};
}

RowFile::RowFile(std::filesystem::path path, RowFormat format, const std::vector<Row>& rows)
    : path_(std::move(path)), format_(std::move(format)) {
  write_file(path_, format_.of(rows));
  file_.open(path_, std::ios::binary | std::ios::app);
  RIESZ_CHECK(file_, "cannot write ", in_quotes(path_.string()), ": ", std::strerror(errno));
}

void RowFile::append(const Row& row) {
  const std::string text = format_.text(row);
  file_ << text << std::flush;
  if (!file_) throw_error(write_error(path_, errno, static_cast<std::int64_t>(text.size())));
}

}  // namespace riesz
