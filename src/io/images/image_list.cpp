// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/images/image_list.h"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <system_error>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/images/read_idx.h"
#include "riesz/io/images/read_image.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKinds =
    "; a folder of images has MNIST's files (train-images-idx3-ubyte and so on, with .gz or without), a "
    "folder for each label with .png or .jpg files, or such folders in train, and in val or test";

/// The file, or the file with .gz; empty where there is neither.
fs::path idx_file(const fs::path& folder, const std::string& name) {
  for (const char* ending : {"", ".gz"}) {
    if (is_there(folder / (name + ending))) return folder / (name + ending);
  }
  return {};
}

ImageList list_idx(const fs::path& folder, const std::string& part) {
  const fs::path pixels = idx_file(folder, part + "-images-idx3-ubyte");
  const fs::path numbers = idx_file(folder, part + "-labels-idx1-ubyte");
  const auto check = [&](const fs::path& file, const char* name) {
    RIESZ_CHECK(!file.empty(), "there is no ", in_quotes((folder / (part + name)).string()),
                ", with .gz or without", kKinds);
  };
  check(pixels, "-images-idx3-ubyte");
  check(numbers, "-labels-idx1-ubyte");
  const std::vector<std::int64_t> extents = idx_extents(pixels);
  const bool empty = std::find(extents.begin(), extents.end(), 0) != extents.end();
  RIESZ_CHECK(extents.size() == 3 && !empty, in_quotes(pixels.string()), " has an array of ",
              at::IntArrayRef(extents), ", which is not of images");
  const std::vector<std::int64_t> labels = idx_extents(numbers);
  RIESZ_CHECK(labels.size() == 1 && labels[0] == extents[0], in_quotes(numbers.string()), " has labels of ",
              at::IntArrayRef(labels), ", but there are ", extents[0], " images");
  ImageList list{pixels, {}, read_idx(numbers).to(at::kLong), {}};
  const auto most = list.labels.max().item<std::int64_t>();
  for (std::int64_t label = 0; label <= most; ++label) list.names.push_back(std::to_string(label));
  return list;
}

bool hidden(const fs::path& path) { return path.filename().string().starts_with("."); }

/// The folders in one, by name.
std::vector<std::string> folders_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (!hidden(entry.path()) && entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Images that lie in the folder itself.
std::int64_t images_in(const fs::path& folder) {
  std::int64_t count = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    count += !hidden(entry.path()) && is_image_name(entry.path()) && entry.is_regular_file() ? 1 : 0;
  return count;
}

std::vector<fs::path> images_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (auto entry = fs::recursive_directory_iterator(folder); entry != fs::end(entry); ++entry) {
    const fs::path& path = entry->path();
    if (hidden(path)) {  // nothing else is asked of it: it may be another's
      entry.disable_recursion_pending();
      continue;
    }
    if (is_image_name(path) && entry->is_regular_file()) files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  RIESZ_CHECK(!files.empty(), "there is no .png or .jpg file in the folder ", in_quotes(folder.string()),
              ", which stands for a label; put some there, or take it away");
  return files;
}

/// The images of a folder that has a folder for each label. `names`: the labels there may be, by number.
ImageList list_label_folders(const fs::path& folder, const std::vector<std::string>& names) {
  ImageList list;
  std::vector<std::int64_t> labels;
  for (const std::string& name : folders_in(folder)) {
    const auto found = std::find(names.begin(), names.end(), name);
    RIESZ_CHECK(found != names.end(), "the folder ", in_quotes((folder / name).string()),
                " stands for a label that no image to learn from has");
    const std::vector<fs::path> some = images_below(folder / name);
    labels.insert(labels.end(), some.size(), found - names.begin());
    list.files.insert(list.files.end(), some.begin(), some.end());
  }
  RIESZ_CHECK(!list.files.empty(), "there is no folder of a label in ", in_quotes(folder.string()), kKinds);
  list.labels = at::tensor(labels, at::kLong);
  list.names = names;
  return list;
}

/// The labels whose folders are in this one. Their printable texts must differ: in a model's config.json, in
/// reports and for `model.from` a label is its printable text.
std::vector<std::string> labels_in(const fs::path& folder) {
  const std::vector<std::string> names = folders_in(folder);
  std::map<std::string, std::string> seen;
  for (const std::string& name : names) {
    const auto [same, is_new] = seen.emplace(printable(name), name);
    RIESZ_CHECK(is_new, "the folders ", in_quotes((folder / same->second).string()), " and ",
                in_quotes((folder / name).string()),
                " stand for labels that print alike; rename one of them");
  }
  return names;
}

/// Which of the folders `train`, `val` and `test` has the held-out images; "" where the names are labels.
std::string held_out_folder(const std::vector<std::string>& names) {
  if (names == std::vector<std::string>{"test", "train"}) return "test";
  const bool three = names == std::vector<std::string>{"test", "train", "val"};
  return three || names == std::vector<std::string>{"train", "val"} ? "val" : "";
}

}  // namespace

ImageList ImageList::subset(const std::vector<std::int64_t>& numbers) const {
  ImageList some{{}, {}, labels.index_select(0, at::tensor(numbers, at::kLong)), names};
  for (const std::int64_t number : numbers) some.files.push_back(files.at(static_cast<std::size_t>(number)));
  return some;
}

ImageLists list_images(const fs::path& folder) try {
  RIESZ_CHECK(is_folder(folder), "there is no folder ", in_quotes(folder.string()), kKinds);
  if (!idx_file(folder, "train-images-idx3-ubyte").empty()) {
    ImageLists lists{list_idx(folder, "train"), list_idx(folder, "t10k")};
    RIESZ_CHECK(lists.held_out.names.size() <= lists.training.names.size(), "the folder ",
                in_quotes(folder.string()), " has images to measure by with the label ",
                lists.held_out.names.size() - 1, ", and none to learn from");
    return lists;
  }
  const std::vector<std::string> names = folders_in(folder);
  const std::int64_t loose = names.empty() ? images_in(folder) : 0;
  RIESZ_CHECK(loose == 0, "the folder ", in_quotes(folder.string()), " has ", loose,
              loose == 1 ? " image" : " images", ", but no folder for each label", kKinds);
  RIESZ_CHECK(!names.empty(), "there are no images in the folder ", in_quotes(folder.string()), kKinds);
  const std::string held_out = held_out_folder(names);
  if (held_out.empty()) return {list_label_folders(folder, labels_in(folder)), {}};
  const std::vector<std::string> labels = labels_in(folder / "train");
  return {list_label_folders(folder / "train", labels), list_label_folders(folder / held_out, labels)};
} catch (const fs::filesystem_error& error) {
  throw_error(
      concat("cannot read the folder ", in_quotes(error.path1().string()), ": ", error.code().message()));
}

std::int64_t count_images(const fs::path& folder) try {
  const ImageLists lists = list_images(folder);
  return lists.training.count() + lists.held_out.count();
} catch (const Error&) {
  return 0;  // whoever reads them is told
}

}  // namespace riesz
