// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "gguf_bytes.h"
#include "riesz/comm/error.h"
#include "riesz/io/gguf/gguf_file.h"
#include "riesz/testing/error.h"
#include "temporary_folder.h"

namespace riesz::testing {
namespace {

std::string hex(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

/// Elements of a tensor, in fp32.
std::vector<float> elements(const GgufFile& file, const std::string& name, const Intervals& wanted) {
  const at::Tensor out = at::empty({total(wanted)}, at::kFloat);
  file.read(name, wanted, out);
  return {out.const_data_ptr<float>(), out.const_data_ptr<float>() + out.numel()};
}

/// A block of each type, and the numbers that the Python package gguf 0.19.0 makes of it.
struct Golden {
  std::uint32_t type;
  const char* block;
  std::array<float, 32> elements;
};

const std::vector<Golden>& golden() {
  static const std::vector<Golden> blocks = {
      {2,
       "102cafc419f643d397675cb98e1748596e2a",
       {0.4443359375,  -0.25390625,   0.0634765625, -0.126953125,  -0.3173828125, -0.3173828125,
        -0.0634765625, -0.0634765625, 0.25390625,   0.0634765625,  0.380859375,   -0.0634765625,
        0.0,           0.0634765625,  0.380859375,  0.126953125,   0.126953125,   0.25390625,
        -0.4443359375, 0.4443359375,  -0.25390625,  0.3173828125,  0.0634765625,  -0.126953125,
        -0.1904296875, 0.1904296875,  0.0,          -0.4443359375, -0.25390625,   -0.1904296875,
        -0.126953125,  -0.380859375}},
      {3,
       "102c33bdafc419f643d397675cb98e1748596e2a",
       {-0.34765625,   -1.0458984375, -0.728515625,  -0.9189453125, -1.109375,     -1.109375,
        -0.85546875,   -0.85546875,   -0.5380859375, -0.728515625,  -0.4111328125, -0.85546875,
        -0.7919921875, -0.728515625,  -0.4111328125, -0.6650390625, -0.6650390625, -0.5380859375,
        -1.236328125,  -0.34765625,   -1.0458984375, -0.474609375,  -0.728515625,  -0.9189453125,
        -0.982421875,  -0.6015625,    -0.7919921875, -1.236328125,  -1.0458984375, -0.982421875,
        -0.9189453125, -1.1728515625}},
      {8,
       "102cda88a7e644b07f87ac004b37fa0613bc2cbf453898b7b570fbbdc02238c9ce26",
       {-2.412109375,  -7.6171875,    -5.6494140625, -1.650390625,  4.31640625,    -5.078125,    8.0615234375,
        -7.6806640625, -5.33203125,   0.0,           4.7607421875,  3.4912109375,  -0.380859375, 0.380859375,
        1.2060546875,  -4.31640625,   2.79296875,    -4.1259765625, 4.3798828125,  3.5546875,    -6.6015625,
        -4.6337890625, -4.7607421875, 7.109375,      -0.3173828125, -4.2529296875, -4.0625,      2.158203125,
        3.5546875,     -3.4912109375, -3.173828125,  2.412109375}}};
  return blocks;
}

/// Each type's numbers, and of them those of any intervals, in another type too.
TEST(Gguf, DequantisesWhatIsWanted) {
  const TemporaryFolder folder;
  GgufBytes bytes;
  for (const Golden& block : golden()) {
    // Blocks of zeros around it: three rows of two blocks, the block being the first of the second row.
    const std::string one = hex(block.block), zero(one.size(), '\0');
    bytes.tensor(concat("t", block.type), {64, 3}, block.type, zero + zero + one + zero + zero + zero);
  }
  bytes.tensor("f32", {3}, 0, raw(1.5F) + raw(-2.25F) + raw(std::numeric_limits<float>::infinity()));
  bytes.tensor("f16", {2}, 1, hex("003c33bd")).tensor("bf16", {2, 1}, 30, hex("803fc0bf"));
  const GgufFile file(folder.write("a.gguf", bytes.bytes()));
  for (const Golden& block : golden()) {
    const std::string name = concat("t", block.type);
    EXPECT_EQ(file.find(name)->shape, (std::vector<std::int64_t>{3, 64}));
    std::vector<float> expected(64, 0);
    expected.insert(expected.end(), block.elements.begin(), block.elements.end());
    expected.resize(192, 0);
    EXPECT_EQ(elements(file, name, {{0, 192}}), expected);
    for (std::size_t i = 0; i < 32; ++i)
      EXPECT_EQ(expected[64 + i], block.elements[i]) << block.type << " " << i;
    // Backwards, across blocks, one by one, none.
    const std::vector<float> some = elements(file, name, {{90, 97}, {3, 3}, {64, 66}, {95, 96}, {190, 192}});
    std::vector<float> same;
    for (const Interval& part : Intervals{{90, 97}, {64, 66}, {95, 96}, {190, 192}})
      same.insert(same.end(), expected.begin() + part.begin, expected.begin() + part.end);
    EXPECT_EQ(some, same);
  }
  EXPECT_EQ(elements(file, "f32", {{1, 3}, {0, 1}}),
            (std::vector<float>{-2.25, std::numeric_limits<float>::infinity(), 1.5}));
  EXPECT_EQ(elements(file, "f16", {{0, 2}}), (std::vector<float>{1, -1.2998046875}));
  EXPECT_EQ(elements(file, "bf16", {{0, 2}}), (std::vector<float>{1, -1.5}));
  const at::Tensor half = at::empty({1}, at::kBFloat16);
  file.read("f16", {{1, 2}}, half);
  EXPECT_EQ(half.item().toDouble(), -1.296875);
  EXPECT_ERROR(file.read("none", {}, half), "no tensor \"none\" among the 6 of", "a.gguf");
  EXPECT_ERROR(file.read("f16", {{1, 3}}, at::empty({2}, at::kFloat)),
               "elements 1 to 3 of \"f16\", which has 2");
}

/// What a group of blocks has room for is no bound: more than 2^18 elements, with gaps, at once.
TEST(Gguf, ReadsMoreThanFitsAtOnce) {
  const TemporaryFolder folder;
  const std::int64_t rows = 9000;
  std::string data;
  for (std::int64_t i = 0; i < rows; ++i) {
    data += hex("003c");  // 1
    for (int j = 0; j < 32; ++j) data += static_cast<char>((i + j) % 100);
  }
  const GgufFile file(folder.write("b.gguf", GgufBytes().tensor("x", {32, rows}, 8, data).bytes()));
  std::vector<float> expected;
  Intervals wanted;
  for (std::int64_t i = 0; i < rows; ++i) {
    wanted.push_back({32 * i + 1, 32 * i + 31});
    for (std::int64_t j = 1; j < 31; ++j) expected.push_back(static_cast<float>((i + j) % 100));
  }
  EXPECT_EQ(elements(file, "x", wanted), expected);
}

/// Metadata of every kind, and lists of them.
TEST(Gguf, KeepsWhatTheMetadataSay) {
  const TemporaryFolder folder;
  const std::string nested = raw(std::uint32_t{9}) + raw(std::uint64_t{1}) + raw(std::uint32_t{1}) +
                             raw(std::uint64_t{2}) + raw(std::int8_t{-1}) + raw(std::int8_t{5});
  GgufBytes bytes;
  bytes.add("u8", 0, raw(std::uint8_t{200}))
      .add("i8", 1, raw(std::int8_t{-3}))
      .add("u16", 2, raw(std::uint16_t{60000}));
  bytes.add("i16", 3, raw(std::int16_t{-300}))
      .integer("u32", 4000000000)
      .add("i32", 5, raw(-7))
      .number("f32", 1e-5F);
  bytes.flag("yes", true)
      .text("name", "a\nb")
      .add("u64", 10, raw(~std::uint64_t{0}))
      .add("i64", 11, raw(std::int64_t{-9}));
  bytes.add("f64", 12, raw(0.1))
      .texts("tokens", {"", "\xc4\xa0the"})
      .integers("types", {1, -2})
      .add("nested", 9, nested);
  bytes.add("yes and no", 9, raw(std::uint32_t{7}) + raw(std::uint64_t{2}) + std::string("\x01\0", 2));
  const GgufFile file(folder.write("m.gguf", bytes.bytes(2)));
  const GgufMetadata& said = file.metadata();
  EXPECT_EQ(said.integer("u8"), 200);
  EXPECT_EQ(said.integer("i8"), -3);
  EXPECT_EQ(said.integer("u16"), 60000);
  EXPECT_EQ(said.integer("i16"), -300);
  EXPECT_EQ(said.integer("u32"), 4000000000);
  EXPECT_EQ(said.integer("i32"), -7);
  EXPECT_EQ(said.integer("i64"), -9);
  EXPECT_EQ(said.number("f32"), 1e-5);
  EXPECT_EQ(said.number("f64"), 0.1);
  EXPECT_TRUE(said.flag("yes"));
  EXPECT_EQ(said.text("name"), "a\nb");
  EXPECT_EQ(said.texts("tokens"), (std::vector<std::string>{"", "\xc4\xa0the"}));
  EXPECT_EQ(said.integers("types"), (std::vector<std::int64_t>{1, -2}));
  EXPECT_EQ(said.integer("none", 4), 4);
  const auto& lists =
      std::get<std::vector<GgufList>>(std::get<GgufList>(said.all().at("nested").value).elements);
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(lists.at(0).elements), (std::vector<std::int64_t>{-1, 5}));
  EXPECT_EQ(std::get<std::vector<bool>>(std::get<GgufList>(said.all().at("yes and no").value).elements),
            (std::vector<bool>{true, false}));
  EXPECT_ERROR(said.integer("u64"), "m.gguf", "its u64 is 18446744073709551615, which is more than 2^63 - 1");
  EXPECT_ERROR(said.integer("name"), "its name is a text, not an integer");
  EXPECT_ERROR(said.texts("types"), "its types is a list of 2, each an integer, not a list of texts");
  EXPECT_ERROR(said.number("none"), "its none is missing");
}

/// Each rule of the format, broken once.
TEST(Gguf, IsStrict) {
  const TemporaryFolder folder;
  const std::string good = GgufBytes()
                               .integer("a", 1)
                               .tensor("x", {2}, 0, raw(1.0F) + raw(2.0F))
                               .tensor("y", {1}, 0, raw(3.0F))
                               .bytes();
  const auto with = [&](const std::string& bytes) { return GgufFile(folder.write("c.gguf", bytes)); };
  EXPECT_EQ(with(good).tensors().size(), 2u);
  const auto put = [&](std::size_t at, const std::string& bytes) {
    return std::string(good).replace(at, bytes.size(), bytes);
  };
  const std::size_t key = 24, x = key + 8 + 1 + 4 + 4, dims = x + 8 + 1, type = dims + 4 + 8,
                    begin = type + 4;
  const std::size_t y = begin + 8, y_begin = y + 8 + 1 + 4 + 8 + 4;
  EXPECT_ERROR(with("GGUFx"), "c.gguf",
               "its version has 4 bytes, and the file has 1 bytes after byte 4; it is cut off");
  EXPECT_ERROR(with(put(0, "GGML")), "does not begin with GGUF");
  EXPECT_ERROR(with(put(4, raw(1))), "its version is 1; 2 and 3 are read; make it anew");
  EXPECT_ERROR(with(put(4, std::string("\0\0\0\x03", 4))), "big-endian");
  EXPECT_ERROR(
      with(put(8, raw(std::uint64_t{1} << 60))),
      "the list of its tensors has 1152921504606846976 elements of 33 bytes or more, and the file has");
  EXPECT_ERROR(with(put(16, raw(std::uint64_t{1} << 40))),
               "its metadata has 1099511627776 elements of 14 bytes");
  EXPECT_ERROR(with(put(key, raw(std::uint64_t{1} << 40))),
               "metadata 1 of 1: its key has 1099511627776 bytes");
  EXPECT_ERROR(with(put(key + 9, raw(13))), "metadata \"a\": its kind is 13; there are 0 to 12");
  EXPECT_ERROR(with(GgufBytes().integer("a", 1).integer("a", 2).bytes()),
               "metadata \"a\": the key stands there twice");
  EXPECT_ERROR(with(GgufBytes().integer("", 1).bytes()), "metadata 1 of 1: its key is empty");
  EXPECT_ERROR(with(GgufBytes().add("t", 7, "\x02").bytes()),
               "metadata \"t\": it is true or false, and its byte is 2");
  EXPECT_ERROR(with(GgufBytes().add("l", 9, raw(10) + raw(std::uint64_t{1} << 33)).bytes()),
               "metadata \"l\": its list has 8589934592 elements of 8 bytes or more");
  std::string deep;
  for (int i = 0; i < 9; ++i) deep += raw(9) + raw(std::uint64_t{1});
  EXPECT_ERROR(with(GgufBytes().add("l", 9, deep).bytes()),
               "metadata \"l\": lists within lists more than 8 deep");
  EXPECT_ERROR(with(put(x, raw(std::uint64_t{65}))), "tensor 1 of 2: its name has 65 bytes; it may have 64");
  EXPECT_ERROR(with(put(dims, raw(0))), "tensor \"x\": it has 0 dims; a tensor has 1 to 4");
  EXPECT_ERROR(with(put(dims + 4, raw(std::int64_t{0}))), "tensor \"x\": a dim of 0 elements");
  EXPECT_ERROR(with(put(dims + 4, raw(std::int64_t{1} << 62))), "tensor \"x\": the shape",
               "more than 2^63 - 1 bytes");
  EXPECT_ERROR(
      with(put(type, raw(12))),
      "tensor \"x\": its type is Q4_K, which is not read here; F32, F16, BF16, Q8_0, Q4_0, Q4_1 are");
  EXPECT_ERROR(with(put(type, raw(77))), "its type is number 77");
  EXPECT_ERROR(with(put(type, raw(2))), "its rows have 2 elements, no multiple of the 32 of a block of Q4_0");
  EXPECT_ERROR(with(put(begin, raw(std::int64_t{-1}))), "it begins at byte 18446744073709551615 of the data");
  EXPECT_ERROR(with(put(y_begin, raw(std::int64_t{0}))),
               "tensor \"x\": it begins at byte 0 of the data and overlaps \"y\", which ends at 4");
  EXPECT_ERROR(with(put(begin, raw(std::int64_t{4}))),
               "it begins at byte 4 of the data, no multiple of the alignment, 32");
  EXPECT_ERROR(with(put(y + 8, "x")), "tensor \"x\": the name stands there twice");
  EXPECT_ERROR(with(good.substr(0, good.size() - 32)),
               "tensor \"y\": it ends at byte 36 of the data, and the file has 32; the file is cut off");
  EXPECT_ERROR(with(good + std::string(40, '\0')),
               "it has 104 bytes of data, and its tensors end at 36; nothing may come after");
  EXPECT_ERROR(with(put(y_begin, raw(std::int64_t{64})) + std::string(32, '\0')),
               "tensor \"y\": a hole of 56 bytes is before it");
  EXPECT_ERROR(with(GgufBytes().integer("general.alignment", 24).bytes()),
               "metadata \"general.alignment\": it is 24; it must be a power of two");
}

}  // namespace
}  // namespace riesz::testing
