// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/jobs/evaluate.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numbers>

#include "riesz/app/jobs/print_result.h"
#include "riesz/app/models/pretrained.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/tokenizer/tokenizer_files.h"
#include "riesz/models/text_model.h"
#include "riesz/train/config/number_text.h"

namespace riesz::app {

namespace {

/// JSON has no infinity.
nlohmann::ordered_json finite_or_text(double number) {
  if (std::isfinite(number)) return number;
  return std::isnan(number) ? "NaN" : "infinity";
}

}  // namespace

std::string evaluate_report(const EvaluateWords& words, Form form) {
  RIESZ_CHECK(!is_folder(words.text), in_quotes(words.text), " is a folder; name a text file in it");
  const std::string text = bytes_of_file(words.text);
  RIESZ_CHECK(!text.empty(), "the text ", in_quotes(words.text), " is empty; name one to score");
  if (!words.quiet) print_note(taken_text(words.model.folder));
  ModelWords model_words = words.model;
  model_words.folder = generating_folder(words.model.folder);
  const Tokenizer tokenizer = read_tokenizer(model_words.folder);
  const std::vector<TokenId> tokens = tokenizer.encode(text, {.with_template = true});
  const auto model = load_model(model_words);
  const Evaluated all = evaluate_text(models::text_model(*model), tokens, words.options);
  const double loss = std::isnan(all.loss) ? std::nan("") : all.loss;  // of no sign
  const double bits = loss / std::numbers::ln2;
  const double of_all = bits * static_cast<double>(all.scored);
  const double bits_per_byte = of_all / static_cast<double>(text.size());
  const nlohmann::ordered_json json = {{"text", printable(words.text)},
                                       {"bytes", text.size()},
                                       {"tokens", tokens.size()},
                                       {"scored", all.scored},
                                       {"windows", all.windows},
                                       {"loss", finite_or_text(loss)},
                                       {"perplexity", finite_or_text(std::exp(loss))},
                                       {"bits_per_token", finite_or_text(bits)},
                                       {"bits_per_byte", finite_or_text(bits_per_byte)},
                                       {"seconds", all.seconds}};
  char numbers[256];
  std::snprintf(numbers, sizeof numbers,
                "loss %.4f nats per token, perplexity %.4f\n%.4f bits per token, %.4f bits per byte\n"
                "took %.2f s, %.1f tokens/s\n",
                loss, std::exp(loss), bits, bits_per_byte, all.seconds,
                static_cast<double>(all.scored) / all.seconds);
  const std::string in_words = concat(
      in_quotes(words.text), ": ", grouped(static_cast<std::int64_t>(text.size())), " bytes, ",
      grouped(static_cast<std::int64_t>(tokens.size())), " tokens, ", grouped(all.scored),
      " of them scored in ", grouped(all.windows), all.windows == 1 ? " window\n" : " windows\n", numbers);
  const std::string report = form == Form::json ? json.dump(2) + "\n" : in_words;
  RIESZ_CHECK(!all.not_finite, report,
              "evaluate: the loss is not a finite number; the first that is not is one of tokens ",
              all.not_finite->first, " to ", all.not_finite->second - 1,
              " of the text; look at the weights with riesz inspect ", in_quotes(model_words.folder),
              ", or take a wider --precision");
  return report;
}

}  // namespace riesz::app
