// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Damaged GGUF files (`read_mutants`):  gguf_mutants COUNT [FIRST]
#include <ATen/ops/empty.h>

#include <string>
#include <vector>

#include "gguf_bytes.h"
#include "mutants.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/gguf/gguf_file.h"

namespace riesz::testing {
namespace {

std::string original(Draws& draws) {
  GgufBytes bytes;
  bytes.text("general.architecture", "llama")
      .integer("general.alignment", 32)
      .number("f", 0.5F)
      .flag("t", true);
  bytes.texts("tokens", {"a", "b", "ab"}).integers("types", {1, 3, 1}).add("n", 10, raw(~std::uint64_t{0}));
  bytes.add("nested", 9, raw(9) + raw(std::uint64_t{1}) + raw(0) + raw(std::uint64_t{2}) + "xy");
  bytes.tensor("q8", {32, 2}, 8, std::string(68, '1')).tensor("q4", {32}, 2, std::string(18, '2'));
  bytes.tensor("q41", {64}, 3, std::string(40, '3')).tensor("f16", {3, 1, 2}, 1, std::string(12, '4'));
  bytes.tensor("f32", {2, 2}, 0, std::string(16, '5'));
  return bytes.bytes(draws.below(2) > 0 ? 3 : 2);
}

/// Numbers that counts, kinds, dims and places have stumbled over, in 4 bytes and in 8.
std::vector<std::string> numbers() {
  const std::vector<std::uint64_t> some = {0, 1, 2, 3, 5, 9, 12, 13, 30, 32, 33, 64, 65, 255, 65536};
  std::vector<std::string> all;
  for (const std::uint64_t number : some)
    all.insert(all.end(), {raw(number), raw(static_cast<std::uint32_t>(number))});
  for (const int bit : {31, 32, 59, 63}) all.push_back(raw(std::uint64_t{1} << bit));
  all.insert(all.end(), {raw(~std::uint64_t{0}), raw(~std::uint32_t{0}), raw(std::uint32_t{1} << 31)});
  return all;
}

std::string read(const std::filesystem::path& path, std::int64_t bytes) {
  const GgufFile file(path);
  std::int64_t data = 0;
  for (const GgufTensor& tensor : file.tensors()) {
    const GgufType& type = *tensor.type;
    if (tensor.place.begin < 0 || tensor.place.end > bytes ||
        tensor.place.size() != tensor.numel() / type.elements * type.bytes)
      return "the place of a tensor that was accepted is wrong";
    data += tensor.place.size();
    const at::Tensor out = at::empty({tensor.numel()}, at::kFloat);
    file.read(tensor.name, {{0, tensor.numel()}}, out);
  }
  return data > bytes - 24 ? "more data than the file has" : "";
}

int run(int argc, char** argv) {
  return read_mutants({.ending = ".gguf", .original = original, .words = numbers(), .read = read}, argc,
                      argv);
}

}  // namespace
}  // namespace riesz::testing

int main(int argc, char** argv) { riesz::leave(riesz::run_main(argc, argv, riesz::testing::run)); }
