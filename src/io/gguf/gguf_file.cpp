// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/gguf/gguf_file.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <map>

#include "riesz/comm/error.h"
#include "riesz/io/byte_spans.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"

namespace riesz {
namespace {

constexpr std::int64_t kAtOnce = std::int64_t{1} << 18;  // elements

/// Elements that are wanted, and the blocks that have them, a group at a time.
class BlockGroup {
 public:
  BlockGroup(const File& file, const GgufTensor& tensor, const at::Tensor& out)
      : file_(file), tensor_(tensor), type_(*tensor.type), out_(out) {}

  void add(Interval wanted) {
    while (wanted.size() > 0) {
      const std::int64_t first = wanted.begin / type_.elements;
      const std::int64_t room = (kAtOnce + type_.elements - 1) / type_.elements - blocks_;
      const std::int64_t count = std::min((wanted.end + type_.elements - 1) / type_.elements - first, room);
      const std::int64_t end = std::min(wanted.end, (first + count) * type_.elements);
      runs_.push_back({first, first + count});
      // Where they lie among the elements of the group's blocks.
      const std::int64_t shift = (blocks_ - first) * type_.elements;
      parts_.push_back({wanted.begin + shift, end + shift});
      blocks_ += count;
      wanted.begin = end;
      if (blocks_ * type_.elements >= kAtOnce) flush();
    }
  }

  void flush() {
    bytes_.resize(static_cast<std::size_t>(blocks_ * type_.bytes));
    ByteSpans spans(file_, bytes_.data());
    for (const Interval& run : runs_)
      spans.add({tensor_.place.begin + run.begin * type_.bytes, tensor_.place.begin + run.end * type_.bytes});
    spans.flush();
    elements_.resize(static_cast<std::size_t>(blocks_ * type_.elements));
    dequantise(type_, bytes_.data(), blocks_, elements_.data());
    const at::Tensor wanted = at::empty({total(parts_)}, at::kFloat);
    auto* to = wanted.mutable_data_ptr<float>();
    for (const Interval& part : parts_) to = std::copy_n(elements_.data() + part.begin, part.size(), to);
    out_.narrow(0, done_, wanted.numel()).copy_(wanted);
    done_ += wanted.numel();
    runs_.clear(), parts_.clear();
    blocks_ = 0;
  }

 private:
  const File& file_;
  const GgufTensor& tensor_;
  const GgufType& type_;
  const at::Tensor& out_;
  std::int64_t done_ = 0;    // elements of out
  std::int64_t blocks_ = 0;  // of the group
  Intervals runs_;           // in blocks of the tensor
  Intervals parts_;          // in elements of the group
  std::vector<std::byte> bytes_;
  std::vector<float> elements_;
};

}  // namespace

struct GgufFile::Impl {
  explicit Impl(const std::filesystem::path& path)
      : file(File::to_read(path)), header(read_gguf_header(file)) {
    for (std::size_t i = 0; i < header.tensors.size(); ++i) by_name[header.tensors[i].name] = i;
  }

  File file;
  GgufHeader header;
  std::map<std::string, std::size_t> by_name;
};

GgufFile::GgufFile(const std::filesystem::path& path) : impl_(std::make_shared<Impl>(path)) {}

const std::filesystem::path& GgufFile::path() const { return impl_->file.path(); }
const GgufMetadata& GgufFile::metadata() const { return impl_->header.metadata; }
const std::vector<GgufTensor>& GgufFile::tensors() const { return impl_->header.tensors; }

const GgufTensor* GgufFile::find(const std::string& name) const {
  const auto found = impl_->by_name.find(name);
  return found == impl_->by_name.end() ? nullptr : &impl_->header.tensors[found->second];
}

void GgufFile::read(const std::string& name, const Intervals& wanted, const at::Tensor& out) const {
  const at::NoGradGuard no_gradient;
  const GgufTensor* tensor = find(name);
  RIESZ_CHECK(tensor, "there is no tensor ", in_quotes(name), " among the ", tensors().size(), " of ",
              in_quotes(path().string()));
  RIESZ_CHECK(total(wanted) == out.numel() && out.is_contiguous() && out.dim() == 1,
              "GgufFile: ", total(wanted), " elements of ", in_quotes(name), " into a tensor of ",
              out.sizes());
  for (const Interval& part : wanted)
    RIESZ_CHECK(part.begin >= 0 && part.end <= tensor->numel(), "GgufFile: elements ", part.begin, " to ",
                part.end, " of ", in_quotes(name), ", which has ", tensor->numel());
  BlockGroup group(impl_->file, *tensor, out);
  for (const Interval& part : wanted) group.add(part);
  group.flush();
}

}  // namespace riesz
