// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels_found.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "riesz/comm/kernels/device_kernels.h"

namespace riesz::testing {
namespace {

const KernelLibrary* noted_library = nullptr;
std::mutex found_mutex;
std::set<std::string> found_names;

Launch find_and_note(const char* kernel, std::size_t* size) {
  const Launch function = noted_library->find(kernel, size);
  const std::lock_guard lock(found_mutex);
  if (function != nullptr) found_names.insert(kernel);
  return function;
}

/// While it lives, the library of a type of device notes which kernels it finds.
class NotingScope {
 public:
  explicit NotingScope(at::DeviceType type) : type_(type) {
    noted_library = kernel_library_for(type);
    noting_.name = noted_library->name;
    found_names.clear();
    set_kernel_library_for(type, &noting_);
  }
  ~NotingScope() { set_kernel_library_for(type_, noted_library); }
  NotingScope(const NotingScope&) = delete;
  NotingScope& operator=(const NotingScope&) = delete;

 private:
  at::DeviceType type_;
  KernelLibrary noting_{nullptr, find_and_note};
};

bool is_found(const std::string& text) {
  // The kernels of elements of a formula are looked for by the formula.
  const std::string part = text == "OfElement" ? "DeviceFormula" : text;
  return std::any_of(found_names.begin(), found_names.end(),
                     [&](const std::string& name) { return name.find(part) != std::string::npos; });
}

}  // namespace

std::string kernels_not_found(const KernelCase& each, at::Device device) {
  if (kernel_library_for(device.type()) == nullptr) return "";
  {
    const NotingScope noting(device.type());
    each.run(device);
  }
  std::string missing;
  for (const auto& [text, count] : each.queued)
    if (count > 0 && !is_found(text)) missing += (missing.empty() ? "" : ", ") + text;
  return missing;
}

}  // namespace riesz::testing
