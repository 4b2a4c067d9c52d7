// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/safetensors/stored_tensors.h"

#include <ATen/ops/empty.h>

#include <map>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/safetensors/listed_files.h"
#include "riesz/io/safetensors/read_runs.h"
#include "riesz/partition/intervals/global_intervals.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;

SafetensorsHeader header_of(const File& file) {
  const std::string name = file.path().string();
  const std::int64_t bytes = file.bytes();
  RIESZ_CHECK(bytes >= 8, "cannot read ", in_quotes(name), ": it has ", bytes,
              " bytes, and a safetensors file begins with 8 that say how long its head is");
  unsigned char length[8];
  file.read(0, length, 8);
  std::uint64_t head = 0;
  for (int i = 7; i >= 0; --i) head = head << 8 | length[i];
  RIESZ_CHECK(head <= static_cast<std::uint64_t>(kLongestHeader), "cannot read ", in_quotes(name),
              ": it says that its head has ", head, " bytes; the longest is ", kLongestHeader,
              "; it is no safetensors file, or it is damaged");
  RIESZ_CHECK(head + 8 <= static_cast<std::uint64_t>(bytes), "cannot read ", in_quotes(name),
              ": it says that its head has ", head, " bytes, and has ", bytes - 8,
              " after that; it is cut off");
  std::string text(head, ' ');
  file.read(8, text.data(), static_cast<std::int64_t>(head));
  return parse_header(name, text, bytes);
}

}  // namespace

struct StoredTensors::Impl {
  struct Place {
    std::size_t file;
    StoredTensor tensor;
  };
  std::vector<File> files;
  std::map<std::string, Place> places;
  std::map<std::string, std::string> metadata;

  void add(const fs::path& path);
  const Place& at(const std::string& name) const;
};

void StoredTensors::Impl::add(const fs::path& path) {
  files.push_back(File::to_read(path));
  SafetensorsHeader header = header_of(files.back());
  if (files.size() == 1) metadata = std::move(header.metadata);
  for (StoredTensor& tensor : header.tensors) {
    const auto [before, is_new] = places.try_emplace(tensor.name, Place{files.size() - 1, tensor});
    RIESZ_CHECK(is_new, "cannot read ", in_quotes(path.string()), ": tensor ", in_quotes(tensor.name),
                ": it is also in ", in_quotes(files[before->second.file].path().string()));
  }
}

const StoredTensors::Impl::Place& StoredTensors::Impl::at(const std::string& name) const {
  const auto found = places.find(name);
  RIESZ_CHECK(found != places.end(), "there is no tensor ", in_quotes(name), " among the ", places.size(),
              " of ", in_quotes(files.front().path().string()),
              files.size() > 1 ? " and the files beside it" : "");
  return found->second;
}

StoredTensors::StoredTensors(const fs::path& path, const std::string& stem) {
  auto impl = std::make_shared<Impl>();
  const ListedFiles listed = listed_files(path, stem);
  for (const fs::path& file : listed.files) impl->add(file);
  for (const auto& [tensor, file] : listed.file_of) {
    const auto found = impl->places.find(tensor);
    RIESZ_CHECK(found != impl->places.end() && impl->files[found->second.file].path() == file, "cannot read ",
                in_quotes(listed.index.string()), ": tensor ", in_quotes(tensor), ": it is not in ",
                in_quotes(file.string()));
  }
  for (const auto& [tensor, place] : impl->places) {
    RIESZ_CHECK(listed.index.empty() || listed.file_of.contains(tensor), "cannot read ",
                in_quotes(listed.index.string()), ": tensor ", in_quotes(tensor), ": it is in ",
                in_quotes(impl->files[place.file].path().string()), ", and the index does not list it");
  }
  impl_ = std::move(impl);
}

std::vector<StoredTensor> StoredTensors::tensors() const {
  std::vector<StoredTensor> all;
  for (const auto& [name, place] : impl_->places) all.push_back(place.tensor);
  return all;
}

const StoredTensor* StoredTensors::find(const std::string& name) const {
  const auto found = impl_->places.find(name);
  return found == impl_->places.end() ? nullptr : &found->second.tensor;
}

const std::map<std::string, std::string>& StoredTensors::metadata() const { return impl_->metadata; }

std::int64_t StoredTensors::bytes() const {
  std::int64_t sum = 0;
  for (const auto& [name, place] : impl_->places) sum += place.tensor.bytes();
  return sum;
}

void StoredTensors::read(const std::string& name, const Intervals& wanted, const at::Tensor& out) const {
  const Impl::Place& place = impl_->at(name);
  RIESZ_CHECK(total(wanted) == out.numel() && out.is_contiguous(), "StoredTensors: ", total(wanted),
              " elements of ", in_quotes(name), " into a tensor of ", out.sizes());
  read_runs(impl_->files[place.file], place.tensor, wanted, out);
}

void StoredTensors::read_part(const std::string& name, const Space& X, const at::Tensor& out) const {
  const StoredTensor& tensor = impl_->at(name).tensor;
  check_not_partial("StoredTensors::read " + name, X);
  RIESZ_CHECK(tensor.numel() == X.numel(), "tensor ", in_quotes(name), " has the shape ",
              at::IntArrayRef(tensor.shape), ", and cannot be read as a vector of\n  ", to_string(X));
  read(name, X.partition().active() ? global_intervals(X, {0, out.numel()}) : Intervals{}, out);
}

Vector StoredTensors::read(const std::string& name, const Space& X, at::ScalarType type) const {
  const at::Tensor local = at::empty(X.local_shape(), type);
  read_part(name, X, local.view({-1}));
  return {X, local};
}

}  // namespace riesz
