// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/images/image_set.h"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/simulation.h"
#include "riesz/io/escaped.h"
#include "riesz/io/host_copy.h"
#include "riesz/io/images/read_idx.h"
#include "riesz/io/images/read_image.h"
#include "riesz/partition/agreement/alike.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;

/// Images of bytes in the form. @throws Error that names the file which has them.
at::Tensor formed(const at::Tensor& images, const ImageForm& form, const fs::path& file) {
  try {
    return to_form(images, form);
  } catch (const Error& error) {
    throw Error(concat(error.what(), "; it is ", in_quotes(file.string())));
  }
}

/// Of how many images they are, their labels, and their files as seen from the first one's folder: where
/// workers keep them may differ.
std::uint64_t digest_of(const ImageList& list) {
  std::string text;
  for (const fs::path& file : list.files)
    text += concat(file.lexically_relative(list.files.front().parent_path()).string(), '\n');
  for (const std::string& name : list.names) text += concat(name, '\n');
  if (list.count() == 0) return digest(text);
  const at::Tensor labels = list.labels.contiguous();
  return digest(concat(digest(text), " ", digest(labels.const_data_ptr(), labels.nbytes())));
}

/// Fills a piece of the list's images. @return those whose files cannot be read.
std::vector<MissingRow> read_rows(const ImageList& list, const ImageForm& form, const Interval& rows,
                                  const at::Tensor& piece) {
  std::vector<MissingRow> missing;
  if (!list.array.empty()) {
    read_idx_rows(list.array, rows, [&](std::int64_t first, const at::Tensor& some) {
      piece.narrow(0, first - rows.begin, some.size(0)).copy_(formed(some.unsqueeze(1), form, list.array));
    });
    return missing;
  }
  for (std::int64_t i = rows.begin; i < rows.end; ++i) {
    try {
      piece.select(0, i - rows.begin).copy_(read_in_form(list.files[static_cast<std::size_t>(i)], form));
    } catch (const Error& error) {
      missing.push_back({i, error.what()});
    }
  }
  return missing;
}

/// The labels but those of these numbers, which ascend.
at::Tensor without(const at::Tensor& labels, const std::vector<std::int64_t>& numbers) {
  std::vector<std::int64_t> kept;
  for (std::int64_t i = 0; i < labels.size(0); ++i) {
    if (!std::binary_search(numbers.begin(), numbers.end(), i)) kept.push_back(i);
  }
  return labels.index_select(0, at::tensor(kept, at::kLong));
}

}  // namespace

ImageSet ImageSet::subset(const std::vector<std::int64_t>& numbers) const {
  const at::Tensor which = at::tensor(numbers, at::kLong);
  return {images.index_select(0, which), labels.index_select(0, which), names};
}

at::Tensor read_in_form(const fs::path& file, const ImageForm& form) {
  return formed(read_image(file).unsqueeze(0), form, file).squeeze(0);
}

ImageSet read_images(const ImageList& list, const ImageForm& form, const Partition& P) {
  ReadableImages images = read_readable_images(list, form, P);
  if (!images.damaged.empty()) throw Error(images.why);  // it has its worker's prefix
  return std::move(images.set);
}

ReadableImages read_readable_images(const ImageList& list, const ImageForm& form, const Partition& P) {
  if (!Simulation::running()) check_alike(P, "the list of images", digest_of(list));
  SomeRows some = host_copy_of_those(
      P, {list.count(), form.channels, form.size, form.size}, at::kByte,
      [&](const Interval& rows, const at::Tensor& piece) { return read_rows(list, form, rows, piece); });
  return {{some.rows, some.missing.empty() ? list.labels : without(list.labels, some.missing), list.names},
          some.missing,
          some.why};
}

}  // namespace riesz
