// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/generation/chat/chat_template.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/generation/chat/template_expression.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/json/json_field.h"

namespace riesz {
namespace {

using detail::TemplateExpression;
using detail::TemplatePiece;
using detail::TemplateReader;
using detail::TemplateScope;
using detail::TemplateValue;
using nlohmann::json;

/// Writes its part of the text, and may set names.
using Statement = std::function<void(TemplateScope& scope, std::string& text)>;

/// A statement, and the line of the template that it stands on.
struct Part {
  int line;
  Statement does;
};

struct Branch {
  TemplateExpression condition;
  Statement body;
};

/// What a loop says of itself.
json loop_at(const json& all, std::size_t i) {
  const std::size_t count = all.size();
  json loop = {{"first", i == 0},       {"last", i + 1 == count},     {"index", i + 1}, {"index0", i},
               {"revindex", count - i}, {"revindex0", count - i - 1}, {"depth", 1},     {"depth0", 0},
               {"length", count}};
  if (i > 0) loop["previtem"] = all[i - 1];
  if (i + 1 < count) loop["nextitem"] = all[i + 1];
  return loop;
}

/// Reads a template's pieces into what they do.
class Reader {
 public:
  explicit Reader(std::vector<TemplatePiece> pieces) : pieces_(std::move(pieces)) {}

  Statement whole() try { return body({}); } catch (detail::TemplateProblem& problem) {
    if (problem.line == 0 && !pieces_.empty()) problem.line = pieces_[std::min(at_, pieces_.size() - 1)].line;
    throw;
  }

 private:
  /// Up to a statement that begins with one of these words, which is then the next; without words up to the
  /// end.
  Statement body(const std::vector<std::string>& until) {
    std::vector<Part> parts;
    const auto add = [&](int line, Statement does) { parts.push_back({line, std::move(does)}); };
    for (; at_ < pieces_.size(); ++at_) {
      const TemplatePiece& piece = pieces_[at_];
      if (piece.kind == TemplatePiece::Kind::text) {
        add(piece.line, [text = piece.text](TemplateScope& s, std::string& to) { write(text, s, to); });
      } else if (piece.kind == TemplatePiece::Kind::expression) {
        TemplateReader reader(piece.text);
        const TemplateExpression value = reader.expression();
        reader.done();
        add(piece.line,
            [value](TemplateScope& s, std::string& to) { write(detail::written(value(s)), s, to); });
      } else {
        TemplateReader reader(piece.text);
        for (const std::string& word : until) {
          if (reader.take(word)) return in_order(parts);
        }
        const int line = piece.line;
        add(line, statement(reader));
      }
    }
    if (!(until.empty()))
      throw detail::TemplateProblem(concat("there is no {% ", until.empty() ? "" : until.back(), " %}"));
    return in_order(parts);
  }

  static void write(const std::string& some, const TemplateScope& scope, std::string& text) {
    scope.budget->take(some.size());
    text += some;
  }

  static Statement in_order(const std::vector<Part>& parts) {
    return [parts](TemplateScope& scope, std::string& text) {
      for (const Part& each : parts) {
        try {
          scope.budget->step();
          each.does(scope, text);
        } catch (detail::TemplateProblem& problem) {
          if (problem.line == 0) problem.line = each.line;
          throw;
        }
      }
    };
  }

  Statement statement(TemplateReader& reader) {
    constexpr int kDeepest = 100;
    if (depth_ == kDeepest) reader.refuse("statements lie too deep within one another");
    for (const auto& [word, read] : {std::pair{"for", &Reader::loop}, std::pair{"if", &Reader::choice}}) {
      if (!reader.take(word)) continue;
      ++depth_;
      Statement whole = (this->*read)(reader);
      --depth_;
      return whole;
    }
    if (!reader.take("set")) reader.refuse("this statement is not supported; for, if and set are");
    const std::string name = reader.name();
    reader.expect("=");
    const TemplateExpression value = reader.expression();
    reader.done();
    return [name, value](TemplateScope& scope, std::string&) {
      scope.names[name] = scope.budget->made(value(scope)).value_or(nullptr);
    };
  }

  Statement choice(TemplateReader& first) {
    std::vector<Branch> branches{{first.expression(), {}}};
    first.done();
    for (bool last = false;;) {
      ++at_;
      const std::vector<std::string> until =
          last ? std::vector<std::string>{"endif"} : std::vector<std::string>{"elif", "else", "endif"};
      branches.back().body = body(until);
      TemplateReader reader(pieces_[at_].text);
      if (reader.take("elif")) {
        branches.push_back({reader.expression(), {}});
      } else if (reader.take("else")) {
        branches.push_back({[](const TemplateScope&) { return TemplateValue(true); }, {}});
        last = true;
      } else {
        reader.expect("endif");
        reader.done();
        break;
      }
      reader.done();
    }
    return [branches](TemplateScope& scope, std::string& text) {
      for (const Branch& each : branches) {
        if (detail::counts_as_true(each.condition(scope))) return each.body(scope, text);
      }
    };
  }

  Statement loop(TemplateReader& reader) {
    const std::string name = reader.name();
    reader.expect("in");
    const TemplateExpression over = reader.unconditional();
    reader.done();
    ++at_;
    const Statement each = body({"endfor"});
    return [=](TemplateScope& scope, std::string& text) {
      const TemplateValue all = over(scope);
      if (!(all && all->is_array()))
        throw detail::TemplateProblem(concat("{% for ", name, " %} goes over what is no list"));
      const std::size_t count = all->size();
      for (std::size_t i = 0; i < count; ++i) {
        scope.budget->step();
        TemplateScope inner{&scope, scope.budget};
        inner.names[name] = (*all)[i];
        inner.names["loop"] = loop_at(*all, i);
        each(inner, text);
      }
    };
  }

  std::vector<TemplatePiece> pieces_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

/// A token of tokenizer_config.json: a text, or an object that has it as its content.
std::optional<std::string> token_text(const detail::JsonField& field) {
  if (field.value().is_string()) return field.text();
  if (field.value().is_object()) return field["content"].text();
  return std::nullopt;
}

std::string at_line(const std::string& origin, const detail::TemplateProblem& problem) {
  return problem.line == 0 ? origin : concat(origin, ", line ", problem.line);
}

std::string default_of(const detail::JsonField& templates) {
  if (templates.value().is_string()) return templates.text();
  for (const detail::JsonField& each : templates.elements()) {
    if (each["name"].text() == "default") return each["template"].text();
  }
  templates.refuse("has several templates, and none named \"default\"");
}

}  // namespace

struct ChatTemplate::Program {
  std::string origin;
  std::map<std::string, std::string> names;
  Statement whole;
};

ChatTemplate::ChatTemplate(const std::string& text, std::string origin,
                           std::map<std::string, std::string> names) {
  Program program{std::move(origin), std::move(names), {}};
  try {
    program.whole = Reader(detail::template_pieces(text)).whole();
  } catch (const detail::TemplateProblem& error) {
    throw_error(concat(at_line(program.origin, error), " asks for what is not supported: ", error.what()));
  }
  program_ = std::make_shared<const Program>(std::move(program));
}

std::string ChatTemplate::render(const std::vector<ChatMessage>& messages, bool begin_answer) const {
  detail::TemplateBudget budget;
  TemplateScope scope{nullptr, &budget};
  for (const auto& [name, value] : program_->names) scope.names[name] = value;
  json& all = scope.names["messages"] = json::array();
  for (const ChatMessage& each : messages) all.push_back({{"role", each.role}, {"content", each.content}});
  scope.names["add_generation_prompt"] = begin_answer;
  std::string text;
  try {
    program_->whole(scope, text);
  } catch (const detail::TemplateProblem& error) {
    throw_error(concat(at_line(program_->origin, error), ": ", error.what()));
  }
  return text;
}

std::optional<ChatTemplate> read_chat_template(const std::filesystem::path& folder) {
  const std::filesystem::path jinja = folder / "chat_template.jinja",
                              config = folder / "tokenizer_config.json";
  std::map<std::string, std::string> names;
  std::optional<std::string> text;
  std::filesystem::path origin = jinja;
  if (is_there(config)) {
    const json read = detail::read_json(config.string());
    const detail::JsonField whole(read, in_quotes(config.string()) + ": ");
    for (const char* token : {"bos_token", "eos_token", "pad_token", "unk_token"}) {
      const auto field = whole.find(token);
      if (const auto content = field ? token_text(*field) : std::nullopt) names[token] = *content;
    }
    if (const auto field = whole.find("chat_template")) {
      text = default_of(*field);
      origin = config;
    }
  }
  if (is_there(jinja)) {
    text = bytes_of_file(jinja);
    origin = jinja;
  }
  if (!text) return std::nullopt;
  return ChatTemplate(*text, "the chat template of " + in_quotes(origin.string()), names);
}

}  // namespace riesz
