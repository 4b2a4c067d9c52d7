// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "riesz/io/file.h"
#include "riesz/io/safetensors/header.h"
#include "riesz/io/safetensors/stored_tensors.h"
#include "riesz/io/safetensors/tensor_sums.h"
#include "riesz/io/safetensors/types.h"
#include "riesz/partition/split.h"
#include "riesz/testing/error.h"
#include "safetensors_bytes.h"
#include "temporary_folder.h"

namespace riesz::testing {
namespace {

const std::vector<const char*> kNames = {"BOOL", "U8",  "I8",  "F8_E5M2", "F8_E4M3", "F8_E8M0",
                                         "I16",  "U16", "F16", "BF16",    "I32",     "U32",
                                         "F32",  "C64", "F64", "I64",     "U64"};

/// Bytes that are different from element to element, as a tensor of a type.
at::Tensor some(at::ScalarType type, std::vector<std::int64_t> shape) {
  const at::Tensor result = at::empty(shape, type);
  auto* bytes = static_cast<unsigned char*>(result.data_ptr());
  for (std::size_t i = 0; i < result.nbytes(); ++i)
    bytes[i] = static_cast<unsigned char>(type == at::kBool ? i % 2 : 7 * i + 1);
  return result;
}

std::string bytes_of(const at::Tensor& x) {
  return {static_cast<const char*>(x.const_data_ptr()), static_cast<std::size_t>(x.nbytes())};
}

/// All types, scalars, no elements, and names of any characters come back as they went.
TEST(Safetensors, KeepsEveryType) {
  const TemporaryFolder folder;
  std::vector<StoredTensor> tensors;
  std::map<std::string, at::Tensor> values;
  for (const char* name : kNames) {
    const at::ScalarType type = safetensors_type(name).value();
    EXPECT_STREQ(safetensors_name(type), name);
    const std::string own = std::string("t\"\\\n\u00e4 ") + name;
    values[own] = some(type, {3, 5});
    tensors.push_back({own, type, {3, 5}, {}});
  }
  tensors.push_back({"scalar", at::kFloat, {}, {}});
  values["scalar"] = some(at::kFloat, {});
  tensors.push_back({"none", at::kHalf, {2, 0}, {}});
  values["none"] = some(at::kHalf, {2, 0});

  const SafetensorsHeader header = lay_out(tensors, {{"format", "pt"}});
  std::string bytes = header_bytes(header);
  for (const StoredTensor& tensor : header.tensors) {
    EXPECT_EQ(tensor.place.begin, static_cast<std::int64_t>(bytes.size()));
    const auto width = static_cast<std::int64_t>(c10::elementSize(tensor.type));
    EXPECT_EQ(tensor.place.begin % width, 0) << tensor.name;  // aligned
    bytes += bytes_of(values.at(tensor.name));
  }
  EXPECT_EQ(header.file_bytes(), static_cast<std::int64_t>(bytes.size()));

  const StoredTensors files(folder.write("all.safetensors", bytes));
  EXPECT_EQ(files.tensors().size(), values.size());
  EXPECT_EQ(files.metadata().at("format"), "pt");
  for (const auto& [name, value] : values) {
    const at::Tensor out = at::empty({value.numel()}, value.options());
    files.read(name, {{0, value.numel()}}, out);
    EXPECT_EQ(bytes_of(out), bytes_of(value)) << name;
    EXPECT_EQ(at::IntArrayRef(files.find(name)->shape), value.sizes());
  }
}

/// Byte for byte what the safetensors library (0.8.0, from Python) writes for these: its order of types and
/// names, its JSON and padding.
TEST(Safetensors, WritesWhatTheLibraryWrites) {
  std::vector<StoredTensor> tensors{{"\u00e4\"\\\n/\x01", at::kFloat, {}, {}},
                                    {"none", at::kHalf, {2, 0}, {}}};
  for (const char* name : kNames) tensors.push_back({name, safetensors_type(name).value(), {2}, {}});
  const std::string head =
      R"({"__metadata__":{"format":"pt"},"U64":{"dtype":"U64","shape":[2],"data_offsets":[0,16]},)"
      R"("I64":{"dtype":"I64","shape":[2],"data_offsets":[16,32]},)"
      R"("F64":{"dtype":"F64","shape":[2],"data_offsets":[32,48]},)"
      R"("C64":{"dtype":"C64","shape":[2],"data_offsets":[48,64]},)"
      R"("F32":{"dtype":"F32","shape":[2],"data_offsets":[64,72]},)"
      "\"\u00e4\\\"\\\\\\n/\\u0001\""
      R"(:{"dtype":"F32","shape":[],"data_offsets":[72,76]},)"
      R"("U32":{"dtype":"U32","shape":[2],"data_offsets":[76,84]},)"
      R"("I32":{"dtype":"I32","shape":[2],"data_offsets":[84,92]},)"
      R"("BF16":{"dtype":"BF16","shape":[2],"data_offsets":[92,96]},)"
      R"("F16":{"dtype":"F16","shape":[2],"data_offsets":[96,100]},)"
      R"("none":{"dtype":"F16","shape":[2,0],"data_offsets":[100,100]},)"
      R"("U16":{"dtype":"U16","shape":[2],"data_offsets":[100,104]},)"
      R"("I16":{"dtype":"I16","shape":[2],"data_offsets":[104,108]},)"
      R"("F8_E8M0":{"dtype":"F8_E8M0","shape":[2],"data_offsets":[108,110]},)"
      R"("F8_E4M3":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[110,112]},)"
      R"("F8_E5M2":{"dtype":"F8_E5M2","shape":[2],"data_offsets":[112,114]},)"
      R"("I8":{"dtype":"I8","shape":[2],"data_offsets":[114,116]},)"
      R"("U8":{"dtype":"U8","shape":[2],"data_offsets":[116,118]},)"
      R"("BOOL":{"dtype":"BOOL","shape":[2],"data_offsets":[118,120]}})";
  const std::string padding((8 - head.size() % 8) % 8, ' ');
  EXPECT_EQ(header_bytes(lay_out(tensors, {{"format", "pt"}})), safetensors_bytes(head + padding, ""));
}

/// Any elements, in any order, cast or not, also from a place that is not aligned.
TEST(Safetensors, ReadsTheElementsThatAreWanted) {
  const TemporaryFolder folder;
  const std::int64_t n = 40'000;
  const at::Tensor all = at::arange(n, at::kFloat);
  std::string head = R"({"x":{"dtype":"F32","shape":[200,200],"data_offsets":[0,160000]}})";
  const StoredTensors files(folder.write("x.safetensors", safetensors_bytes(head + " ", bytes_of(all))));
  ASSERT_EQ(files.find("x")->place.begin % 2, 1 - static_cast<int>(head.size() % 2));
  Intervals columns{{39'990, n}, {}, {0, 3}};
  for (std::int64_t row = 0; row < 200; ++row) columns.push_back({200 * row + 20, 200 * row + 31 + row % 5});
  columns.push_back({100, 21'000});
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const at::Tensor out = at::empty({total(columns)}, type);
    const auto version = out._version();
    files.read("x", columns, out);
    EXPECT_GT(out._version(), version) << "who keeps a copy of it by its version sees the write";
    std::int64_t at = 0;
    for (const Interval& part : columns) {
      EXPECT_TRUE(at::equal(out.narrow(0, at, part.size()), all.narrow(0, part.begin, part.size()).to(type)));
      at += part.size();
    }
  }
  EXPECT_ERROR(files.read("y", {}, at::empty({0})), "there is no tensor \"y\" among the 1 of",
               "x.safetensors");
}

/// Of every type; and how the same tensor of two files differs.
TEST(Safetensors, AddsUpAndCompares) {
  const TemporaryFolder folder;
  for (const char* name : kNames) {
    const std::string head = std::string(R"({"x":{"dtype":")") + name + R"(","shape":[8],"data_offsets":[0,)";
    const at::Tensor x = some(safetensors_type(name).value(), {8});
    const std::string end = std::to_string(x.nbytes()) + "]}}";
    const StoredTensors files(folder.write("x.safetensors", safetensors_bytes(head + end, bytes_of(x))));
    EXPECT_EQ(difference_of(files, files, *files.find("x")).elements, 0) << name;
    const TensorSums sums = sums_of(files, *files.find("x"));
    if (std::string(name) == "BOOL") {
      EXPECT_EQ(sums.sum, 4);
    }
    if (std::string(name) == "U8") {
      EXPECT_EQ(sums.sum, 8 + 7 * 28);
    }
    if (std::string(name) == "U16") {
      EXPECT_EQ(sums.greatest, 99 + 256 * 106);
    }
  }
  const auto of = [&](const char* name, std::vector<float> numbers) {
    std::string data(reinterpret_cast<const char*>(numbers.data()), 16);
    return StoredTensors(folder.write(
        name, safetensors_bytes(R"({"x":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})", data)));
  };
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinite = std::numeric_limits<float>::infinity();
  const StoredTensors a = of("a.safetensors", {1, nan, -5, infinite});
  const StoredTensors b = of("b.safetensors", {2, nan, -5.5, 4});
  const TensorSums sums = sums_of(a, *a.find("x"));
  EXPECT_EQ(sums.sum, -4);
  EXPECT_EQ(sums.greatest, 5);
  EXPECT_EQ(sums.not_finite, 2);
  const TensorDifference difference = difference_of(a, b, *a.find("x"));
  EXPECT_EQ(difference.elements, 3);
  EXPECT_EQ(difference.greatest, 1);
}

/// Integers that fp64 does not tell apart, to either side of zero.
TEST(Safetensors, ComparesIntegersExactly) {
  const TemporaryFolder folder;
  const auto of = [&](const char* name, const char* type, std::array<std::uint64_t, 3> numbers) {
    const std::string head =
        std::string(R"({"x":{"dtype":")") + type + R"(","shape":[3],"data_offsets":[0,24]}})";
    const std::string data(reinterpret_cast<const char*>(numbers.data()), 24);
    return StoredTensors(folder.write(name, safetensors_bytes(head, data)));
  };
  constexpr std::uint64_t kGreat = (std::uint64_t{1} << 53) + 1, kAll = ~std::uint64_t{0};
  for (const char* type : {"I64", "U64"}) {
    const StoredTensors a = of("a.safetensors", type, {kGreat, kAll, 7});
    const StoredTensors b = of("b.safetensors", type, {kGreat - 1, kAll - 1, 7});
    const StoredTensors c = of("c.safetensors", type, {kGreat, 0, 7});
    EXPECT_EQ(difference_of(a, a, *a.find("x")).elements, 0) << type;
    EXPECT_EQ(difference_of(a, b, *a.find("x")).elements, 2) << type;
    EXPECT_EQ(difference_of(b, a, *a.find("x")).greatest, 1) << type;
    const bool with_sign = std::string(type) == "I64";
    EXPECT_EQ(difference_of(a, c, *a.find("x")).greatest, with_sign ? 1 : static_cast<double>(kAll)) << type;
  }
}

/// What is broken, where, in a file of 11 bytes of data.
const std::vector<std::tuple<std::string, std::vector<std::string>>>& broken_heads() {
  static const std::vector<std::tuple<std::string, std::vector<std::string>>> heads = {
      {"[]", {"its head does not begin with {"}},
      {R"( {"a":{}})", {"does not begin with {"}},
      {R"({"a")", {"its head is no JSON"}},
      {"{\"\xff\":1}", {"its head is no JSON"}},
      {R"({} {})", {"its head is no JSON"}},
      {R"({"a":1})", {"tensor \"a\"", "no JSON object"}},
      {R"({"a":[[[1]]]})", {"its head", "more than 2 deep"}},
      {R"({"a":{"dtype":"U8","shape":[11],"data_offsets":[0,11],"x":1}})",
       {"tensor \"a\"", "a member \"x\""}},
      {R"({"a":{"dtype":"U8","shape":[11]}})", {"tensor \"a\"", "no data_offsets"}},
      {R"({"a":{"dtype":"F4","shape":[11],"data_offsets":[0,11]}})",
       {"tensor \"a\"", "\"F4\" is none of BOOL"}},
      {R"({"a":{"dtype":8,"shape":[11],"data_offsets":[0,11]}})", {"tensor \"a\"", "dtype is no text"}},
      {R"({"a":{"dtype":"U8","shape":[-11],"data_offsets":[0,11]}})", {"its shape has -11"}},
      {R"({"a":{"dtype":"U8","shape":[11.0],"data_offsets":[0,11]}})", {"its shape has 11.0"}},
      {R"({"a":{"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,11]}})",
       {"its shape has 92233"}},
      {R"({"a":{"dtype":"U8","shape":11,"data_offsets":[0,11]}})", {"its shape is no list"}},
      {R"({"a":{"dtype":"F64","shape":[4294967296,4294967296,0],"data_offsets":[0,11]}})",
       {"more than 2^63 - 1"}},
      {R"({"a":{"dtype":"U8","shape":[11],"data_offsets":[0,11,12]}})",
       {"not where it begins and where it ends"}},
      {R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[11,0]}})", {"not where it begins"}},
      {R"({"a":{"dtype":"U8","shape":[10],"data_offsets":[0,11]}})",
       {"have 11 bytes, and U8 of [10] has 10"}},
      {R"({"a":{"dtype":"F16","shape":[5],"data_offsets":[0,11]}})",
       {"have 11 bytes, and F16 of [5] has 10"}},
      {R"({"a":{"dtype":"U8","shape":[12],"data_offsets":[0,12]}})",
       {"ends at byte 12", "has 11", "cut off"}},
      {R"({"a":{"dtype":"U8","shape":[10],"data_offsets":[0,10]}})",
       {"11 bytes of data, and its tensors 10"}},
      {R"({"a":{"dtype":"U8","shape":[10],"data_offsets":[1,11]}})", {"tensor \"a\": a hole of 1 bytes"}},
      {R"({"a":{"dtype":"U8","shape":[6],"data_offsets":[0,6]},"b":{"dtype":"U8","shape":[6],"data_offsets":[5,11]}})",
       {"tensor \"b\": it begins at byte 5", "overlaps \"a\", which ends at 6"}},
      {R"({"a":{"dtype":"U8","shape":[6],"data_offsets":[0,6]},"a":{"dtype":"U8","shape":[5],"data_offsets":[6,11]}})",
       {"the name \"a\" stands there twice"}},
      {R"({"a":{"dtype":"U8","dtype":"U8","shape":[11],"data_offsets":[0,11]}})",
       {"in \"a\": the name \"dtype\" stands there twice"}},
      {R"({"__metadata__":{"x":1},"a":{"dtype":"U8","shape":[11],"data_offsets":[0,11]}})",
       {"__metadata__: \"x\" is no text"}}};
  return heads;
}

TEST(Safetensors, SaysWhatIsBroken) {
  const TemporaryFolder folder;
  const std::string data(11, 'x');
  EXPECT_EQ(StoredTensors(folder.write("a.safetensors", safetensors_bytes(kTwoTensors, data))).bytes(), 11);
  for (const auto& [head, parts] : broken_heads()) {
    SCOPED_TRACE(head);
    std::vector<std::string> said = parts;
    said.emplace_back("a.safetensors\"");
    const auto path = folder.write("a.safetensors", safetensors_bytes(head, data));
    EXPECT_TRUE(throws_error([&] { StoredTensors files(path); }, said));
  }
  const auto refused = [&](const std::string& bytes, const std::string& part) {
    EXPECT_ERROR(StoredTensors(folder.write("a.safetensors", bytes)), "a.safetensors", part);
  };
  refused("", "it has 0 bytes");
  refused("1234567", "it has 7 bytes");
  refused("12345678", "it is no safetensors file, or it is damaged");
  refused(safetensors_bytes("{}", "").substr(0, 9), "head has 2 bytes, and has 1 after that; it is cut off");
  EXPECT_EQ(StoredTensors(folder.write("a.safetensors", safetensors_bytes("{}", ""))).tensors().size(), 0u);
  // Padding is of spaces: a parser may take a byte 0 for the end, and pass over what comes behind it.
  const std::string padded = kTwoTensors;
  refused(safetensors_bytes(padded + std::string(3, '\0'), data),
          "its head is no JSON: byte 110 of 112 is 0");
  refused(safetensors_bytes(padded + std::string(1, '\0') + "{}", data), "is 0");
  EXPECT_EQ(StoredTensors(folder.write("a.safetensors", safetensors_bytes(padded + "   ", data))).bytes(),
            11);
}

/// Several files with an index, beside what an index may not say.
TEST(Safetensors, ReadsWhatAnIndexLists) {
  const TemporaryFolder folder;
  const auto one = [](const char* name) {
    return safetensors_bytes(
        std::string(R"({")") + name + R"(":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})",
        name + std::string("yz"));
  };
  const auto index = [&](const std::string& map) {
    return folder.write("model.safetensors.index.json",
                        R"({"metadata":{"total_size":6},"weight_map":)" + map + "}");
  };
  folder.write("model-1.safetensors", one("a"));
  folder.write("model-2.safetensors", one("b"));
  index(R"({"a":"model-1.safetensors","b":"model-2.safetensors"})");
  const StoredTensors files(folder.path());
  const at::Tensor out = at::empty({3}, at::kByte);
  files.read("b", {{0, 3}}, out);
  EXPECT_EQ(bytes_of(out), "byz");
  EXPECT_EQ(files.bytes(), 6);

  EXPECT_ERROR(StoredTensors(index(R"({"a":"model-1.safetensors","c":"model-2.safetensors"})")),
               "tensor \"c\": it is not in", "model-2.safetensors");
  EXPECT_ERROR(StoredTensors(index(R"({"a":"model-2.safetensors","b":"model-2.safetensors"})")),
               "tensor \"a\"");
  EXPECT_ERROR(StoredTensors(index(R"({"a":"../model-1.safetensors"})")), "tensor \"a\"", "beside the index");
  EXPECT_ERROR(StoredTensors(index(R"({"a":"model-3.safetensors"})")), "model-3.safetensors", "No such file");
  EXPECT_ERROR(StoredTensors(index(R"({"a":1})")), "tensor \"a\": its file is \"no text\"");
  EXPECT_ERROR(StoredTensors(index(R"({"a":"model-1.safetensors","a":"model-2.safetensors"})")),
               "the name \"a\" stands there twice");
  folder.write("model-2.safetensors", one("a"));
  EXPECT_ERROR(StoredTensors(index(R"({"a":"model-1.safetensors","b":"model-2.safetensors"})")),
               "tensor \"a\": it is also in", "model-1.safetensors");
}

TEST(Safetensors, SaysWhatToTakeInstead) {
  const TemporaryFolder folder;
  const auto pickle = folder.write("pytorch_model.bin", "x");
  EXPECT_ERROR(StoredTensors{pickle}, "pytorch_model.bin", "Python pickle", "save_file(torch.load(");
  EXPECT_ERROR(StoredTensors(folder.path()), "pytorch_model.bin", "Python pickle");
  std::filesystem::rename(pickle, folder.path() / "x.txt");
  EXPECT_ERROR(StoredTensors(folder.path()), "has neither model.safetensors nor model.safetensors.index.json",
               "it has x.txt");
  EXPECT_ERROR(StoredTensors(folder.path() / "x.txt"), "ends neither in .safetensors nor in");
  EXPECT_ERROR(StoredTensors(folder.path() / "none"), "there is no file or folder", "none");
}

/// A training's folder has weights in its checkpoints alone.
TEST(Safetensors, NameTheLastCheckpointOfATraining) {
  const TemporaryFolder folder;
  for (const char* step : {"checkpoint-9", "checkpoint-10"})
    folder.write(std::string("run/") + step + "/model.safetensors", safetensors_bytes("{}", ""));
  folder.write("run/loss.csv", "");
  EXPECT_ERROR(StoredTensors(folder.path() / "run"), "run\" is a training's, and has no weights itself",
               "name its last checkpoint, \"", "run/checkpoint-10\"");
}

TEST(Safetensors, NoticesAFileThatIsCutOffLater) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.safetensors", safetensors_bytes(kTwoTensors, std::string(11, 'x')));
  const StoredTensors files(path);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_ERROR(files.read("b", {{0, 3}}, at::empty({3}, at::kByte)), "a.safetensors", "it was cut off");
  EXPECT_ERROR(check_room(folder.path(), std::int64_t{1} << 62),
               "cannot write 4611686018427387904 bytes into", "has room for");
}

}  // namespace
}  // namespace riesz::testing
