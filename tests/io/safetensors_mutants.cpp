// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Damaged safetensors files (`read_mutants`):  safetensors_mutants COUNT [FIRST]
//
// A file that is read keeps the format's promise: each byte of its data is in one tensor.
#include <ATen/ops/empty.h>

#include <string>
#include <vector>

#include "mutants.h"
#include "riesz/comm/runtime.h"
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

/// Sets the head's length right in most files: it ends with the last brace.
void set_length(std::string& bytes, Draws& draws) {
  if (draws.below(10) == 0) return;
  const std::size_t end = bytes.rfind('}');
  if (end == std::string::npos || end < 8) return;
  const std::size_t length = end + 1 - 8;
  for (int i = 0; i < 8; ++i)
    bytes[static_cast<std::size_t>(i)] = static_cast<char>((length >> (8 * i)) & 0xff);
}

std::string read(const std::filesystem::path& path, std::int64_t bytes) {
  const StoredTensors files(path);
  std::int64_t data = 0;
  for (const StoredTensor& tensor : files.tensors()) {
    if (tensor.place.begin < 0 || tensor.place.end > bytes || tensor.place.size() != tensor.bytes())
      return "the place of a tensor that was accepted is wrong";
    data += tensor.bytes();
    const at::Tensor out = at::empty({tensor.numel()}, tensor.type);
    files.read(tensor.name, {{0, tensor.numel()}}, out);
  }
  return data > bytes - 8 ? "more data than the file has" : "";
}

int run(int argc, char** argv) {
  return read_mutants({.ending = ".safetensors",
                       .original = original,
                       .words = words(),
                       .seldom = 8,
                       .repair = set_length,
                       .read = read},
                      argc, argv);
}

}  // namespace
}  // namespace riesz::testing

int main(int argc, char** argv) { riesz::leave(riesz::run_main(argc, argv, riesz::testing::run)); }
