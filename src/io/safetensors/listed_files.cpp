// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/safetensors/listed_files.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <system_error>

#include "riesz/comm/error.h"
#include "riesz/io/checkpoint/folder.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/json/strict_json.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = ".safetensors";
constexpr const char* kIndex = ".safetensors.index.json";

/// Files of Python's pickle, which runs whatever code they hold as it is read.
bool is_pickle(const fs::path& path) {
  const std::string name = path.filename().string();
  const auto ends = [&](const char* end) { return name.ends_with(end); };
  return ends(".bin") || ends(".pt") || ends(".pth") || ends(".ckpt") || ends(".bin.index.json");
}

[[noreturn]] void refuse_pickle(const fs::path& path) {
  throw_error(concat("cannot read ", in_quotes(path.string()),
                     ": it is a Python pickle, which runs code as it is read; take the model's "
                     "*.safetensors, or convert it in "
                     "Python: safetensors.torch.save_file(torch.load(\"",
                     escaped(path.filename().string()), "\", weights_only=True), \"model.safetensors\")"));
}

ListedFiles in_index(const fs::path& index) {
  const std::string what = "cannot read " + in_quotes(index.string());
  const Json object = strict_json(what + ": it", bytes_of_file(index));
  RIESZ_CHECK(object.contains("weight_map") && object["weight_map"].is_object(), what,
              ": it has no weight_map, which says in which file each tensor is");
  ListedFiles listed{{}, index, {}};
  std::set<fs::path> files;
  for (const auto& [tensor, name] : object["weight_map"].items()) {
    const bool text_is = name.is_string();
    const fs::path place = text_is ? fs::path(name.get_ref<const std::string&>()) : fs::path();
    RIESZ_CHECK(text_is && place == place.filename() && place.string().ends_with(kFile), what, ": tensor ",
                in_quotes(tensor), ": its file is ",
                in_quotes(text_is ? place.string() : std::string("no text")),
                "; it must be the name of a .safetensors file beside the index");
    listed.file_of[tensor] = index.parent_path() / place;
    files.insert(index.parent_path() / place);
  }
  RIESZ_CHECK(!files.empty(), what, ": its weight_map lists no tensor");
  listed.files.assign(files.begin(), files.end());
  return listed;
}

/// What to say of a folder without such files.
[[noreturn]] void refuse_folder(const fs::path& folder, const std::string& stem) {
  std::vector<fs::path> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) names.push_back(entry.path());
  std::sort(names.begin(), names.end());
  const auto pickle = std::find_if(names.begin(), names.end(), is_pickle);
  if (pickle != names.end()) refuse_pickle(*pickle);
  const auto checkpoints = checkpoints_in(folder);
  RIESZ_CHECK(checkpoints.empty(), "the folder ", in_quotes(folder.string()),
              " is a training's, and has no weights itself; name its last checkpoint, ",
              in_quotes(checkpoints.back().second.string()));
  std::string there;
  for (const fs::path& name : names)
    there += (there.empty() ? "; it has " : ", ") + escaped(name.filename().string());
  throw_error(concat("the folder ", in_quotes(folder.string()), " has neither ", escaped(stem), kFile,
                     " nor ", escaped(stem), kIndex, there));
}

}  // namespace

ListedFiles listed_files(const fs::path& path, const std::string& stem) {
  std::error_code error;
  if (is_pickle(path)) refuse_pickle(path);
  RIESZ_CHECK(fs::exists(path, error), "there is no file or folder ", in_quotes(path.string()));
  if (!fs::is_directory(path, error)) {
    if (path.string().ends_with(kIndex)) return in_index(path);
    RIESZ_CHECK(path.string().ends_with(kFile), "cannot read ", in_quotes(path.string()),
                ": its name ends neither in ", kFile, " nor in ", kIndex,
                "; a GGUF file, of which riesz convert makes such a file, begins with the letters GGUF");
    return {{path}, {}, {}};
  }
  if (fs::exists(path / (stem + kFile), error)) return {{path / (stem + kFile)}, {}, {}};
  if (fs::exists(path / (stem + kIndex), error)) return in_index(path / (stem + kIndex));
  refuse_folder(path, stem);
}

std::string index_text(const std::map<std::string, std::string>& file_of, std::int64_t bytes) {
  const Json object = {{"metadata", {{"total_size", bytes}}}, {"weight_map", file_of}};
  return object.dump(2) + "\n";
}

}  // namespace riesz
