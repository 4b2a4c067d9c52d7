// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Arrays in .npy files, of which workers read boxes.
#include "riesz/io/arrays/stored_array.h"

#include <ATen/ops/arange.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../temporary_folder.h"
#include "bytes_read.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/arrays/write_npy.h"
#include "riesz/io/rows.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

at::Tensor numbers(std::vector<std::int64_t> shape, at::ScalarType type = at::kFloat) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return at::arange(count, at::kLong).view(shape).to(type);
}

/// A file with this head, and elements behind it.
std::string npy(const std::string& head, std::size_t bytes, char version = 1) {
  const auto size = static_cast<char>(head.size());
  const std::string long_size = version > 1 ? std::string("\0\0", 2) : "";
  return std::string("\x93NUMPY") + version + std::string("\0", 1) + size + std::string("\0", 1) + long_size +
         head + std::string(bytes, '\0');
}

std::string error_of(const std::string& bytes) {
  const TemporaryFolder folder;
  try {
    StoredArray(folder.write("a.npy", bytes).string());
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(StoredArray, HasAllTypes) {
  const TemporaryFolder folder;
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kChar, at::kShort, at::kInt,
                                    at::kLong, at::kByte, at::kUInt16, at::kUInt32, at::kBool}) {
    const std::string path = (folder.path() / "a.npy").string();
    const at::Tensor all = numbers({3, 4, 5}, type);
    write_npy(path, all);
    const StoredArray array(path);
    EXPECT_EQ(array.type(), type);
    EXPECT_EQ(array.shape(), (std::vector<std::int64_t>{3, 4, 5}));
    const Box box{{1, 3}, {0, 4}, {2, 3}};
    EXPECT_TRUE(array.read(box).to(at::kDouble).equal(narrow(all.to(at::kDouble), box))) << type;
    EXPECT_EQ(array.read({{1, 1}, {0, 4}, {2, 3}}).numel(), 0);
  }
}

TEST(StoredArray, IsReadByHeadsOfAllVersions) {
  const std::string head = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,3), }  \n";
  for (const char version : {'\1', '\2', '\3'}) EXPECT_EQ(error_of(npy(head, 24, version)), "");
  EXPECT_EQ(error_of(npy("{\"shape\": (3,), \"descr\": \"|u1\", \"fortran_order\": False}", 3)), "");
  EXPECT_EQ(error_of(npy("{'descr': '<f8', 'fortran_order': False, 'shape': ()}", 8)), "");
}

TEST(StoredArray, RefusesOtherFiles) {
  const auto with = [](const std::string& type, const std::string& order = "False") {
    return error_of(npy("{'descr': " + type + ", 'fortran_order': " + order + ", 'shape': (2, 3), }", 24));
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(with("'<f4'", "True"), HasSubstr("Fortran's order, columns first; write it anew"));
  EXPECT_THAT(with("'>f4'"),
              HasSubstr("\">f4\", big-endian; write them little-endian: array.astype(\"<f4\")"));
  EXPECT_THAT(with("'|O'"), HasSubstr("objects of Python"));
  EXPECT_THAT(with("[('a', '<f4')]"), HasSubstr("records of several fields"));
  EXPECT_THAT(with("'<c8'"), HasSubstr("\"<c8\"; the types that are read are f2, f4"));
  EXPECT_THAT(with("<f4'"), HasSubstr("its head is none of a .npy file"));
  EXPECT_THAT(with("'<f4'", "No"), HasSubstr("its head is none of a .npy file"));
  EXPECT_THAT(with("'?f4'"), HasSubstr("\"?f4\"; the types that are read are f2, f4"));
  for (const std::string none : {"{'descr': '<f4', 'shape': (2, 3)}",
                                 "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
                                 "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}",
                                 "{'descr': '<f4' 'fortran_order': False, 'shape': (2, 3)}"})
    EXPECT_THAT(error_of(npy(none, 24)), HasSubstr("its head is none of a .npy file")) << none;
  EXPECT_THAT(with("'<f8'"),
              HasSubstr("take 48 bytes by its head, of shape [2, 3], and it has 24; it was cut off"));
  EXPECT_THAT(with("'<i2'"),
              HasSubstr("take 12 bytes by its head, of shape [2, 3], and it has 24; it has something"));
  EXPECT_THAT(error_of("PK something else"), HasSubstr("does not begin as a .npy file"));
  EXPECT_THAT(error_of("short"), HasSubstr("it has 5 bytes"));
  EXPECT_THAT(error_of(npy("", 4, '\x9')), HasSubstr("version 9"));
  EXPECT_THAT(error_of("\x93NUMPY\x01" + std::string("\0", 1) + "\xff\xff{'descr'"),
              HasSubstr("says that its head has 65535"));
  EXPECT_THAT(
      error_of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 2)}", 8)),
      HasSubstr("it was cut off"));
  EXPECT_ERROR(StoredArray("/no/such/file.npy"), "cannot read \"/no/such/file.npy\": No such file");
  EXPECT_ERROR(StoredArray("some.h5"), "name one of them behind a colon: \"some.h5:DATASET\"");
}

TEST(StoredArray, ReadsTheBytesOfABoxAndNoMore) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "a.npy").string();
  const at::Tensor all = numbers({6, 2, 20, 30});
  write_npy(path, all);
  const StoredArray array(path);
  const Rows rows(array.shape(), array.type(), [&](const Box& box) { return array.read(box); });
  const int p = Runtime::size(), second = p % 2 == 0 ? 2 : 1;
  const Partition mesh = Partition::world().grid({{"a", p / second}, {"b", second}});
  const Space any(mesh, {Space::any, 2, 20, 30});
  for (const Space& X : {any.sharded(0, "a"), any.sharded(2, "a").sharded(3, "b"), any.sharded(1, "b"),
                         any.sharded(3, "a"), any.sharded(0, "b").sharded(2, "a")}) {
    SCOPED_TRACE(to_string(X));
    const Vector x = rows.in(X);
    EXPECT_TRUE(x.local().equal(distribute(x.space(), all).local()));
    EXPECT_EQ(bytes_read([&] { rows.in(X); }), x.local().nbytes());
  }
}

TEST(StoredArray, DigestTellsFilesApart) {
  const TemporaryFolder folder;
  const auto digest = [&](const at::Tensor& all) {
    const std::string path = (folder.path() / "a.npy").string();
    write_npy(path, all);
    return StoredArray(path).digest();
  };
  const at::Tensor all = numbers({5, 40});
  const std::uint64_t first = digest(all);
  EXPECT_EQ(first, digest(all));
  EXPECT_NE(first, digest(all.view({10, 20})));
  EXPECT_NE(first, digest(all.to(at::kDouble)));
  all[3][7].add_(1);
  EXPECT_NE(first, digest(all));
}

TEST(NpyOutput, IsWrittenBoxByBox) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "a.npy").string();
  const at::Tensor all = numbers({4, 6, 5}, at::kInt);
  NpyOutput::make(path, {4, 6, 5}, at::kFloat);
  const NpyOutput output(path);
  for (std::int64_t i = 0; i < 4; i += 2)
    for (const Interval& columns : {Interval{0, 2}, Interval{2, 5}}) {
      const Box box{{i, i + 2}, {0, 6}, columns};
      output.write(box, narrow(all, box));
    }
  EXPECT_TRUE(StoredArray(path).read({{0, 4}, {0, 6}, {0, 5}}).equal(all.to(at::kFloat)));
}

}  // namespace
}  // namespace riesz::testing
