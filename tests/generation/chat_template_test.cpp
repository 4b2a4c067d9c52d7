// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/generation/chat/chat_template.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "../io/temporary_folder.h"
#include "published_templates.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

const std::vector<ChatMessage> kShort{{"user", " Hi \"you\"\n"}};
const std::vector<ChatMessage> kLong{
    {"system", "Be brief."}, {"user", "Why?"}, {"assistant", " Because. "}, {"user", "é  "}};

std::string rendered(const std::string& text, const std::vector<ChatMessage>& messages, bool begin = true) {
  return ChatTemplate(text, "T", {{"bos_token", "<s>"}, {"eos_token", "</s>"}}).render(messages, begin);
}

TEST(ChatTemplate, WritesWhatJinjaWrites) {
  EXPECT_EQ(rendered(kSmolLm2, kShort),
            "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging "
            "Face<|im_end|>\n<|im_start|>user\n Hi \"you\"\n<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(
      rendered(kSmolLm2, kLong, false),
      "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"
      " Because. <|im_end|>\n<|im_start|>user\né  <|im_end|>\n");
  EXPECT_EQ(rendered(kLlama3, kShort),
            "<s><|start_header_id|>user<|end_header_id|>\n\nHi \"you\"<|eot_id|><|start_header_id|>assistant"
            "<|end_header_id|>\n\n");
  EXPECT_EQ(rendered(kLlama3, kLong),
            "<s><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|><|start_header_id|>user"
            "<|end_header_id|>\n\nWhy?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nBecause."
            "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\né<|eot_id|><|start_header_id|>assistant"
            "<|end_header_id|>\n\n");
  EXPECT_EQ(rendered(kTinyLlama, kShort), "<|user|>\n Hi \"you\"\n</s>\n<|assistant|>\n");
  EXPECT_EQ(rendered(kTinyLlama, kLong),
            "<|system|>\nBe brief.</s>\n<|user|>\nWhy?</s>\n<|assistant|>\n Because. </s>\n<|user|>\né  "
            "</s>\n<|assistant|>\n");
  EXPECT_EQ(rendered(kLlama2, kShort), "<s>[INST] Hi \"you\" [/INST]");
  EXPECT_EQ(rendered(kLlama2, kLong),
            "<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nWhy? [/INST] Because. </s><s>[INST] é [/INST]");
  EXPECT_EQ(rendered(kWhiteSpace, kShort), "user1: \n ! \n  \nx\nbTrue");
  EXPECT_EQ(
      rendered(kWhiteSpace, kLong),
      "system1: \n, \nx\n6Trueuser2: \n, \nx\nbTrueassistant3: \n, \nx\n6Trueuser4: \n ! \n  \nx\nbTrue");
}

TEST(ChatTemplate, KnowsLoopsAndCharactersAsJinjaDoes) {
  EXPECT_EQ(rendered("{% for m in messages %}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.depth }}"
                     "{{ loop.previtem.role if loop.previtem is defined else '-' }}"
                     "{{ loop.nextitem.role if loop.nextitem is defined else '-' }};{% endfor %}",
                     kLong),
            "431-user;321systemassistant;211useruser;101assistant-;");
  EXPECT_EQ(
      rendered("{{ messages[0].content[1] + messages[0].content[-2] }}{{ messages[0].content[99] }}", kShort),
      "H\"");
  EXPECT_EQ(rendered("{{ messages[3].content[0] }}", kLong), "é");
  EXPECT_EQ(rendered("[{{ messages[0].content | trim }}|{{ messages[0].content.lstrip() }}]",
                     {{"user", "\u3000\u00a0 H i\x1f\u2003"}}),
            "[H i|H i\x1f\u2003]");
}

TEST(ChatTemplate, SaysWhatItDoesNotSupport) {
  EXPECT_ERROR(ChatTemplate("{% macro f() %}{% endmacro %}", "T.json"), "T.json", "macro f()",
               "this statement is not supported");
  EXPECT_ERROR(ChatTemplate("{{ x | tojson }}"), "the filter \"tojson\"");
  EXPECT_ERROR(ChatTemplate("{{ strftime_now('%d') }}"), "the function \"strftime_now\"");
  EXPECT_ERROR(ChatTemplate("{{ x.split(',') }}"), "the method \"split\"");
  EXPECT_ERROR(ChatTemplate("{{ x is divisibleby }}"), "the test \"divisibleby\"");
  EXPECT_ERROR(ChatTemplate("{{ {'a': 1} }}"), "the sign \"{\"");
  EXPECT_ERROR(ChatTemplate("{{ 1 2 }}"), "\"2\" is not supported there");
  EXPECT_ERROR(ChatTemplate("{% set a.b = 1 %}"), "\"=\" should stand before \".\"");
  EXPECT_ERROR(ChatTemplate("{% for m in messages if m %}{% endfor %}"), "for m in messages if m");
  EXPECT_ERROR(ChatTemplate("a {{ 'b }}"), "has no end");
  EXPECT_ERROR(ChatTemplate("{% if a %}"), "there is no {% endif %}");
  EXPECT_ERROR(ChatTemplate("{{ " + std::string(200000, '(') + " }}"), "too deep");
  std::string nested;
  for (int i = 0; i < 1000; ++i) nested += "{% if a %}";
  EXPECT_ERROR(ChatTemplate(nested), "statements lie too deep");
  EXPECT_ERROR(rendered(kLlama2, {{"assistant", "Hi"}}), "T, line 1: the template refuses these messages",
               "Conversation roles must alternate");
  EXPECT_ERROR(rendered("{{ nothing.at_all }}", kShort), "T, line 1: ", "what is undefined");
  EXPECT_ERROR(rendered("{{ messages + 'x' }}", kShort), "used as a text");
}

/// What is wrong is on a line, whatever tags and comments before it take with them.
TEST(ChatTemplate, SaysOnWhichLine) {
  EXPECT_ERROR(
      rendered(
          "a\n{#\n\n#}\n{% if true -%}\n\n  {% for m in messages %}\n{{\n m + 1 }}{% endfor %}{% endif %}",
          kShort),
      "T, line 8: ", "is used as a text");
  EXPECT_ERROR(ChatTemplate("\n{% if a %}\n{% elif b %}\r\n{{ x | tojson }}{% endif %}", "T"),
               "T, line 4 asks for");
  EXPECT_ERROR(ChatTemplate("a\n\nb {{ 'b }}", "T"), "T, line 3 asks for", "has no end");
  EXPECT_ERROR(ChatTemplate("\n{% if a %}\n", "T"), "T, line 2 asks for", "there is no {% endif %}");
}

/// A template that never comes to its end, or takes all memory, is an error that says on which line.
TEST(ChatTemplate, IsBoundInStepsAndBytes) {
  const auto many = [](int n, const std::string& text) {
    std::string all;
    for (int i = 0; i < n; ++i) all += text;
    return all;
  };
  const std::string start = "{% set x = messages[0].content %}\n";
  for (const char* doubles : {"{% set x = x + x %}\n", "{% set x = x ~ x %}\n"})
    EXPECT_ERROR(rendered(start + many(60, doubles), kShort), "T, line 22: ", "more than 64 MiB");
  EXPECT_ERROR(rendered(start + many(60, "{% set x = [x, x] %}\n"), kShort),
               "T, line 18: ", "more than 64 MiB");
  EXPECT_ERROR(rendered(start + many(19, "{% set x = x + x %}\n") + many(60, "{{ x }}\n"), kShort),
               "T, line ", "more than 64 MiB");
  EXPECT_ERROR(rendered(start + many(150, "{% set x = [x] %}\n"), kShort), "a list lies more than 100 deep");
  EXPECT_ERROR(rendered("{% set x = [1] %}" + many(4, "{% set x = x+x+x+x+x+x+x+x+x+x %}") +
                            many(3, "\n{% for a in x %}") + many(3, "{% endfor %}"),
                        kShort),
               "T, line ", "more than 1000000 steps");
  const std::string great = "{% set x = 999999999 * 999999999 %}";
  EXPECT_ERROR(rendered(great + "{{ x * 10 }}{{ x * 100 }}", kShort), "a number is too great");
  EXPECT_ERROR(rendered(great + many(10, "{% set x = x + x %}"), kShort), "a number is too great");
  EXPECT_EQ(rendered("{{ 7 // -1 }}{{ 7 % -1 }}{{ 3 - 5 }}", kShort), "-70-2");
}

TEST(ChatTemplate, IsReadFromAFolder) {
  const TemporaryFolder folder;
  EXPECT_FALSE(read_chat_template(folder.path()));
  nlohmann::json config = {{"bos_token", {{"content", "<b>"}}}, {"chat_template", "{{ bos_token }}1"}};
  folder.write("tokenizer_config.json", config.dump());
  EXPECT_EQ(read_chat_template(folder.path())->render(kShort), "<b>1");
  config["chat_template"] = {{{"name", "rag"}, {"template", "{{ f() }}"}},
                             {{"name", "default"}, {"template", "2"}}};
  folder.write("tokenizer_config.json", config.dump());
  EXPECT_EQ(read_chat_template(folder.path())->render(kShort), "2");
  folder.write("chat_template.jinja", "3");
  EXPECT_EQ(read_chat_template(folder.path())->render(kShort), "3");
}

}  // namespace
}  // namespace riesz::testing
