// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Images of one copy a host: the same as those that a worker reads alone.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "../shared_folder.h"
#include "idx_bytes.h"
#include "png_bytes.h"
#include "riesz/comm/communicator.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/error.h"
#include "riesz/io/host_copy.h"
#include "riesz/io/images/image_set.h"
#include "riesz/testing/error.h"

namespace riesz {
namespace {

using ::testing::HasSubstr;
using testing::idx_bytes;
using testing::png_bytes;
using testing::SharedFolder;

const ImageForm kForm{.channels = 3, .size = 8};

/// Files that all workers see.
class Folder {
 public:
  void write(const std::string& name, const std::string& bytes) const {
    const std::filesystem::path file = folder_.path() / name;
    std::filesystem::create_directories(file.parent_path());
    if (Runtime::rank() == 0) std::ofstream(file, std::ios::binary) << bytes;
    wait_for_all(Partition::world());
  }
  /// A picture for each of 11 files, of two labels.
  void write_pictures() const {
    for (int i = 0; i < 11; ++i) write(name_of(i), png_bytes(picture(i), PNG_FORMAT_RGB));
  }
  static std::string name_of(int i) { return concat(i < 7 ? "cat/" : "dog/", 10 + i, ".png"); }
  static at::Tensor picture(int i) {
    return (at::arange(3 * 9 * 12, at::kLong) * (31 + 2 * i) % 251).to(at::kByte).view({3, 9, 12});
  }
  ImageList list() const { return list_images(folder_.path()).training; }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  SharedFolder folder_;
};

ImageSet read_alone(const ImageList& list) {
  return read_images(list, kForm, Partition::world().subset({Runtime::rank()}));
}

/// How a tensor's memory is mapped, by its line in /proc/self/maps: its permissions, and which file it is.
struct Mapping {
  std::string permissions, device_and_number;
};
Mapping mapping_of(const at::Tensor& tensor) {
  const auto place = reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr());
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream in(line);
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::string offset, device, number;
    Mapping mapping;
    in >> std::hex >> begin >> dash >> end >> mapping.permissions >> offset >> device >> number;
    mapping.device_and_number = device + " " + number;
    if (begin <= place && place < end) return mapping;
  }
  return {};
}

TEST(OneCopy, HasTheImagesThatAWorkerReadsAlone) {
  const Folder folder;
  folder.write_pictures();
  const ImageList some = folder.list().subset({10, 3, 0, 7, 1});
  const ImageList one = folder.list().subset({4}), none = folder.list().subset({});  // fewer than workers
  for (const ImageList& list : {folder.list(), some, one, none}) {
    const ImageSet alone = read_alone(list);
    const auto before = Counters::instance().by_operation();
    const ImageSet together = read_images(list, kForm);
    auto after = Counters::instance().by_operation();
    after.erase("CheckAlike");
    EXPECT_TRUE(together.images.equal(alone.images));
    EXPECT_TRUE(together.labels.equal(alone.labels));
    EXPECT_EQ(together.names, alone.names);
    for (const auto& [name, traffic] : after)
      EXPECT_EQ(traffic, before.contains(name) ? before.at(name) : Traffic{}) << name;
  }
  EXPECT_TRUE(read_alone(some).images.select(0, 1).equal(
      to_form(Folder::picture(3).unsqueeze(0), kForm).select(0, 0)));
}

TEST(OneCopy, OfAnArraysRows) {
  const Folder folder;
  const std::int64_t rows = 70000;  // more than are read at a time
  const at::Tensor pixels = (at::arange(rows * 16, at::kLong) * 7 % 253).to(at::kByte);
  const std::string bytes(static_cast<const char*>(pixels.const_data_ptr()), pixels.nbytes());
  for (const std::string part : {"train", "t10k"}) {
    folder.write(part + "-images-idx3-ubyte", idx_bytes({static_cast<int>(rows), 4, 4}, bytes));
    folder.write(part + "-labels-idx1-ubyte", idx_bytes({static_cast<int>(rows)}, std::string(rows, '\1')));
  }
  const ImageList list = folder.list();
  EXPECT_TRUE(read_images(list, {1, 4}).images.flatten().equal(pixels));

  folder.write("train-images-idx3-ubyte", idx_bytes({static_cast<int>(rows), 4, 4}, bytes + "x"));
  EXPECT_ERROR(read_images(list, {1, 4}), "train-images-idx3-ubyte\": it has more than its 1120000 elements");
  folder.write("train-images-idx3-ubyte",
               idx_bytes({static_cast<int>(rows), 4, 4}, bytes.substr(0, bytes.size() - 5)));
  EXPECT_ERROR(read_images(list, {1, 4}), "it ends after 1119995 of its 1120000 elements");
}

/// Of all holders the same file, in read-only pages.
TEST(OneCopy, IsOneMemoryThatNobodyWrites) {
  const Folder folder;
  folder.write_pictures();
  int holders = 1;
  for (int rank = 0; rank < Runtime::size(); ++rank) {
    if (rank != Runtime::rank() && Communicator::world().shares_memory_with(rank)) ++holders;
  }
  EXPECT_EQ(holders_of_host_copy(Partition::world()), holders);
  const ImageSet set = read_images(folder.list(), kForm);

  const Mapping mapping = mapping_of(set.images);
  const std::vector<std::string> all = collect_texts(Partition::world(), mapping.device_and_number);

  EXPECT_EQ(mapping.permissions, holders == 1 ? "rw-p" : "r--s");
  if (holders == 1) return;
  EXPECT_EQ(std::count(all.begin(), all.end(), mapping.device_and_number), holders);
}

/// As of a folder in which a file was renamed between two looks, and one that has a file more.
TEST(OneCopy, IsOfOneListOrAnErrorOnAll) {
  const Folder folder;
  folder.write_pictures();
  const ImageList list = folder.list();
  const bool last = Runtime::rank() + 1 == Runtime::size();
  for (const ImageList& other : {list.subset({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9}), list.subset({0, 1})}) {
    const auto read = [&] { return read_images(last ? other : list, kForm); };
    if (Runtime::size() == 1) {
      EXPECT_EQ(read().count(), other.count());
    } else {
      EXPECT_ERROR(read(),
                   concat("the list of images differs between rank 0 and rank ", Runtime::size() - 1));
    }
  }
}

TEST(OneCopy, OfAFileThatCannotBeReadIsAnErrorOnAllThatNamesTheFirst) {
  const Folder folder;
  folder.write_pictures();
  const ImageList list = folder.list();
  for (const int damaged : {10, 6, 4}) {
    folder.write(Folder::name_of(damaged), "\x89PNG\r\n\x1a\n");
    EXPECT_ERROR(read_images(list, kForm), "cannot read the image \"", Folder::name_of(damaged) + "\"");
  }
  folder.write_pictures();
  EXPECT_EQ(read_images(list, kForm).count(), 11) << "and then it goes on";
}

/// Those that can be read are as in a list that has no others, wherever the gaps are.
TEST(OneCopy, OfReadableImagesLeavesOutTheDamagedOnes) {
  const Folder folder;
  folder.write_pictures();
  const ImageList list = folder.list();
  const ImageSet whole = read_images(list, kForm);
  const std::vector<std::vector<std::int64_t>> cases{
      {}, {0}, {10}, {5}, {0, 1, 2}, {2, 3, 4, 7, 10}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}};
  for (const std::vector<std::int64_t>& damaged : cases) {
    folder.write_pictures();
    std::vector<std::int64_t> kept;
    for (int i = 0; i < 11; ++i) {
      const bool bad = std::find(damaged.begin(), damaged.end(), i) != damaged.end();
      if (bad) folder.write(Folder::name_of(i), "\x89PNG\r\n\x1a\n");
      if (!bad) kept.push_back(i);
    }
    const ReadableImages readable = read_readable_images(list, kForm);
    EXPECT_EQ(readable.damaged, damaged);
    ASSERT_EQ(readable.set.count(), static_cast<std::int64_t>(kept.size()));
    EXPECT_TRUE(readable.set.images.equal(whole.subset(kept).images)) << kept.size();
    EXPECT_TRUE(readable.set.labels.equal(whole.subset(kept).labels)) << kept.size();
    EXPECT_EQ(readable.set.names, whole.names);
    if (damaged.empty()) {
      EXPECT_EQ(readable.why, "");
    } else {
      EXPECT_THAT(readable.why, HasSubstr(Folder::name_of(static_cast<int>(damaged.front())) + "\""));
    }
    const bool shared = !kept.empty() && holders_of_host_copy(Partition::world()) > 1;
    if (shared) {
      EXPECT_EQ(mapping_of(readable.set.images).permissions, "r--s");
    }
  }
}

/// As of a file that is damaged on the disk of one host alone.
TEST(OneCopy, LeavesOutWhatAnyWorkerMisses) {
  const std::int64_t rows = 4 * Runtime::size() + 3;
  const SomeRows some = host_copy_of_those(
      Partition::world(), {rows, 2}, at::kLong, [&](const Interval& mine, const at::Tensor& piece) {
        const at::Tensor values = at::arange(mine.begin, mine.end, at::kLong).unsqueeze(1).expand({-1, 2});
        piece.copy_(values);
        return std::vector<MissingRow>{{mine.begin, concat("of rank ", Runtime::rank())},
                                       {mine.begin + 2, "not the first"}};
      });
  const std::string mine = concat(some.missing.front(), " ", some.why);
  for (const std::string& text : collect_texts(Partition::world(), mine)) EXPECT_EQ(text, mine);
  EXPECT_EQ(some.missing.front(), 0);
  EXPECT_EQ(some.why, "of rank 0");
  const std::set<std::int64_t> missing(some.missing.begin(), some.missing.end());
  std::vector<std::int64_t> kept;
  for (std::int64_t row = 0; row < rows; ++row) {
    if (!missing.contains(row)) kept.push_back(row);
  }
  // The hosts with most workers cut the rows into most parts; what the others miss is among theirs.
  std::size_t most = 0;
  const std::string holders = std::to_string(holders_of_host_copy(Partition::world()));
  for (const std::string& text : collect_texts(Partition::world(), holders))
    most = std::max<std::size_t>(most, std::stoul(text));
  EXPECT_EQ(missing.size(), 2 * most);
  EXPECT_TRUE(some.rows.equal(at::tensor(kept, at::kLong).unsqueeze(1).expand({-1, 2})));
}

}  // namespace
}  // namespace riesz
