// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include "riesz/comm/error.h"
#include "riesz/io/atomic_file.h"
#include "riesz/io/file.h"
#include "riesz/io/tokenizer/tokenizer_files.h"
#include "riesz/io/tokenizer/tokenizer_text.h"

namespace riesz {

std::map<std::string, std::string> tokenizer_file_texts(const TokenizerParts& parts) {
  std::string merges = "#version: 0.2\n";
  for (const auto& [left, right] : parts.merges) merges += concat(left, " ", right, "\n");
  nlohmann::ordered_json config = {{"tokenizer_class", "PreTrainedTokenizerFast"}};
  if (parts.end) {
    for (const char* role : {"bos_token", "eos_token", "unk_token"}) config[role] = *parts.end;
  }
  const detail::TokenizerSteps steps{detail::byte_level(false, true, true),
                                     detail::byte_level(false, false, true)};
  return {{"vocab.json", detail::words_of(parts).dump()},
          {"merges.txt", merges},
          {"tokenizer_config.json", config.dump(2) + "\n"},
          {"tokenizer.json", detail::tokenizer_json_text(parts, steps)}};
}

void write_tokenizer(const TokenizerParts& parts, const std::filesystem::path& folder) {
  make_folders(folder);
  for (const auto& [name, text] : tokenizer_file_texts(parts)) write_file(folder / name, text);
}

}  // namespace riesz
