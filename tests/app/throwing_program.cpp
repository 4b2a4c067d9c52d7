// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// throwing_program CONFIG.toml [key=value ...]: trains as the program does, but rank 1 alone gives up after
// its step 3.
#include <stdexcept>
#include <string>
#include <vector>

#include "riesz/app/train.h"
#include "riesz/comm/runtime.h"
#include "riesz/train/load_config.h"

namespace riesz {
namespace {

int run(int argc, char** argv) {
  const std::vector<std::string> words(argv + 2, argv + argc);
  app::train(load_config(argv[1], words), [](const Row& row) {
    if (Runtime::rank() == 1 && row.step == 3) throw std::runtime_error("this rank gives up after step 3");
  });
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::run); }
