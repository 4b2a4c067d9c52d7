// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "riesz/io/images/image_form.h"
#include "riesz/io/images/image_list.h"
#include "riesz/partition/partition.h"

namespace riesz {

/// Images, and the number of each one's label.
struct ImageSet {
  at::Tensor images;               ///< (n, channels, size, size), bytes
  at::Tensor labels;               ///< (n), int64, below names.size()
  std::vector<std::string> names;  ///< of the labels

  std::int64_t count() const { return labels.size(0); }
  /// The images of these numbers, in their order: a copy.
  ImageSet subset(const std::vector<std::int64_t>& numbers) const;
};

/// The images of a list that can be read, and which cannot.
struct ReadableImages {
  ImageSet set;
  std::vector<std::int64_t> damaged;  ///< their numbers in the list, ascending
  std::string why;                    ///< what `read_in_form` throws of the first of them
};

/// A file's image in the form, (channels, size, size). Local. @throws Error naming the file, as `read_image`
/// and `to_form`.
at::Tensor read_in_form(const std::filesystem::path& file, const ImageForm& form);

/// Reads the images of a list in a form (`to_form`); both must be the same on all workers. Each host has one
/// copy, which nobody may write, and each of its workers decodes a part of it (`host_copy`). Collective over
/// P. Memory: the images once a host; on each worker one file, its image (`read_image`) and a copy of that in
/// fp32.
/// @throws Error on all workers, naming the first file that cannot be read, as `read_in_form` and `read_idx`
/// do. Also naming two ranks whose lists differ, such as when the folder changed in between.
ImageSet read_images(const ImageList& list, const ImageForm& form, const Partition& P = Partition::world());

/// As `read_images`, without the images whose files cannot be read: all workers leave out those that any of
/// them cannot read. The others keep their order. An array is one file: damaged, it is an error.
/// @throws Error as `read_images` of lists that differ and of an array.
ReadableImages read_readable_images(const ImageList& list, const ImageForm& form,
                                    const Partition& P = Partition::world());

}  // namespace riesz
