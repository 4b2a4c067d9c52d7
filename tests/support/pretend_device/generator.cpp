// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/pretend_device/generator.h"

#include <ATen/CPUGeneratorImpl.h>

#include <mutex>

namespace riesz::testing::pretend {

const at::Generator& generator() {
  static const auto* const generator = new at::Generator(at::make_generator<at::CPUGeneratorImpl>());
  return *generator;  // as long as the process
}

at::Generator generator_of_one_call() {
  at::Generator all = generator();
  const std::lock_guard lock(all.mutex());
  return at::make_generator<at::CPUGeneratorImpl>(all.get<at::CPUGeneratorImpl>()->random64());
}

}  // namespace riesz::testing::pretend
