// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/images/image_set.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <stdexcept>
#include <system_error>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/images/read_idx.h"
#include "riesz/io/images/read_image.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKinds =
    "; a folder of images has MNIST's files (train-images-idx3-ubyte and so on, with .gz or without), a "
    "folder for each label with .png or .jpg files, or such folders in train, and in val or test";

/// A file, or it with .gz; empty where there is neither.
fs::path idx_file(const fs::path& folder, const std::string& name) {
  for (const char* ending : {"", ".gz"}) {
    if (fs::exists(folder / (name + ending))) return folder / (name + ending);
  }
  return {};
}

ImageSet read_idx_set(const fs::path& folder, const std::string& part, const ImageForm& form) {
  const fs::path pixels = idx_file(folder, part + "-images-idx3-ubyte");
  const fs::path numbers = idx_file(folder, part + "-labels-idx1-ubyte");
  const auto check = [&](const fs::path& file, const char* name) {
    RIESZ_CHECK(!file.empty(), "there is no ", in_quotes((folder / (part + name)).string()),
                ", with .gz or without", kKinds);
  };
  check(pixels, "-images-idx3-ubyte");
  check(numbers, "-labels-idx1-ubyte");
  const at::Tensor images = read_idx(pixels), labels = read_idx(numbers);
  RIESZ_CHECK(images.dim() == 3 && images.numel() > 0, in_quotes(pixels.string()), " has an array of ",
              images.sizes(), ", which is not of images");
  RIESZ_CHECK(labels.sizes() == images.sizes().slice(0, 1), in_quotes(numbers.string()), " has labels of ",
              labels.sizes(), ", but there are ", images.size(0), " images");
  ImageSet set{to_form(images.unsqueeze(1), form), labels.to(at::kLong), {}};
  const auto most = labels.max().item<std::int64_t>();
  for (std::int64_t label = 0; label <= most; ++label) set.names.push_back(std::to_string(label));
  return set;
}

bool hidden(const fs::path& path) { return path.filename().string().starts_with("."); }

/// The folders in one, by name.
std::vector<std::string> folders_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() && !hidden(entry.path())) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<fs::path> images_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (auto entry = fs::recursive_directory_iterator(folder); entry != fs::end(entry); ++entry) {
    const fs::path& path = entry->path();
    if (hidden(path) && entry->is_directory()) entry.disable_recursion_pending();
    if (entry->is_regular_file() && is_image_name(path) && !hidden(path)) files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  RIESZ_CHECK(!files.empty(), "there is no .png or .jpg file in the folder ", in_quotes(folder.string()),
              ", which stands for a label; put some there, or take it away");
  return files;
}

/// Of a folder for each label; `names` are those there may be, in the order of their numbers.
ImageSet read_label_folders(const fs::path& folder, const ImageForm& form, std::vector<std::string> names) {
  std::vector<std::int64_t> labels;
  std::vector<fs::path> files;
  for (const std::string& name : folders_in(folder)) {
    const auto found = std::find(names.begin(), names.end(), name);
    RIESZ_CHECK(found != names.end(), "the folder ", in_quotes((folder / name).string()),
                " stands for a label that no image to learn from has");
    const std::vector<fs::path> some = images_below(folder / name);
    labels.insert(labels.end(), some.size(), found - names.begin());
    files.insert(files.end(), some.begin(), some.end());
  }
  const auto count = static_cast<std::int64_t>(files.size());
  ImageSet set{at::empty({count, form.channels, form.size, form.size}, at::kByte),
               at::tensor(labels, at::kLong), std::move(names)};
  for (std::int64_t i = 0; i < count; ++i) {
    set.images.select(0, i).copy_(read_in_form(files[static_cast<std::size_t>(i)], form));
  }
  return set;
}

/// Of the folders `train`, `val` and `test`, or two of them, that to measure by; "" where they are labels.
std::string to_measure_by(const std::vector<std::string>& names) {
  if (names == std::vector<std::string>{"test", "train"}) return "test";
  const bool three = names == std::vector<std::string>{"test", "train", "val"};
  return three || names == std::vector<std::string>{"train", "val"} ? "val" : "";
}

}  // namespace

ImageSet ImageSet::of(const std::vector<std::int64_t>& numbers) const {
  const at::Tensor which = at::tensor(numbers, at::kLong);
  return {images.index_select(0, which), labels.index_select(0, which), names};
}

at::Tensor read_in_form(const fs::path& file, const ImageForm& form) {
  const at::Tensor image = read_image(file).unsqueeze(0);
  try {
    return to_form(image, form).squeeze(0);
  } catch (const Error& error) {
    throw Error(concat(error.what(), "; it is ", in_quotes(file.string())));
  }
}

std::int64_t count_images(const fs::path& folder) try {
  std::int64_t count = 0;
  if (!idx_file(folder, "train-images-idx3-ubyte").empty()) {
    for (const char* name : {"train-images-idx3-ubyte", "t10k-images-idx3-ubyte"})
      count += idx_extents(idx_file(folder, name)).front();
    return count;
  }
  const std::string measure = to_measure_by(folders_in(folder));
  const std::vector<fs::path> all =
      measure.empty() ? std::vector{folder} : std::vector{folder / "train", folder / measure};
  for (const fs::path& some : all) {
    for (const std::string& label : folders_in(some))
      count += static_cast<std::int64_t>(images_below(some / label).size());
  }
  return count;
} catch (const std::runtime_error&) {
  return 0;  // whoever reads them is told
}

ImageSets read_image_sets(const fs::path& folder, const ImageForm& form) try {
  RIESZ_CHECK(fs::is_directory(folder), "there is no folder ", in_quotes(folder.string()), kKinds);
  if (!idx_file(folder, "train-images-idx3-ubyte").empty()) {
    ImageSets sets{read_idx_set(folder, "train", form), read_idx_set(folder, "t10k", form)};
    RIESZ_CHECK(sets.held_out.names.size() <= sets.training.names.size(), "the folder ",
                in_quotes(folder.string()), " has images to measure by with the label ",
                sets.held_out.names.size() - 1, ", and none to learn from");
    return sets;
  }
  const std::vector<std::string> names = folders_in(folder);
  RIESZ_CHECK(!names.empty(), "there are no images in the folder ", in_quotes(folder.string()), kKinds);
  if (const std::string measure = to_measure_by(names); !measure.empty()) {
    const std::vector<std::string> labels = folders_in(folder / "train");
    return {read_label_folders(folder / "train", form, labels),
            read_label_folders(folder / measure, form, labels)};
  }
  const ImageSet all = read_label_folders(folder, form, names);
  return {all, all.of({})};
} catch (const fs::filesystem_error& error) {
  throw_error(
      concat("cannot read the folder ", in_quotes(error.path1().string()), ": ", error.code().message()));
}

}  // namespace riesz
