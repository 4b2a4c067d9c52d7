// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/jobs/predict.h"

#include <ATen/ops/all.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/isfinite.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "riesz/app/jobs/print_result.h"
#include "riesz/app/memory/memory_estimate.h"
#include "riesz/app/models/pretrained.h"
#include "riesz/app/models/tiling.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/arrays/stored_array.h"
#include "riesz/io/arrays/write_npy.h"
#include "riesz/io/checkpoint/all_or_none.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/train/data/field_files.h"
#include "riesz/train/data/normalisation.h"
#include "riesz/train/loop/predict_tiles.h"

namespace riesz::app {
namespace {

/// What is read, and how it becomes what the model is given.
struct Given {
  StoredArray array;
  Normalisation normalisation;
  bool coordinates;  ///< of a field's points, behind its channels

  std::int64_t images() const { return array.shape().front(); }
  std::int64_t height() const { return array.shape()[array.shape().size() - 2]; }
  std::int64_t width() const { return array.shape().back(); }

  at::Tensor read(const Box& box) const {
    const std::int64_t channels = channels_of(array);
    const Interval stored{std::min(channels, box[1].begin), std::min(channels, box[1].end)};
    std::vector<at::Tensor> all{
        normalisation.inputs(read_fields(array, {box[0], stored, box[2], box[3]}), stored)};
    for (std::int64_t c = std::max(channels, box[1].begin); c < box[1].end; ++c) {
      const Interval& of = c == channels ? box[2] : box[3];
      const at::Tensor centres = at::arange(of.begin, of.end, at::kFloat)
                                     .add(0.5)
                                     .div(static_cast<double>(c == channels ? height() : width()));
      all.push_back((c == channels ? centres.unsqueeze(1) : centres)
                        .expand({box[0].size(), 1, box[2].size(), box[3].size()}));
    }
    return at::cat(all, 1);
  }
};

Given given_to(const Pretrained& from, const PredictWords& words) {
  const models::ImageConfig& config = image_config(from);
  Given given{StoredArray(words.inputs), read_normalisation(from.folder),
              models::predicted_by(config) == Predicted::fields};
  const std::size_t dims = given.array.shape().size();
  RIESZ_CHECK(dims == 3 || dims == 4, "predict: ", in_quotes(words.inputs), " has the shape ",
              at::IntArrayRef(given.array.shape()),
              "; it must be (rows, height, width) or (rows, channels, height, width)");
  const std::int64_t wanted = models::channels_of(config) - (given.coordinates ? 2 : 0);
  RIESZ_CHECK(channels_of(given.array) == wanted, "predict: ", in_quotes(words.inputs), " has ",
              channels_of(given.array), " channels, and the model in ", in_quotes(from.folder.string()),
              " was trained on ", wanted);
  const auto means = static_cast<std::int64_t>(given.normalisation.mean.size());
  RIESZ_CHECK(means == 0 || means == wanted, "predict: ", Normalisation::file, " of ",
              in_quotes(from.folder.string()), " is of ", means, " channels, and the model of ", wanted);
  return given;
}

/// The most memory that this process has had, in bytes, as the system counts it.
std::string most_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmHWM:" && status >> word) return word;
  return "0";
}

double most_memory_of_all(const Partition& job) {
  double most = 0;
  for (const std::string& kibibytes : collect_texts(job, most_memory()))
    most = std::max(most, 1024 * std::stod(kibibytes));
  return most;
}

/// The file under another name, until it is whole.
class Result {
 public:
  Result(const PredictWords& words, const Given& given, const models::ImageConfig& model)
      : path_(words.output), aside_(words.output + ".part"), scale_(given.normalisation.scale) {
    const std::int64_t labels = models::labels_of(model);
    pixels_ = models::predicted_by(model) == Predicted::pixels;
    std::vector<std::int64_t> shape{given.images(), given.height(), given.width()};
    if (!pixels_) shape.insert(shape.begin() + 1, labels);
    all_or_none(job_, [&] {
      if (Runtime::rank() == 0)
        NpyOutput::make(aside_, shape, !pixels_ ? at::kFloat : labels <= 256 ? at::kByte : at::kInt);
    });
    all_or_none(job_, [&] { output_.emplace(aside_); });
  }

  void take(const PredictedTile& part) const {
    RIESZ_CHECK(at::isfinite(part.values).all().item<bool>(), "predict: in row ", part.row, ", lines ",
                to_string(part.place[0]),
                ", a number is not finite; look at the inputs, and at the weights with "
                "riesz inspect");
    const Interval row{part.row, part.row + 1};
    if (pixels_)
      output_->write({row, part.place[0], part.place[1]}, at::argmax(part.values, -1));
    else
      output_->write({row, part.channels, part.place[0], part.place[1]},
                     part.values.to(at::kDouble).mul(scale_));
  }

  void finish() const {
    all_or_none(job_, [&] { output_->sync(); });
    all_or_none(job_, [&] {
      if (Runtime::rank() == 0) rename_file(aside_, path_);
    });
  }

  const Partition& job() const { return job_; }

 private:
  Partition job_ = Partition::world().grid({{"all", Runtime::size()}});
  std::string path_, aside_;
  double scale_;
  bool pixels_ = false;
  std::optional<NpyOutput> output_;
};

}  // namespace

void predict_fields(const PredictWords& words) {
  const auto begin = std::chrono::steady_clock::now();
  if (!words.quiet) print_note(taken_text(words.model.folder));
  const Pretrained from = read_pretrained(words.model.folder);
  const Given given = given_to(from, words);
  const Tiling tiling = tiling_of(image_config(from), given.height(), given.width(), words.tile);
  const HeldModel model = load_image_model(words.model, tiling.model);
  const std::int64_t at_once = words.at_once > 0 ? words.at_once : words.model.dp;
  const Result result(words, given, tiling.model);
  const std::vector<Tile> tiles = tiles_of(given.images(), tiling.height, tiling.width);
  predict_tiles(
      model.learner, tiles, at_once, [&](const Box& box) { return given.read(box); },
      [&](const PredictedTile& part) { result.take(part); });
  result.finish();
  const double most = most_memory_of_all(result.job());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  char text[64];
  std::snprintf(text, sizeof text, "%.1f s", seconds);
  if (!words.quiet)
    print_note(concat(given.images(), " x ", given.height(), " x ", given.width(), " in ",
                      in_quotes(words.output), ": ", tiles.size(), " tiles with windows of ", tiling.window,
                      " and halos of ", tiling.halo, ", ", at_once, " at once; ", text,
                      "; a process had at most ", bytes_text(most), "\n"));
}

}  // namespace riesz::app
