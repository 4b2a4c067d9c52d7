// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/jobs/classify.h"

#include <ATen/ops/all.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/topk.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "riesz/app/jobs/print_result.h"
#include "riesz/app/models/pretrained.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/checkpoint/all_or_none.h"
#include "riesz/io/escaped.h"
#include "riesz/io/images/image_set.h"
#include "riesz/nn/vectors/full_tensor.h"
#include "riesz/partition/split.h"

namespace riesz::app {
namespace {

void check(const ClassifyWords& words) {
  RIESZ_CHECK(!words.images.empty(), "classify: name an image to label");
  RIESZ_CHECK(words.top >= 0, "classify: --top ", words.top, "; it must be 0, which is all, or more");
  RIESZ_CHECK(words.at_once >= 1, "classify: --batch-size ", words.at_once, "; it must be 1 or more");
  std::error_code error;
  for (const std::string& image : words.images) {
    RIESZ_CHECK(!std::filesystem::is_directory(image, error), "classify: ", in_quotes(image),
                " is a folder; name the images in it");
    RIESZ_CHECK(std::filesystem::is_regular_file(image, error), "classify: there is no file ",
                in_quotes(image));
  }
}

Preprocessing shown_as(const Pretrained& from) {
  RIESZ_CHECK(models::predicted_by(image_config(from)) == Predicted::labels, "the model in ",
              in_quotes(from.folder.string()), " is a \"", models::kind_of(image_config(from)),
              "\", which does not label images, as a ViT or a ResNet does; riesz predict says what it "
              "predicts");
  const auto shown = read_preprocessing(from);
  RIESZ_CHECK(
      shown, "the folder ", in_quotes(from.folder.string()),
      " has no preprocessor_config.json, which says how the model is shown images; take the one that it "
      "was trained with, or a newer checkpoint");
  return *shown;
}

/// All images as bytes in the form, on every worker; each worker decodes a part of them.
at::Tensor decoded(const std::vector<std::string>& files, const ImageForm& form) {
  const Partition job = Partition::world().grid({{"all", Runtime::size()}});
  const auto count = static_cast<std::int64_t>(files.size());
  const Space X = Space(job, {count, form.channels, form.size, form.size}).sharded(0, "all");
  const Interval mine = Split::balanced(count, Runtime::size())[Runtime::rank()];
  const at::Tensor some = at::empty({mine.size(), form.channels, form.size, form.size}, at::kByte);
  all_or_none(job, [&] {
    for (std::int64_t i = mine.begin; i < mine.end; ++i) {
      some.select(0, i - mine.begin).copy_(read_in_form(files[static_cast<std::size_t>(i)], form));
    }
  });
  return full_tensor(Vector(X, some));
}

/// An image's name, and a line for each of its likeliest labels; or all as a line of JSON.
std::string lines_of(const std::string& image, const at::Tensor& probabilities,
                     const std::vector<std::string>& names, std::int64_t top, bool json) {
  nlohmann::ordered_json object = {{"image", printable(image)}, {"labels", nlohmann::json::array()}};
  const auto labels = static_cast<std::int64_t>(names.size());
  const auto [values, numbers] = at::topk(probabilities, top == 0 ? labels : std::min(top, labels));
  std::string text = escaped(image) + "\n";
  for (std::int64_t i = 0; i < values.size(0); ++i) {
    const auto probability = values[i].item<double>();
    const std::string& name = names[static_cast<std::size_t>(numbers[i].item<std::int64_t>())];
    object["labels"].push_back({{"label", printable(name)}, {"probability", probability}});
    char share[32];
    std::snprintf(share, sizeof share, "  %6.2f %%  ", 100 * probability);
    text += share + escaped(name) + "\n";
  }
  return json ? object.dump() + "\n" : text;
}

}  // namespace

void classify_images(const ClassifyWords& words) {
  check(words);
  if (!words.quiet) print_note(taken_text(words.model.folder));
  const Pretrained from = read_pretrained(words.model.folder);
  const Preprocessing shown = shown_as(from);
  const std::vector<std::string> names = label_names(from);
  RIESZ_CHECK(names.size() > 1, "classify: the model in ", in_quotes(from.folder.string()),
              " has one label, ", in_quotes(names.front()),
              ", which every image would get with 100 %; take one that was trained to tell labels apart");
  const HeldModel model = load_image_model(words.model);
  const auto at_once = static_cast<std::size_t>(words.at_once);
  for (std::size_t begin = 0; begin < words.images.size(); begin += at_once) {
    const auto first = words.images.begin() + static_cast<std::ptrdiff_t>(begin);
    const std::size_t count = std::min(at_once, words.images.size() - begin);
    const std::vector<std::string> files(first, first + static_cast<std::ptrdiff_t>(count));
    const at::Tensor logits = predict(model.learner, normalised(decoded(files, shown.form), shown));
    RIESZ_CHECK(at::isfinite(logits).all().item<bool>(), "classify: a label of ", in_quotes(files.front()),
                " or of the ", count - 1,
                " images after it has no finite score; look at the weights with riesz "
                "inspect ",
                in_quotes(from.folder.string()), ", or take a wider --precision");
    const at::Tensor probabilities = at::softmax(logits.to(at::kDouble), 1);
    if (Runtime::rank() != 0) continue;
    for (std::size_t i = 0; i < count; ++i)
      print_part(
          lines_of(files[i], probabilities[static_cast<std::int64_t>(i)], names, words.top, words.json));
  }
}

}  // namespace riesz::app
