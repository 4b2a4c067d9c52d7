// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include "riesz/comm/error.h"
#include "riesz/io/atomic_file.h"
#include "riesz/io/tokenizer/tokenizer_files.h"
#include "riesz/io/tokenizer/tokenizer_text.h"

namespace riesz {

void write_tokenizer(const TokenizerParts& parts, const std::filesystem::path& folder) {
  std::string merges = "#version: 0.2\n";
  for (const auto& [left, right] : parts.merges) merges += concat(left, " ", right, "\n");
  nlohmann::ordered_json config = {{"tokenizer_class", "PreTrainedTokenizerFast"}};
  if (parts.end) {
    for (const char* role : {"bos_token", "eos_token", "unk_token"}) config[role] = *parts.end;
  }
  const detail::TokenizerSteps steps{detail::byte_level(false, true, true),
                                     detail::byte_level(false, false, true)};
  std::filesystem::create_directories(folder);
  write_file(folder / "vocab.json", detail::words_of(parts).dump());
  write_file(folder / "merges.txt", merges);
  write_file(folder / "tokenizer_config.json", config.dump(2) + "\n");
  write_file(folder / "tokenizer.json", detail::tokenizer_json_text(parts, steps));
}

}  // namespace riesz
