// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Damaged safetensors files, as many as are asked for:  safetensors_mutants COUNT [FIRST]
//
// Each is read whole or refused by an Error that names the file, and nothing else happens; under the
// sanitizers (preset asan) that says that no head makes the reader go beyond memory. A file that is read
// keeps the format's promise: each byte of its data is in one tensor. Fails, naming the mutant, where that is
// not so.
#include <ATen/ops/empty.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/draws.h"
#include "riesz/io/safetensors/stored_tensors.h"
#include "safetensors_bytes.h"

namespace riesz::testing {
namespace {

/// What heads are made of, and what parsers have stumbled over.
const std::vector<std::string>& words() {
  static const std::vector<std::string> some = {"\"dtype\"",
                                                "\"shape\"",
                                                "\"data_offsets\"",
                                                "\"__metadata__\"",
                                                "\"F32\"",
                                                "\"F64\"",
                                                "\"BOOL\"",
                                                "\"a\"",
                                                "{",
                                                "}",
                                                "[",
                                                "]",
                                                ",",
                                                ":",
                                                "\"",
                                                "\\u0000",
                                                "\\ud800",
                                                "null",
                                                "true",
                                                "1e999",
                                                "-1",
                                                "-0",
                                                "0",
                                                "8",
                                                "11",
                                                "2.5",
                                                "4294967296",
                                                "9223372036854775807",
                                                "18446744073709551615",
                                                "99999999999999999999999",
                                                "[[[[[[[[",
                                                "{\"a\":{\"a\":",
                                                "\xef\xbb\xbf",
                                                "\xff",
                                                std::string(1, '\0'),
                                                "  "};
  return some;
}

std::string original(Draws& draws) {
  if (draws.below(4) > 0) return safetensors_bytes(kTwoTensors, "0123456789a");
  return safetensors_bytes(
      R"({"__metadata__":{"format":"pt"},"x":{"dtype":"BF16","shape":[0,3],"data_offsets":[0,0]},"y":{"dtype":"F64","shape":[],"data_offsets":[0,8]}})",
      "12345678");
}

/// One change; mostly in the head, whose length is set right again in most.
std::string changed(std::string bytes, Draws& draws) {
  const auto place = [&](std::size_t from) {
    return from >= bytes.size() ? bytes.size()
                                : from + static_cast<std::size_t>(draws.below(bytes.size() - from));
  };
  const auto byte = [&] { return static_cast<char>(draws.below(256)); };
  const std::size_t at = place(draws.below(20) == 0 ? 0 : 8);
  switch (draws.below(7)) {
    case 0:
      if (at < bytes.size()) bytes[at] = byte();
      break;
    case 1:
      if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << draws.below(8)));
      break;
    case 2:
      bytes.erase(at, 1 + draws.below(8));
      break;
    case 3:
      bytes.insert(at, words()[draws.below(words().size())]);
      break;
    case 4: {
      const std::string& word = words()[draws.below(words().size())];
      bytes.replace(at, std::min(word.size(), bytes.size() - at), word);
      break;
    }
    case 5: {
      const std::size_t from = place(8);
      bytes.insert(at, bytes.substr(from, 1 + draws.below(60)));
      break;
    }
    default:
      bytes.resize(draws.below(bytes.size() + 8), 'x');
  }
  return bytes;
}

/// The head ends with the last brace.
void set_length(std::string& bytes) {
  const std::size_t end = bytes.rfind('}');
  if (end == std::string::npos || end < 8) return;
  const std::size_t length = end + 1 - 8;
  for (int i = 0; i < 8; ++i)
    bytes[static_cast<std::size_t>(i)] = static_cast<char>((length >> (8 * i)) & 0xff);
}

/// "" if all is well; what was read is counted.
std::string judge(const std::filesystem::path& path, std::int64_t bytes, int& read) try {
  const StoredTensors files(path);
  std::int64_t data = 0;
  for (const StoredTensor& tensor : files.tensors()) {
    if (tensor.place.begin < 0 || tensor.place.end > bytes || tensor.place.size() != tensor.bytes())
      return "the place of a tensor that was accepted is wrong";
    data += tensor.bytes();
    const at::Tensor out = at::empty({tensor.numel()}, tensor.type);
    files.read(tensor.name, {{0, tensor.numel()}}, out);
  }
  if (data > bytes - 8) return "more data than the file has";
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
      std::filesystem::temp_directory_path() / ("mutant-" + std::to_string(::getpid()) + ".safetensors");
  int read = 0;
  for (std::int64_t i = first; i < first + count; ++i) {
    Draws draws(1, "mutants", static_cast<std::uint64_t>(i));
    std::string bytes = original(draws);
    for (std::uint64_t changes = 1 + draws.below(4); changes > 0; --changes) bytes = changed(bytes, draws);
    if (draws.below(10) > 0) set_length(bytes);
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
