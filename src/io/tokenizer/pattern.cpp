// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokenizer/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <cstdint>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"

namespace riesz {
namespace {

constexpr std::size_t kFirstStack = std::size_t{32} << 10, kLargestStack = std::size_t{64} << 20;

std::string reason(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

struct Pattern::Compiled {
  explicit Compiled(const std::string& of) : expression(of) {
    const std::string translated = to_pcre2(expression);
    int error = 0;
    std::size_t place = 0;
    code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                         PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &place, nullptr);
    RIESZ_CHECK(code != nullptr, "the pattern ", in_quotes(expression),
                " cannot be compiled: ", reason(error), ", at ", in_quotes(translated.substr(place)));
    // Where PCRE2 has no compiler for this processor, it interprets.
    jitted = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;
    match = pcre2_match_data_create_from_pattern(code, nullptr);
    context = pcre2_match_context_create(nullptr);
    stack = pcre2_jit_stack_create(kFirstStack, kLargestStack, nullptr);
    if (stack != nullptr) pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~Compiled() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(match);
    pcre2_code_free(code);
  }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  std::string expression;
  pcre2_code* code = nullptr;
  bool jitted = false;
  pcre2_match_data* match = nullptr;
  pcre2_match_context* context = nullptr;
  pcre2_jit_stack* stack = nullptr;
};

Pattern::Pattern(const std::string& expression) : compiled_(std::make_shared<const Compiled>(expression)) {}

std::optional<TextExtent> Pattern::find(std::string_view text, std::size_t from) const {
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const Compiled& c = *compiled_;
  const int found =
      c.jitted ? pcre2_jit_match(c.code, subject, text.size(), from, 0, c.match, c.context)
               : pcre2_match(c.code, subject, text.size(), from, PCRE2_NO_UTF_CHECK, c.match, c.context);
  if (found == PCRE2_ERROR_NOMATCH) return std::nullopt;
  RIESZ_CHECK(found > 0, "the pattern ", in_quotes(c.expression), " cannot be matched with a text of ",
              text.size(), " bytes: ", reason(found));
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(c.match);
  return TextExtent{ends[0], ends[1]};
}

}  // namespace riesz
