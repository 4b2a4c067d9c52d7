// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "../io/temporary_folder.h"
#include "riesz/testing/error.h"
#include "riesz/train/report/read_history.h"

namespace riesz {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

const Row kPlain{1, 2.3025850929940459, std::nullopt, 1e-3, 0.1, 12345.678901234567, 1.0 / 3};
const Row kMeasured{2, 1e-300, 0.1 + 0.2, 0, 1e22, 1, 2};

TEST(Csv, RowsReadBackWithTheSameBits) {
  const std::vector<Row> rows = {kPlain, kMeasured};

  const TemporaryFolder folder;
  folder.write("loss.csv", csv_format().of(rows));

  const ReadHistory read = read_history(folder.path() / "loss.csv", folder.path() / "none", 2);

  EXPECT_EQ(read.rows, rows);
  EXPECT_EQ(read.notes, std::vector<std::string>{});
}

TEST(Csv, WritesShortNumbersShort) {
  EXPECT_EQ(csv_line({3, 0.5, 0.25, 0.001, 2, 100, 1.5}), "3,0.5,0.25,0.001,2,100,1.5\n");
  EXPECT_EQ(csv_line({3, 0.5, std::nullopt, 0.001, 2, 100, 1.5}), "3,0.5,,0.001,2,100,1.5\n");
}

TEST(Csv, NamesTheLineThatIsNoRow) {
  const TemporaryFolder folder;
  const auto notes = [&](const std::string& text, std::int64_t step = 1) {
    folder.write("loss.csv", text);
    const ReadHistory read = read_history(folder.path() / "loss.csv", folder.path() / "none", step);
    EXPECT_TRUE(read.damaged);
    return ::testing::PrintToString(read.notes);
  };
  EXPECT_THAT(notes("a,b\n"), HasSubstr("loss.csv\\\", line 1: it is not the heading, \\\"step,loss"));
  EXPECT_THAT(notes(csv_header() + csv_line(kPlain) + "2,0.5\n"),
              HasSubstr("line 3: it is no row: \\\"2,0.5"));
  EXPECT_THAT(notes(csv_header() + "1,x,,0,0,0,0\n"), HasSubstr("line 2: it is no row"));
  EXPECT_THAT(notes(csv_header() + "1,0.5y,,0,0,0,0\n"), HasSubstr("line 2: it is no row"));
  EXPECT_THAT(notes(csv_header() + "-1,0.5,,0,0,0,0\n"),
              HasSubstr("no row of step 1; the record goes on without"));
  EXPECT_THAT(notes(csv_header() + csv_line(kPlain) + csv_line(kPlain)),
              HasSubstr("line 2: a row of step 1 is out of order, or there twice"));
  EXPECT_THAT(notes(csv_header() + "\n\n\n\n\n\n\n", 9), HasSubstr("loss.csv\\\": 2 more such lines"));
}

/// A letter that is another, or missing, or there twice, at any place: no row is there twice, or of another
/// step, and each that is lost is said.
TEST(Csv, ReadsWhatIsWholeOfADamagedFile) {
  const TemporaryFolder folder;
  std::vector<Row> rows;
  for (std::int64_t step = 1; step <= 12; ++step)
    rows.push_back({step, 1.0 / static_cast<double>(step), std::nullopt, 1e-3, 0.1, 10, 1});
  const std::string whole = csv_format().of(rows);
  const auto check = [&](const std::string& text, std::size_t at) {
    folder.write("loss.csv", text);
    const ReadHistory read = read_history(folder.path() / "loss.csv", folder.path() / "none", 12);
    std::int64_t last = 0;
    for (const Row& row : read.rows) {
      EXPECT_TRUE(row.step > last && row.step <= 12) << at;
      last = row.step;
    }
    EXPECT_GE(read.rows.size(), 10u) << at;
    EXPECT_TRUE(read.rows.size() == 12 || !read.notes.empty()) << at;
  };
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char letter : {'x', '7', '\n', ',', '\0'})
      check(std::string(whole).replace(at, 1, 1, letter), at);
    check(std::string(whole).erase(at, 1), at);
    check(std::string(whole).insert(at, 1, whole[at]), at);
  }
  folder.write("metrics.jsonl", json_lines().of(rows));
  folder.write("loss.csv",
               whole.substr(0, whole.find("\n3,")) + "\n5,broken\n" + whole.substr(whole.find("9,")));
  const ReadHistory read = read_history(folder.path() / "loss.csv", folder.path() / "metrics.jsonl", 12);
  EXPECT_EQ(read.rows, rows);
  ASSERT_EQ(read.notes.size(), 2u);
  EXPECT_THAT(read.notes[0], HasSubstr("line 4: it is no row: \"5,broken\""));
  EXPECT_THAT(read.notes[1], HasSubstr("loss.csv\" has no row of step 3 to 8; taken from \""));
}

TEST(JsonLines, SayWhatWasMeasured) {
  const RowFormat format = json_lines();
  EXPECT_EQ(format.of({{3, 0.5, 0.25, 0.001, 2, 100, 1.5}}),
            "{\"step\": 3, \"loss\": 0.5, \"held_out_loss\": 0.25, \"learning_rate\": 0.001, "
            "\"gradient_norm\": 2, \"rate\": 100, \"seconds\": 1.5}\n");
  const double infinite = std::numeric_limits<double>::infinity();  // of a step that was left out
  EXPECT_EQ(format.of({{4, 0.1 + 0.2, std::nullopt, 0, infinite, 100, 2}}),
            "{\"step\": 4, \"loss\": 0.30000000000000004, \"learning_rate\": 0, \"rate\": 100, "
            "\"seconds\": 2}\n");
}

TEST(JsonLines, SayHowPixelsOverlap) {
  Row row{1, 0.5, 0.25, 0.001, 2, 100, 1.5};
  row.overlap = 0.75;
  EXPECT_THAT(json_lines().of({row}), HasSubstr("\"held_out_loss\": 0.25, \"held_out_iou\": 0.75, "));
  const TemporaryFolder folder;
  folder.write("loss.csv", csv_format().of({row}));
  folder.write("metrics.jsonl", json_lines().of({row}));
  EXPECT_EQ(read_history(folder.path() / "loss.csv", folder.path() / "metrics.jsonl", 1).rows,
            std::vector<Row>{row});
}

/// The CSV does not have it, so a record that goes on takes it from the other file.
TEST(JsonLines, SayHowExpertsWereChosen) {
  Row row{1, 0.5, 0.25, 0.001, 2, 100, 1.5};
  row.experts = ExpertRow{1.5, 0.25, 1.0};
  EXPECT_EQ(json_lines().of({row}),
            "{\"step\": 1, \"loss\": 0.5, \"held_out_loss\": 0.25, \"learning_rate\": 0.001, "
            "\"gradient_norm\": 2, \"rate\": 100, \"seconds\": 1.5, \"expert_load\": 1.5, \"dropped\": 0.25, "
            "\"gate_entropy\": 1}\n");
  const TemporaryFolder folder;
  folder.write("loss.csv", csv_format().of({row}));
  folder.write("metrics.jsonl", json_lines().of({row}));
  const ReadHistory read = read_history(folder.path() / "loss.csv", folder.path() / "metrics.jsonl", 1);
  EXPECT_EQ(read.rows, std::vector<Row>{row});
  EXPECT_TRUE(read.notes.empty());
  folder.write("metrics.jsonl", "damaged");
  row.experts.reset();
  EXPECT_EQ(read_history(folder.path() / "loss.csv", folder.path() / "metrics.jsonl", 1).rows,
            std::vector<Row>{row});
}

TEST(RowFile, HasEachRowAtOnce) {
  const TemporaryFolder folder;
  folder.write("loss.csv", "of an older run\n");

  RowFile csv(folder.path() / "loss.csv", csv_format());
  EXPECT_EQ(folder.read("loss.csv"), csv_header());
  csv.append(kPlain);
  EXPECT_EQ(folder.read("loss.csv"), csv_header() + csv_line(kPlain));
  csv.append(kMeasured);
  EXPECT_EQ(folder.read("loss.csv"), csv_header() + csv_line(kPlain) + csv_line(kMeasured));

  RowFile(folder.path() / "loss.csv", csv_format(), {kPlain}).append(kMeasured);
  EXPECT_EQ(folder.read("loss.csv"), csv_format().of({kPlain, kMeasured}));
}

TEST(RowFile, NamesThePathItCannotWrite) {
  const TemporaryFolder folder;
  EXPECT_ERROR(RowFile(folder.path() / "none" / "loss.csv", csv_format()), "cannot write", "none/loss.csv");
}

}  // namespace
}  // namespace riesz
