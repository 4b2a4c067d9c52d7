// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

namespace riesz {

/// What a training run is. The values here are the defaults; `schema()` names, bounds and explains every one.
struct Config {
  struct Layout {
    std::int64_t dp = 1;
    std::int64_t tp = 1;
    std::int64_t sp = 1;
    std::string tensor = "1d";
    std::string sequence = "none";
  } layout;

  struct Model {
    std::int64_t layers = 3;
    std::int64_t heads = 3;
    std::int64_t width = 48;
    std::int64_t context = 6;
    double dropout = 0.0;
  } model;

  struct Data {
    std::string task = "adder";
    std::int64_t digits = 2;
    std::string text;
    std::int64_t sample = 400;
    double temperature = 0.8;
    double held_out = 0.1;
  } data;

  struct Train {
    std::int64_t steps = 1000;
    std::int64_t batch = 64;
    std::int64_t seed = 1;
    double learning_rate = 1e-3;
    double floor = 0.0;
    std::int64_t warm_up = 100;
    double beta1 = 0.9;
    double beta2 = 0.95;
    double weight_decay = 0.1;
    double clip = 1.0;
    std::int64_t eval_every = 100;
    std::int64_t eval_size = 500;
  } train;

  struct Output {
    std::string folder;
    std::string progress = "auto";
  } output;
};

}  // namespace riesz
