// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/jobs/convert.h"

#include <c10/core/ScalarType.h>

#include <chrono>
#include <system_error>

#include "riesz/app/models/model_source.h"
#include "riesz/app/models/pretrained.h"
#include "riesz/app/models/scalar_type.h"
#include "riesz/comm/error.h"
#include "riesz/io/atomic_file.h"
#include "riesz/io/escaped.h"
#include "riesz/partition/partition.h"
#include "riesz/train/config/number_text.h"

namespace riesz::app {
namespace {

namespace fs = std::filesystem;

/// A folder that is there is another's: it is not replaced.
void check_new(const fs::path& folder) {
  std::error_code error;
  RIESZ_CHECK(!fs::exists(fs::symlink_status(folder, error)) || fs::is_empty(folder, error),
              "convert: there is something at ", in_quotes(folder.string()),
              " already; choose another name, or remove it first");
  check_folder_can_be_written(folder);
}

}  // namespace

std::string convert_report(const ConvertWords& words) {
  const auto begin = std::chrono::steady_clock::now();
  const SaveOptions defaults;
  const std::int64_t most = words.shard_bytes.value_or(defaults.file_bytes);
  RIESZ_CHECK(most >= 1, "convert: a file of ", most, " bytes; it must be 1 or more");
  check_new(words.folder);
  SourceOptions options;
  options.no_tokenizer = words.no_tokenizer;
  if (!words.type.empty()) options.type = scalar_type(words.type);
  const std::filesystem::path taken = weights_of(words.path);
  check_taken_alike(taken);
  const ModelSource source = open_model(taken, options);
  write_tensors(words.folder, Partition::world(), source.tensors, source.texts,
                {.file_bytes = most, .replaces = false});
  std::int64_t elements = 0, bytes = 0;
  for (const ReadableTensor& tensor : source.tensors) {
    std::int64_t n = 1;
    for (const std::int64_t extent : tensor.shape) n *= extent;
    elements += n;
    bytes += n * static_cast<std::int64_t>(c10::elementSize(tensor.type));
  }
  std::string texts;
  for (const auto& [name, text] : source.texts) texts += (texts.empty() ? "beside them: " : ", ") + name;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return concat(source.about, "\nwrote ", in_quotes(words.folder), ": ",
                grouped(static_cast<std::int64_t>(source.tensors.size())), " tensors, ", grouped(elements),
                " elements, ", grouped(bytes), " bytes; took ", duration(seconds), "\n",
                texts.empty() ? "no config.json or tokenizer is beside the weights" : texts, "\n");
}

}  // namespace riesz::app
