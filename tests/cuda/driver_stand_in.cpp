// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// In the place of NVIDIA's driver, for scripts/visible_gpus.py: two GPUs, of which CUDA_VISIBLE_DEVICES may
// hide some. RIESZ_STAND_IN_DRIVER is its version.
#include <cstddef>
#include <cstdlib>
#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kNoDevice = 100;  // CUDA_ERROR_NO_DEVICE

int visible() {
  const char* const some = std::getenv("CUDA_VISIBLE_DEVICES");
  if (some == nullptr) return 2;
  int count = *some == '\0' ? 0 : 1;
  for (const char* at = some; *at != '\0'; ++at) count += *at == ',';
  return count;
}

}  // namespace

EXPORT int cuInit(unsigned int) { return visible() == 0 ? kNoDevice : 0; }
EXPORT int cuDriverGetVersion(int* version) {
  const char* const asked = std::getenv("RIESZ_STAND_IN_DRIVER");
  *version = asked == nullptr ? 13000 : std::atoi(asked);
  return 0;
}
EXPORT int cuDeviceGetCount(int* count) {
  *count = visible();
  return 0;
}
EXPORT int cuDeviceGet(int* device, int number) {
  *device = number;
  return 0;
}
EXPORT int cuDeviceGetName(char* name, int length, int) {
  std::strncpy(name, "a GPU", static_cast<std::size_t>(length));
  return 0;
}
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int device) {
  *value = attribute == 75 ? 8 : 6 + 3 * device;
  return 0;
}
