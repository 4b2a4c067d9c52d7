// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/host_place.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <string>
#include <vector>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

/// Each has memory of its own, so the order of copies in a stream is all that they need.
class HostPages : public Pages {
 public:
  explicit HostPages(const std::vector<std::int64_t>& sizes) {
    for (const std::int64_t size : sizes) {
      const at::Tensor page = at::zeros({size}, at::kByte);
      pages_.push_back(size > 0 ? page.pin_memory() : page);
      bytes_ += size;
      largest_ = std::max(largest_, size);
    }
  }

  void expect(std::size_t) override {}
  at::Tensor bring(std::size_t page) override { return pages_[page]; }
  void let_go(std::size_t, bool) override {}
  std::int64_t bytes() const override { return bytes_; }
  std::int64_t bytes_in_memory() const override { return largest_; }

 private:
  std::vector<at::Tensor> pages_;
  std::int64_t bytes_ = 0;
  std::int64_t largest_ = 0;
};

class HostPlace : public StatePlace {
 public:
  explicit HostPlace(std::int64_t page_bytes) : page_bytes_(page_bytes) {
    RIESZ_CHECK(page_bytes > 0 && page_bytes % 4096 == 0, "host_place: a page of ", page_bytes,
                " bytes; it must be a multiple of 4096");
  }

  std::unique_ptr<Pages> room(const std::string&, const std::vector<std::int64_t>& sizes) override {
    return std::make_unique<HostPages>(sizes);
  }
  std::int64_t page_bytes() const override { return page_bytes_; }
  std::size_t depth() const override { return 0; }
  bool is_host_memory() const override { return true; }
  std::string describe() const override { return "the host, in pinned memory"; }

 private:
  std::int64_t page_bytes_;
};

}  // namespace

std::shared_ptr<StatePlace> host_place(std::int64_t page_bytes) {
  return std::make_shared<HostPlace>(page_bytes);
}

}  // namespace riesz
