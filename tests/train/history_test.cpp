// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/history.h"

#include <gtest/gtest.h>

#include <limits>

#include "../io/temporary_folder.h"
#include "riesz/testing/error.h"

namespace riesz {
namespace {

using testing::TemporaryFolder;

const Row kPlain{1, 2.3025850929940459, std::nullopt, 1e-3, 0.1, 12345.678901234567, 1.0 / 3};
const Row kMeasured{2, 1e-300, 0.1 + 0.2, 0, 1e22, 1, 2};

TEST(Csv, RowsReadBackWithTheSameBits) {
  const std::vector<Row> rows = {kPlain, kMeasured};

  EXPECT_EQ(parse_csv(csv_header() + csv_line(kPlain) + csv_line(kMeasured)), rows);
  EXPECT_EQ(parse_csv(csv_header()), std::vector<Row>{});
}

TEST(Csv, WritesShortNumbersShort) {
  EXPECT_EQ(csv_line({3, 0.5, 0.25, 0.001, 2, 100, 1.5}), "3,0.5,0.25,0.001,2,100,1.5\n");
  EXPECT_EQ(csv_line({3, 0.5, std::nullopt, 0.001, 2, 100, 1.5}), "3,0.5,,0.001,2,100,1.5\n");
}

TEST(Csv, NamesTheLineThatIsNoRow) {
  EXPECT_ERROR(parse_csv("a,b\n"), "a history begins with", "a,b");
  EXPECT_ERROR(parse_csv(csv_header() + csv_line(kPlain) + "2,0.5\n"), "line 3", "2,0.5");
  EXPECT_ERROR(parse_csv(csv_header() + "1,x,,0,0,0,0\n"), "line 2");
  EXPECT_ERROR(parse_csv(csv_header() + "1,0.5y,,0,0,0,0\n"), "line 2");
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
