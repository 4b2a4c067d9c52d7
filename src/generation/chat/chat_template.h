// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace riesz {

/// One message of a conversation, such as {"user", "Why is the sky blue?"}.
struct ChatMessage {
  std::string role;
  std::string content;
};

/// A chat template in Jinja, by which a model's folder says how to write conversations. It supports what the
/// templates of ChatML (SmolLM2), Llama 2, Llama 3, Zephyr and TinyLlama use: {% for %}, {% if %}, {% set %},
/// and the expressions of `TemplateReader`. All else is an Error, never ignored. Immutable.
class ChatTemplate {
 public:
  /// `names`: the names that the template may use, such as bos_token, with their texts. @throws Error naming
  /// `origin`, the line and what in the template is not supported.
  explicit ChatTemplate(const std::string& text, std::string origin = "the chat template",
                        std::map<std::string, std::string> names = {});

  /// The text for the model to continue: the messages, then the beginning of the answer. The template itself
  /// adds special tokens. @throws Error naming the origin and the line where the template rejects the
  /// messages. Also where it takes more than a million steps, or makes more than 64 MiB of texts and lists.
  std::string render(const std::vector<ChatMessage>& messages, bool begin_answer = true) const;

 private:
  struct Program;
  std::shared_ptr<const Program> program_;
};

/// The template of a model's folder: chat_template.jinja, else chat_template in tokenizer_config.json (of
/// several, the one named "default"). Nothing where there is none. Local. @throws Error naming the file.
std::optional<ChatTemplate> read_chat_template(const std::filesystem::path& folder);

}  // namespace riesz
