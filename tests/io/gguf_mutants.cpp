// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Damaged GGUF files, as many as are asked for:  gguf_mutants COUNT [FIRST]
//
// Each is read whole or refused by an Error that names the file, and nothing else happens; under the
// sanitizers (preset asan) that says that no head makes the reader go beyond memory, or take more of it than
// the file has bytes for. Fails, naming the mutant, where that is not so.
#include <ATen/ops/empty.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gguf_bytes.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/draws.h"
#include "riesz/io/gguf/gguf_file.h"

namespace riesz::testing {
namespace {

std::string original(Draws& draws) {
  GgufBytes bytes;
  bytes.text("general.architecture", "llama")
      .whole("general.alignment", 32)
      .number("f", 0.5F)
      .truth("t", true);
  bytes.texts("tokens", {"a", "b", "ab"}).wholes("types", {1, 3, 1}).add("n", 10, raw(~std::uint64_t{0}));
  bytes.add("nested", 9, raw(9) + raw(std::uint64_t{1}) + raw(0) + raw(std::uint64_t{2}) + "xy");
  bytes.tensor("q8", {32, 2}, 8, std::string(68, '1')).tensor("q4", {32}, 2, std::string(18, '2'));
  bytes.tensor("q41", {64}, 3, std::string(40, '3')).tensor("f16", {3, 1, 2}, 1, std::string(12, '4'));
  bytes.tensor("f32", {2, 2}, 0, std::string(16, '5'));
  return bytes.bytes(draws.below(2) > 0 ? 3 : 2);
}

/// Numbers that counts, kinds, dims and places have stumbled over.
std::string number(Draws& draws) {
  static const std::vector<std::uint64_t> some = {0,
                                                  1,
                                                  2,
                                                  3,
                                                  5,
                                                  9,
                                                  12,
                                                  13,
                                                  30,
                                                  32,
                                                  33,
                                                  64,
                                                  65,
                                                  255,
                                                  65536,
                                                  std::uint64_t{1} << 31,
                                                  std::uint64_t{1} << 32,
                                                  std::uint64_t{1} << 59,
                                                  std::uint64_t{1} << 63,
                                                  ~std::uint64_t{0}};
  const std::string bytes = raw(some[draws.below(some.size())]);
  return bytes.substr(0, draws.below(2) > 0 ? 8 : 4);
}

std::string changed(std::string bytes, Draws& draws) {
  const auto place = [&] {
    return static_cast<std::size_t>(draws.below(std::max<std::size_t>(bytes.size(), 1)));
  };
  const std::size_t at = std::min(place(), bytes.size());
  switch (draws.below(7)) {
    case 0:
      if (at < bytes.size()) bytes[at] = static_cast<char>(draws.below(256));
      break;
    case 1:
      if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << draws.below(8)));
      break;
    case 2:
      bytes.erase(at, 1 + draws.below(9));
      break;
    case 3:
    case 4: {
      const std::string word = number(draws);
      bytes.replace(at, std::min(word.size(), bytes.size() - at), word);
      break;
    }
    case 5:
      bytes.insert(at, bytes.substr(std::min(place(), bytes.size()), 1 + draws.below(60)));
      break;
    default:
      bytes.resize(draws.below(bytes.size() + 40), 'x');
  }
  return bytes;
}

/// "" if all is well; what was read is counted.
std::string judge(const std::filesystem::path& path, std::int64_t bytes, int& read) try {
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
  if (data > bytes - 24) return "more data than the file has";
  ++read;
  return "";
} catch (const Error& error) {
  const std::string said = error.what();
  return said.find(path.filename().string()) == std::string::npos
             ? "the message does not name the file: " + said
             : "";
}

int run(int argc, char** argv) {
  const std::int64_t count = argc > 1 ? std::atoll(argv[1]) : 1000;
  const std::int64_t first = argc > 2 ? std::atoll(argv[2]) : 0;
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("mutant-" + std::to_string(::getpid()) + ".gguf");
  int read = 0;
  for (std::int64_t i = first; i < first + count; ++i) {
    Draws draws(1, "gguf mutants", static_cast<std::uint64_t>(i));
    std::string bytes = original(draws);
    for (std::uint64_t changes = 1 + draws.below(4); changes > 0; --changes) bytes = changed(bytes, draws);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    const std::string wrong = judge(path, static_cast<std::int64_t>(bytes.size()), read);
    if (wrong.empty()) continue;
    std::fprintf(stderr, "mutant %lld: %s\n", static_cast<long long>(i), wrong.c_str());
    return 1;
  }
  std::filesystem::remove(path);
  std::printf("%lld damaged files: %d read whole, the others refused\n", static_cast<long long>(count), read);
  return 0;
}

}  // namespace
}  // namespace riesz::testing

int main(int argc, char** argv) { riesz::leave(riesz::run_main(argc, argv, riesz::testing::run)); }
