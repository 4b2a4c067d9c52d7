// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/data/image_task.h"

#include <ATen/ops/argmax.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/draws.h"
#include "riesz/io/escaped.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/train/config/number_text.h"
#include "riesz/train/config/schema.h"

namespace riesz {
namespace {

constexpr std::size_t kShown = 10;  // labels that the report names

std::uint64_t digest_of(const ImageSet& set) {
  const at::Tensor images = set.images.contiguous(), labels = set.labels.contiguous();
  return digest(concat(digest(images.const_data_ptr(), images.nbytes()), " ",
                       digest(labels.const_data_ptr(), labels.nbytes())));
}

/// Such as `"cat", "dog" and 3 more`; "none" of none.
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kNamed = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(kNamed, names.size()); ++i)
    text += concat(text.empty() ? "" : ", ", in_quotes(names[i]));
  if (names.size() > kNamed) text += concat(" and ", names.size() - kNamed, " more");
  return names.empty() ? "none" : text;
}

/// Those of `names` that `others` do not have as often.
std::vector<std::string> only_in(std::vector<std::string> names, std::vector<std::string> others) {
  std::sort(names.begin(), names.end());
  std::sort(others.begin(), others.end());
  std::vector<std::string> only;
  std::set_difference(names.begin(), names.end(), others.begin(), others.end(), std::back_inserter(only));
  return only;
}

void check_labels(const Config& config, const std::vector<std::string>& of_images) {
  const std::vector<std::string> images = only_in(of_images, config.labels);
  const std::vector<std::string> model = only_in(config.labels, of_images);
  RIESZ_CHECK(images.empty() && model.empty(), value_and_origin(config, "data.images"),
              " has other labels than the classifier of ", value_and_origin(config, "model.from"),
              ": the images alone have ", some_of(images), ", the classifier alone ", some_of(model),
              "; rename the folders of the images, or set model.new_head=true, which draws a new classifier "
              "for them and loads the rest");
}

/// The list with its labels numbered in the order of `names`, which has all of theirs.
ImageList in_order(ImageList list, const std::vector<std::string>& names) {
  std::vector<std::int64_t> numbers;
  for (const std::string& name : list.names)
    numbers.push_back(std::find(names.begin(), names.end(), printable(name)) - names.begin());
  list.labels = at::tensor(numbers, at::kLong).index_select(0, list.labels);
  list.names = names;
  return list;
}

/// Moves images from the training's to those held out: data.held_out of all, drawn by the seed.
void choose_held_out(const Config& config, ImageLists& lists) {
  const std::int64_t all = lists.training.count();
  const auto count = std::llround(config.data.held_out * static_cast<double>(all));
  RIESZ_CHECK(count >= 1 && count < all, value_and_origin(config, "data.held_out"), " keeps ", count, " of ",
              all, " images in ", in_quotes(config.data.images),
              " out of training; at least one must be held out, and one trained on");
  const auto seed = static_cast<std::uint64_t>(config.train.seed);
  const std::vector<std::int64_t> order = permutation(all, Draws(seed, "held out"));
  lists.held_out = lists.training.subset({order.begin(), order.begin() + count});
  lists.training = lists.training.subset({order.begin() + count, order.end()});
}

/// The images of data.images, their labels in the order of config.labels, if there are any.
ImageLists lists_of(const Config& config) {
  ImageLists lists = list_images(config.data.images);
  RIESZ_CHECK(lists.training.names.size() > 1, "all images to learn from in ", in_quotes(config.data.images),
              " have one label, ", in_quotes(lists.training.names.front()),
              ", so that there is nothing to learn; each label has a folder of its own");
  const auto origin = config.origins.find("data.held_out");
  const bool said = origin != config.origins.end() && origin->second == kCommandLine;
  RIESZ_CHECK(lists.held_out.count() == 0 || !said, value_and_origin(config, "data.held_out"),
              " is not read: ", value_and_origin(config, "data.images"),
              " says itself which images are held out, by a folder val or test, or MNIST's files t10k; "
              "remove it");
  if (lists.held_out.count() == 0) choose_held_out(config, lists);
  if (config.labels.empty()) return lists;
  std::vector<std::string> names;
  for (const std::string& name : lists.training.names) names.push_back(printable(name));
  check_labels(config, names);
  return {in_order(std::move(lists.training), config.labels),
          in_order(std::move(lists.held_out), config.labels)};
}

/// Which images are left out: "" for none. @throws Error unless the configuration allows that, and some are
/// left to train on and to measure by.
std::string skipped_text(const Config& config, const ImageLists& lists, const ReadableImages& training,
                         const ReadableImages& held_out) {
  const std::size_t of_training = training.damaged.size(), of_held_out = held_out.damaged.size();
  if (of_training + of_held_out == 0) return "";
  const std::int64_t all = lists.training.count() + lists.held_out.count();
  const bool first_is_trained = of_training > 0;
  const std::string& why = first_is_trained ? training.why : held_out.why;
  const std::string counts = concat(of_training + of_held_out, " of ", all, " images");
  // The text of the first has its worker's prefix.
  if (!config.data.skip_damaged)
    throw Error(concat(why, "; in all ", counts, " cannot be read: write them anew or take them out, or set ",
                       "data.skip_damaged=true, which leaves them out"));
  for (const auto& [set, purpose] : {std::pair(&training, "train on"), std::pair(&held_out, "measure by")}) {
    if (set->set.count() == 0)
      throw Error(concat(set->why, "; data.skip_damaged=true leaves it out, and no image is left to ",
                         purpose, ": none of ", set->damaged.size(), " can be read"));
  }
  const ImageList& list = first_is_trained ? lists.training : lists.held_out;
  const auto first = static_cast<std::size_t>((first_is_trained ? training : held_out).damaged.front());
  return concat("; left out as they cannot be read: ", of_training, " to train on, ", of_held_out,
                " held out, the first ", in_quotes(list.files[first].string()));
}

std::string share(std::int64_t right, std::int64_t of) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f %%", 100.0 * static_cast<double>(right) / static_cast<double>(of));
  return concat(text, "  (", grouped(right), " of ", grouped(of), ")");
}

}  // namespace

std::vector<double> numbers_of_channels(const Config& config, const std::string& key,
                                        const std::string& text) {
  std::vector<double> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    double number = 0;
    const auto [after, error] = std::from_chars(at, end, number);
    const bool good = error == std::errc() && std::isfinite(number) && (after == end || *after == ',');
    RIESZ_CHECK(good, value_and_origin(config, key), ": ", in_quotes(std::string(at, end)),
                " is no number, or several with commas between, such as \"0.485, 0.456, 0.406\"");
    numbers.push_back(number);
    at = after;
    while (at != end && (*at == ',' || *at == ' ')) ++at;
  }
  const auto channels = static_cast<std::size_t>(config.model.channels);
  RIESZ_CHECK(numbers.size() == 1 || numbers.size() == channels, value_and_origin(config, key), " has ",
              numbers.size(), " numbers, but there are ", value_and_origin(config, "model.channels"),
              "; give one, or one for each channel");
  return numbers;
}

Preprocessing preprocessing_of(const Config& config) {
  const ImageForm form{.channels = config.model.channels,
                       .size = config.model.image,
                       .resized = config.data.resize,
                       .stretched = config.data.fit == "stretch",
                       .bicubic = config.data.interpolation == "bicubic"};
  return {form, numbers_of_channels(config, "data.mean", config.data.mean),
          numbers_of_channels(config, "data.deviation", config.data.deviation)};
}

ImageTask::ImageTask(const Config& config)
    : origin_(config.data.images),
      seed_(static_cast<std::uint64_t>(config.train.seed)),
      shift_(config.data.shift),
      mirror_(config.data.mirror),
      at_once_(config.train.batch),
      preprocessing_(preprocessing_of(config)) {
  const ImageLists lists = lists_of(config);
  const ReadableImages training = read_readable_images(lists.training, preprocessing_.form);
  const ReadableImages held_out = read_readable_images(lists.held_out, preprocessing_.form);
  skipped_ = skipped_text(config, lists, training, held_out);
  training_ = training.set;
  held_out_ = held_out.set;
  held_out_order_.emplace(held_out_.count(), seed_, "held out");
  digest_ = digest_of(training_) ^ digest_of(held_out_);
}

void ImageTask::augment(const at::Tensor& image, std::int64_t place) const {
  if (shift_ == 0 && !mirror_) return;
  Draws draws(seed_, "images", static_cast<std::uint64_t>(place));
  const auto shift = [&] {
    return static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(2 * shift_ + 1))) - shift_;
  };
  const std::int64_t down = shift(), right = shift(), size = image.size(1);
  const at::Tensor seen = mirror_ && draws.below(2) == 1 ? image.flip(2) : image.clone();
  // What comes in from outside is black.
  const auto part = [size](const at::Tensor& of, std::int64_t dim, std::int64_t by) {
    return of.narrow(dim, std::max<std::int64_t>(by, 0), size - std::abs(by));
  };
  image.zero_();
  part(part(image, 1, down), 2, right).copy_(part(part(seen, 1, -down), 2, -right));
}

Batch ImageTask::batch(std::int64_t first, std::int64_t rows) const {
  const std::int64_t n = training_.count();
  std::vector<std::int64_t> numbers;
  for (std::int64_t place = first; place < first + rows; ++place)
    numbers.push_back(
        SeededPermutation(n, seed_, "data", static_cast<std::uint64_t>(place / n)).at(place % n));
  const ImageSet some = training_.subset(numbers);
  for (std::int64_t row = 0; row < rows; ++row) augment(some.images.select(0, row), first + row);
  return {normalised(some.images, preprocessing_), some.labels};
}

Batch ImageTask::held_out(std::int64_t begin, std::int64_t end) const {
  std::vector<std::int64_t> numbers;
  for (std::int64_t place = begin; place < end; ++place) numbers.push_back(held_out_order_->at(place));
  const ImageSet some = held_out_.subset(numbers);
  return {normalised(some.images, preprocessing_), some.labels};
}

std::string ImageTask::describe() const {
  return concat("images in \"", origin_, "\" of ", vocabulary(), " labels: ", grouped(training_.count()),
                " to train on, ", grouped(held_out_.count()), " held out", skipped_);
}

std::vector<std::string> ImageTask::report(const Predict& model, const HeldOut&) const {
  struct Score {
    std::size_t label;
    std::int64_t right = 0, of = 0;
  };
  std::vector<Score> scores;
  for (std::size_t label = 0; label < training_.names.size(); ++label) scores.push_back({label});
  Score all{0};
  for (std::int64_t from = 0; from < held_out(); from += at_once_) {
    const Batch some = held_out(from, std::min(from + at_once_, held_out()));
    const at::Tensor labels = some.targets.whole();
    const at::Tensor found = at::argmax(model(some.inputs), 1).eq(labels).to(at::kLong).contiguous();
    for (std::int64_t row = 0; row < some.rows(); ++row) {
      const std::int64_t right = found.const_data_ptr<std::int64_t>()[row];
      const auto label = static_cast<std::size_t>(labels.const_data_ptr<std::int64_t>()[row]);
      for (Score* score : {&scores[label], &all}) score->right += right, score->of += 1;
    }
  }
  std::vector<std::string> lines{concat("held-out images with the right label: ", share(all.right, all.of))};
  std::erase_if(scores, [](const Score& score) { return score.of == 0; });
  std::stable_sort(scores.begin(), scores.end(),
                   [](const Score& a, const Score& b) { return a.right * b.of < b.right * a.of; });
  lines.push_back(scores.size() > kShown ? concat("of the ", kShown, " hardest labels:") : "of each label:");
  for (std::size_t i = 0; i < std::min(kShown, scores.size()); ++i)
    lines.push_back(
        concat("  ", escaped(training_.names[scores[i].label]), "  ", share(scores[i].right, scores[i].of)));
  return lines;
}

}  // namespace riesz
