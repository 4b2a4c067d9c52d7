// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace riesz {

/// The origin of a key that was set in no file (`Config::origins`).
inline constexpr const char* kCommandLine = "the command line";

/// The configuration of a training run. The values here are the defaults; `schema()` names, bounds and
/// explains every one.
struct Config {
  std::string device = "cpu";
  std::string precision = "fp32";
  std::string compute = "same";
  bool tf32 = false;

  struct Layout {
    std::int64_t dp = 1;
    std::int64_t tp = 1;
    std::int64_t ep = 1;
    std::string experts = "dp";
    std::int64_t sp = 1;
    std::string tensor = "1d";
    std::string sequence = "none";
    std::vector<std::int64_t> space = {1, 1};  ///< workers along an image's height, and along its width
    std::int64_t zero = 0;
    std::int64_t panels = 1;
    bool keep_gathered = false;
    bool least_traffic = false;
    std::string recompute = "none";
    std::int64_t recompute_every = 1;
    bool recompute_pieces = false;
    std::int64_t pp = 1;
  } layout;

  struct Pipeline {
    std::string schedule = "one_f_one_b";
    std::int64_t chunks = 0;
    std::string partition = "count";
    std::string names;
    std::string trace;
  } pipeline;

  struct Model {
    std::string kind = "gpt2";
    std::string from;
    std::int64_t layers = 3;
    std::int64_t heads = 3;
    std::int64_t key_value_heads = 0;
    std::int64_t width = 48;
    std::int64_t hidden = 0;
    std::int64_t context = 6;
    std::int64_t rotary_dims = 0;
    double rotary_base = 10000.0;
    std::int64_t experts = 8;
    std::int64_t experts_per_token = 2;
    std::int64_t experts_every = 2;
    double capacity_factor = 0.0;
    double balance_weight = 0.01;
    double z_weight = 0.0;
    std::int64_t expert_hidden = 0;
    bool renormalise = false;
    std::string activation = "gelu";
    double epsilon = 1e-5;
    bool tied = false;
    double dropout = 0.0;
    std::int64_t image = 28;
    std::int64_t patch = 4;
    std::int64_t channels = 1;
    std::vector<std::int64_t> depths = {2, 2, 2, 2};
    std::vector<std::int64_t> widths = {64, 128, 256, 512};
    std::int64_t stem = 64;
    std::int64_t levels = 3;
    std::vector<std::int64_t> modes = {12, 12};
    bool bottleneck = false;
    bool halves_first = false;
    bool new_head = false;
    bool upcycle = false;
  } model;

  struct Data {
    std::string task = "adder";
    std::int64_t digits = 2;
    std::string text;
    std::string tokens;
    std::string packing = "packed";
    std::int64_t length = 0;
    std::int64_t sample = 400;
    double temperature = 0.8;
    std::string images;
    std::string mean = "0.5";
    std::string deviation = "0.5";
    std::string fit = "crop";
    std::int64_t resize = 0;
    std::string interpolation = "bilinear";
    std::int64_t shift = 0;
    bool mirror = false;
    bool skip_damaged = false;
    std::int64_t count = 1000;
    std::int64_t seed = 1;
    std::string inputs;
    std::string targets;
    std::int64_t labels = 2;
    std::string normalise = "moments";
    double held_out = 0.1;
  } data;

  struct Optimizer {
    std::string kind = "adamw";
    double learning_rate = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.95;
    double epsilon = 1e-8;
    double momentum = 0.9;
    double weight_decay = 0.1;
    std::string decays = "linear";
    double clip = 1.0;
    std::int64_t freeze = 100;
    std::string groups;
  } optimizer;

  struct Offload {
    std::string state = "device";
    std::string masters = "device";
    std::string activations = "device";
    std::string path;
    std::int64_t depth = 2;
  } offload;

  struct Schedule {
    std::string kind = "cosine";
    std::int64_t warm_up = 100;
    double floor = 0.0;
    std::int64_t rise = 500;
    std::int64_t fall = 500;
    double decay = 0.0;
    std::int64_t decay_steps = 0;
    double least_momentum = 0.8;
    double greatest_momentum = 0.9;
    double growth = 1.0;
    std::int64_t interval = 100;
    std::int64_t stairs = 0;
  } schedule;

  struct Train {
    std::int64_t steps = 1000;
    std::int64_t batch = 64;
    std::int64_t micro_batches = 0;
    std::int64_t seed = 1;
    std::string frozen;
    std::int64_t eval_every = 100;
    std::int64_t eval_size = 500;
    std::string profile;
    bool nvtx = false;
  } train;

  struct Checkpoint {
    bool save = true;
    bool best = true;
    std::int64_t every = 0;
    std::int64_t keep = 2;
    bool background = true;
    std::string folder;
  } checkpoint;

  struct Output {
    std::string folder;
    std::string progress = "auto";
    std::int64_t pictures = 4;
  } output;

  bool resume = false;  ///< go on from the last checkpoint? Said by a command's --resume, in no file
  bool quiet = false;   ///< no progress and no notes? Said by a command's --quiet, in no file

  /// The labels' names, in the order of their numbers, for a model of images from model.from that keeps its
  /// classifier; else empty. It is no key: the model's folder says them.
  std::vector<std::string> labels;

  /// By a key's name, where it was set: a file, or kCommandLine. Defaults are not in it.
  std::map<std::string, std::string> origins;
};

/// Have the model's blocks experts? With model.from this is known once config.json has been read.
bool has_experts(const Config::Model& model);
/// Does the model see images, or fields? Has it their rows and columns as dims, which layout.space shares
/// out?
bool sees_images(const Config::Model& model);
bool has_space(const Config::Model& model);
/// Has it batch norms, whose moments, and so its losses, are those of a micro-batch?
bool has_batch_norms(const Config::Model& model);

}  // namespace riesz
