// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/hub_cache.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;

std::string of_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_name(const std::string& part) {
  return !part.empty() && part.front() != '.' && std::all_of(part.begin(), part.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

/// What the cache calls a model's folder: "models--org--name"; "" of what can be no name.
std::string cached_name(const std::string& name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos) return is_name(name) ? "models--" + name : "";
  const std::string org = name.substr(0, slash), own = name.substr(slash + 1);
  return is_name(org) && is_name(own) ? "models--" + org + "--" + own : "";
}

}  // namespace

fs::path hub_cache() {
  if (const std::string cache = of_environment("HF_HUB_CACHE"); !cache.empty()) return cache;
  if (const std::string home = of_environment("HF_HOME"); !home.empty()) return fs::path(home) / "hub";
  const std::string caches = of_environment("XDG_CACHE_HOME");
  const fs::path all = caches.empty() ? fs::path(of_environment("HOME")) / ".cache" : fs::path(caches);
  return all / "huggingface" / "hub";
}

fs::path model_folder(const std::string& folder_or_name) {
  if (is_folder(folder_or_name)) return folder_or_name;
  RIESZ_CHECK(!is_plain_file(folder_or_name), in_quotes(folder_or_name),
              " is a file, and what is wanted is a model's folder, which `riesz convert ",
              escaped(folder_or_name), " -o FOLDER` makes of GGUF or safetensors");
  const std::string what = in_quotes(folder_or_name), cached = cached_name(folder_or_name);
  RIESZ_CHECK(!cached.empty(), "there is no folder ", what,
              ", and it is no name of a model either, such as org/name");
  const fs::path model = hub_cache() / cached;
  const std::string fetch = concat(
      "; fetch it with `hf download ", folder_or_name,
      "` of the Python package huggingface_hub, or name a folder that has config.json and the weights");
  RIESZ_CHECK(is_folder(model), "there is no folder ", what, ", and Hugging Face's cache ",
              in_quotes(hub_cache().string()), " has no model of this name", fetch);
  std::string commit;
  std::ifstream(model / "refs" / "main") >> commit;
  RIESZ_CHECK(is_name(commit) && is_folder(model / "snapshots" / commit), "Hugging Face's cache has ", what,
              " in ", in_quotes(model.string()), ", but not what its branch main is, ",
              commit.empty() ? "which refs/main should say" : "snapshots/" + escaped(commit), fetch);
  return model / "snapshots" / commit;
}

}  // namespace riesz
