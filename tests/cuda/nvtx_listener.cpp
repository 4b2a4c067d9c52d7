// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// In a profiler's place: a program whose NVTX_INJECTION64_PATH names this library gives it its ranges. It
// prints each chain of open ranges once.
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <set>
#include <string>
#include <vector>

namespace {

struct Heard {
  std::set<std::string> chains;
  std::vector<std::string> open;
};

/// One for each thread. In the tests of this one thread has ranges.
thread_local Heard heard;

int push(const char* name) {
  heard.open.emplace_back(name);
  std::string chain;
  for (const std::string& each : heard.open) chain += (chain.empty() ? "" : " > ") + each;
  if (heard.chains.insert(chain).second) std::fprintf(stderr, "nvtx: %s\n", chain.c_str());
  return 0;
}

int pop() {
  if (heard.open.empty())
    std::fprintf(stderr, "nvtx: a range too many ends\n");
  else
    heard.open.pop_back();
  return 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_export_table) {
  const auto* const callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) == 0 ||
      size <= NVTX_CBID_CORE_RangePop)
    return 0;
  *table[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(push);
  *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(pop);
  return 1;
}
