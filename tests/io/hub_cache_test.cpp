// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/hub_cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "riesz/testing/error.h"
#include "temporary_folder.h"

namespace riesz::testing {
namespace {

/// What the environment says as long as it lives.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    const char* const before = std::getenv(name);
    before_ = before == nullptr ? "" : before;
    value.empty() ? ::unsetenv(name) : ::setenv(name, value.c_str(), 1);
  }
  ~Environment() { before_.empty() ? ::unsetenv(name_) : ::setenv(name_, before_.c_str(), 1); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::string before_;
};

TEST(HubCache, IsWhereTheEnvironmentSays) {
  const Environment home("HOME", "/h"), caches("XDG_CACHE_HOME", ""), hf("HF_HOME", ""),
      hub("HF_HUB_CACHE", "");
  EXPECT_EQ(hub_cache(), "/h/.cache/huggingface/hub");
  const Environment x("XDG_CACHE_HOME", "/x");
  EXPECT_EQ(hub_cache(), "/x/huggingface/hub");
  const Environment y("HF_HOME", "/y");
  EXPECT_EQ(hub_cache(), "/y/hub");
  const Environment z("HF_HUB_CACHE", "/z");
  EXPECT_EQ(hub_cache(), "/z");
}

TEST(HubCache, FindsASnapshotOrSaysHowToFetchIt) {
  const TemporaryFolder cache;
  const Environment hub("HF_HUB_CACHE", cache.path().string());
  EXPECT_EQ(model_folder(cache.path().string()), cache.path());
  EXPECT_ERROR(model_folder("org/small"), "there is no folder \"org/small\"", cache.path().string(),
               "fetch it with `hf download org/small`");
  cache.write("models--org--small/snapshots/0a1b/config.json", "{}");
  EXPECT_ERROR(model_folder("org/small"), "not what its branch main is, which refs/main should say");
  cache.write("models--org--small/refs/main", "0a1b\n");
  EXPECT_EQ(model_folder("org/small"), cache.path() / "models--org--small/snapshots/0a1b");
  cache.write("models--org--small/refs/main", "0a1c");
  EXPECT_ERROR(model_folder("org/small"), "not what its branch main is, snapshots/0a1c");
  for (const char* wrong : {"../small", "org/small/more", "", "/none", "org/", "org name"})
    EXPECT_ERROR(model_folder(wrong), "it is no name of a model either");
  cache.write("small.gguf", "GGUF");
  EXPECT_ERROR(model_folder((cache.path() / "small.gguf").string()), "is a file", "riesz convert ");
  cache.write("models--gpt2/refs/main", "c");
  cache.write("models--gpt2/snapshots/c/config.json", "{}");
  EXPECT_EQ(model_folder("gpt2"), cache.path() / "models--gpt2/snapshots/c");
}

}  // namespace
}  // namespace riesz::testing
