// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/trace/nvtx_ranges.h"

#include <string>

#include "riesz/comm/device_library.h"
#include "riesz/comm/error.h"
#include "riesz/comm/trace/range.h"

namespace riesz {
namespace {

/// How many ranges of this thread the profiler has open.
thread_local int open_ranges = 0;

class NvtxSink final : public RangeSink {
 public:
  explicit NvtxSink(const detail::CudaLibrary& library) : library_(library) {}

  void begin(RangeKind /*kind*/, std::string_view name, std::string_view /*detail*/) noexcept final {
    library_.range_push(std::string(name).c_str());
    ++open_ranges;
  }

  void end() noexcept final {
    if (open_ranges == 0) return;  // it began before
    --open_ranges;
    library_.range_pop();
  }

  void sent(const Operation& /*operation*/, const Traffic& /*traffic*/) noexcept final {}
  void was_in_flight(std::string_view /*name*/,
                     std::chrono::steady_clock::time_point /*since*/) noexcept final {}

 private:
  const detail::CudaLibrary& library_;
};

}  // namespace

NvtxRanges::NvtxRanges() {
  RIESZ_CHECK(range_sink() == nullptr,
              "NvtxRanges: ranges go to a sink already, such as a trace that is under way; stop it first");
  static auto* const sink = new NvtxSink(  // as long as the process
      detail::load_cuda_library("NvtxRanges", ", or leave train.nvtx false"));
  set_range_sink(sink);
}

NvtxRanges::~NvtxRanges() { set_range_sink(nullptr); }

}  // namespace riesz
