// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/jobs/generate.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <thread>

#include "riesz/app/jobs/print_result.h"
#include "riesz/app/jobs/show_texts.h"
#include "riesz/app/models/pretrained.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/generation/chat/chat_template.h"
#include "riesz/generation/generate.h"
#include "riesz/generation/generation_config.h"
#include "riesz/generation/text_stream.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/json/strict_json.h"
#include "riesz/io/tokenizer/tokenizer_files.h"
#include "riesz/models/text_model.h"
#include "riesz/train/config/number_text.h"

namespace riesz::app {
namespace {

/// A token by its number, else its text: digits that are a token too are a number all the same.
TokenId token_of(const Tokenizer& tokenizer, const std::string& word) {
  TokenId id = 0;
  const char* last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), last, id);
  if (error == std::errc() && end == last && id < tokenizer.size()) return id;
  const auto found = tokenizer.find(word);
  RIESZ_CHECK(found, "--eos-token ", in_quotes(word), " is neither the number of a token, of 0 to ",
              tokenizer.size() - 1, ", nor the text of one");
  return *found;
}

/// As the folder says it, with what the words say over it.
GenerateOptions options_of(const GenerateWords& words, const GenerationConfig& folder,
                           const Tokenizer& tokenizer, std::size_t longest) {
  GenerateOptions options{.sampling = folder.sampling,
                          .seed = static_cast<std::uint64_t>(words.seed),
                          .end = folder.end,
                          .slide = words.when_full == "slide",
                          .at_once = words.at_once};
  SamplingOptions& sampling = options.sampling;
  sampling.top_k = words.top_k.value_or(sampling.top_k);
  sampling.top_p = words.top_p.value_or(sampling.top_p);
  sampling.repetition_penalty = words.repetition_penalty.value_or(sampling.repetition_penalty);
  const bool wants_draws = words.top_k || words.top_p;  // which a temperature of 0 would not use
  if (wants_draws && sampling.temperature == 0) sampling.temperature = 1;
  sampling.temperature = words.temperature.value_or(sampling.temperature);
  if (folder.tokens)
    options.tokens = std::max<std::int64_t>(1, *folder.tokens - static_cast<std::int64_t>(longest));
  options.tokens = words.tokens.value_or(folder.new_tokens.value_or(options.tokens));
  if (options.end.empty() && tokenizer.end()) options.end = {*tokenizer.end()};
  if (!words.ends.empty()) options.end.clear();
  for (const std::string& word : words.ends) options.end.push_back(token_of(tokenizer, word));
  return options;
}

/// What the model is given for a prompt.
class Asked {
 public:
  Asked(const GenerateWords& words, const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
    RIESZ_CHECK(!words.raw || (!words.chat && !words.system),
                "--raw gives the prompt as it is, so --chat and --system have no effect beside it");
    if (words.raw) return;
    template_ = read_chat_template(words.model.folder);
    RIESZ_CHECK(
        template_ || (!words.chat && !words.system), "the folder ", in_quotes(words.model.folder),
        " has no chat template, in chat_template.jinja or tokenizer_config.json; leave out --chat and "
        "--system, and the prompt is given as it is");
    if (words.system) system_ = {{"system", *words.system}};
  }

  std::vector<TokenId> tokens(const std::string& prompt) const {
    if (!template_) return tokenizer_.encode(prompt, {.with_template = true});
    std::vector<ChatMessage> messages = system_;
    messages.push_back({"user", prompt});
    return tokenizer_.encode(template_->render(messages));
  }

 private:
  const Tokenizer& tokenizer_;
  std::optional<ChatTemplate> template_;
  std::vector<ChatMessage> system_;
};

std::string rate(const char* what, std::int64_t tokens, double seconds) {
  char text[128];
  std::snprintf(text, sizeof text, "%s %s tokens in %.2f s, %.1f tokens/s", what, grouped(tokens).c_str(),
                seconds, seconds > 0 ? static_cast<double>(tokens) / seconds : 0.0);
  return text;
}

std::string summary(const Generated& all, std::int64_t context) {
  std::string text = rate("read", all.read, all.read_seconds);
  if (all.steps > 0) text += "; " + rate("wrote", all.written, all.step_seconds);
  for (const Ended why : {Ended::end, Ended::told, Ended::tokens, Ended::context}) {
    const auto count = std::count_if(all.texts.begin(), all.texts.end(),
                                     [&](const GeneratedText& each) { return each.why == why; });
    if (count > 0) text += concat("; ", count, " ended: ", to_string(why));
    if (count > 0 && why == Ended::context)
      text += concat(" (", context, " tokens; --when-full slide goes on with the newer half)");
  }
  if (all.slid > 0)
    text += concat("; the full context was shortened ", all.slid, all.slid == 1 ? " time" : " times");
  return text + "\n";
}

}  // namespace

std::vector<std::string> read_prompts(const std::string& path) {
  std::istringstream file(bytes_of_file(path));
  std::vector<std::string> prompts;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    if (!path.ends_with(".jsonl")) {
      prompts.push_back(line);
      continue;
    }
    const std::string where = concat(in_quotes(path), ", line ", number);
    const Json read = json_of(where, line);
    const Json prompt = read.is_object() ? read.value("prompt", Json()) : read;
    RIESZ_CHECK(prompt.is_string(), where,
                ": it is neither a text in JSON nor an object with a text named \"prompt\"");
    prompts.push_back(prompt.get<std::string>());
  }
  RIESZ_CHECK(!prompts.empty(), "the file of prompts ", in_quotes(path), " has none");
  return prompts;
}

void generate_text(const GenerateWords& given) {
  GenerateWords words = given;
  RIESZ_CHECK(words.prompts.empty() || words.prompt.empty(),
              "give a prompt or a file of them (--prompts), and not both");
  RIESZ_CHECK(words.at_once >= 1, "generate: --batch-size ", words.at_once, "; it must be 1 or more");
  const std::int64_t most = words.tokens.value_or(1);
  RIESZ_CHECK(most >= 1, "generate: --max-tokens ", most, "; it must be 1 or more");
  const std::vector<std::string> prompts =
      words.prompts.empty() ? std::vector<std::string>{words.prompt} : read_prompts(words.prompts);
  if (!words.quiet) print_note(taken_text(words.model.folder));
  words.model.folder = generating_folder(words.model.folder);
  const Tokenizer tokenizer = read_tokenizer(words.model.folder);
  const GenerationConfig folder = read_generation_config(words.model.folder);
  const Asked asked(words, tokenizer);
  std::vector<std::vector<TokenId>> tokens;
  std::size_t longest = 0;
  for (const std::string& prompt : prompts) {
    tokens.push_back(asked.tokens(prompt));
    longest = std::max(longest, tokens.back().size());
  }
  const GenerateOptions options = options_of(words, folder, tokenizer, longest);
  check_sampling(options.sampling);
  std::vector<std::string> stops = folder.stops;
  stops.insert(stops.end(), words.stops.begin(), words.stops.end());
  std::vector<TextStream> streams(prompts.size(), TextStream(tokenizer, stops));

  const auto model = load_model(words.model);
  ShowTexts show(prompts, words.json, Runtime::rank() == 0);
  const auto take = [&](std::size_t prompt, TokenId token) {
    const bool ends = std::find(options.end.begin(), options.end.end(), token) != options.end.end();
    if (!ends) show.add(prompt, streams[prompt].add(token));
    return !streams[prompt].stopped();
  };
  const auto ended = [&](std::size_t prompt, Ended why) {
    show.add(prompt, streams[prompt].end());
    show.end(prompt, streams[prompt].text(), to_string(why));
  };
  TextModel text = models::text_model(*model);
  text.vocabulary = std::min(text.vocabulary, tokenizer.size());  // models' are often rounded up
  const Generated all = generate(text, tokens, options, {take, ended});
  if (words.quiet) return;
  // A launcher hands on both outputs, each when it comes to it: what is said of the texts is to come behind
  // them.
  if (Runtime::size() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  print_note(summary(all, text.context));
}

}  // namespace riesz::app
