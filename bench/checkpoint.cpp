// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A model of SmolLM2's sizes (135 million parameters, fp32) on its way into a folder and back, beside what
// the disk and the page cache give: saving beside dd with fsync of as many bytes, loading beside reading as
// many bytes as a worker's part has into memory that the system has yet to give, and into one megabyte again
// and again, each in turn with its peer, A B A B; the middle of the ratios, the least and the greatest.
//   mpirun -n 2 checkpoint FOLDER [--turns N] [--layout tp|dp] [--load-only]
// With --load-only, of a folder that is there, it says how much memory loading takes in a process that has
// had none.
#include <sys/mman.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/checkpoint/background_save.h"
#include "riesz/io/checkpoint/load.h"
#include "riesz/io/checkpoint/save.h"
#include "riesz/io/file.h"
#include "riesz/io/safetensors/stored_tensors.h"
#include "riesz/models/llama.h"
#include "riesz/primitives/all_max.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;

/// From when all have come to when all have done it.
template <typename Call>
double seconds(const Partition& world, const Call& call) {
  wait_for_all(world);
  const auto begin = std::chrono::steady_clock::now();
  call();
  wait_for_all(world);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// In MB: memory of this process that holds no file.
double anonymous() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0;
    if (word == "RssAnon:" && status >> kilobytes) return kilobytes * 1024 / 1e6;
  }
  return 0;
}

struct Turns {
  const char *what, *beside;
  double bytes;
  std::vector<double> ours = {}, theirs = {};

  void report() const {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < ours.size(); ++i) ratios.push_back(theirs[i] / ours[i]);
    const auto middle = [](std::vector<double> all) {
      std::sort(all.begin(), all.end());
      return all[all.size() / 2];
    };
    const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    std::printf("%-24s %7.0f MB/s, %-34s %7.0f MB/s, ratio %.2f (%.2f to %.2f)\n", what,
                bytes / 1e6 / middle(ours), beside, bytes / 1e6 / middle(theirs), middle(ratios), *least,
                *most);
  }
};

void dd(const fs::path& file, std::int64_t bytes) {
  const std::string command = concat("dd if=/dev/zero of='", file.string(), "' bs=1M count=", bytes,
                                     " iflag=count_bytes", " conv=fsync status=none");
  RIESZ_CHECK(std::system(command.c_str()) == 0, "this failed: ", command);
}

/// As many bytes of a file, from where this worker's share begins, as it has of a model, a megabyte at a
/// time: into memory that it has not had, or into the same megabyte.
void read_part(const fs::path& file, const Partition& world, std::int64_t bytes, bool fresh) {
  constexpr std::int64_t at_once = std::int64_t{1} << 20;
  const File in = File::to_read(file);
  const std::int64_t begin = std::min(in.bytes() * world.rank() / world.size(), in.bytes() - bytes);
  const auto size = static_cast<std::size_t>(fresh ? bytes : at_once);
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  RIESZ_CHECK(memory != MAP_FAILED, "no memory for ", size, " bytes");
  for (std::int64_t at = 0; at < bytes; at += at_once)
    in.read(begin + at, static_cast<char*>(memory) + (fresh ? at : 0), std::min(at_once, bytes - at));
  ::munmap(memory, size);
}

struct Model {
  Model(const Partition& mesh, at::ScalarType type) : llama(spaces::one_d(mesh), models::LlamaConfig{}) {
    llama.initialise(1, type);
  }
  std::vector<Parameter> parameters() { return llama.parameters(); }
  std::int64_t bytes() {
    std::int64_t sum = 0;
    for (const Parameter& parameter : parameters())
      sum += 4 * volume(parameter.space().boxes(Runtime::rank()));
    return sum;
  }
  models::Llama llama;
};

void saving(const fs::path& folder, const Partition& mesh, int turns) {
  const Partition world = Partition::world();
  Model model(mesh, at::kFloat);
  const CheckpointContents contents{
      state_of_values(model.parameters()), published_shapes(model.parameters()), {}};
  const fs::path path = folder / "x";
  save_checkpoint(path, world, contents);
  const std::int64_t bytes = StoredTensors(path).bytes();
  const bool first = world.rank() == 0;
  const auto clear = [&] {
    wait_for_all(world);
    if (first) fs::remove_all(path), fs::remove(folder / "dd");
  };
  Turns saved{"saving", "dd with fsync", static_cast<double>(bytes)};
  Turns stalled{"copying to save", "saving", static_cast<double>(bytes)};
  for (int turn = 0; turn < turns; ++turn) {
    clear();
    saved.ours.push_back(seconds(world, [&] { save_checkpoint(path, world, contents); }));
    clear();
    saved.theirs.push_back(seconds(world, [&] {
      if (first) dd(folder / "dd", bytes);
    }));
    clear();
    std::optional<BackgroundSave> save;
    stalled.ours.push_back(seconds(world, [&] { save.emplace(path, world, contents); }));
    save->wait();
    stalled.theirs.push_back(saved.ours.back());
  }
  if (first) saved.report(), stalled.report();
}

void loading(const fs::path& folder, const Partition& mesh, int turns, bool fresh_process) {
  const Partition world = Partition::world();
  const fs::path file = folder / "x" / "model.safetensors";
  const bool first = world.rank() == 0;
  const auto bytes = static_cast<double>(StoredTensors(file).bytes());
  Turns loaded{"loading", "reading a part into fresh memory", bytes};
  Turns again{"loading over values", "reading a part again and again", bytes};
  std::vector<std::unique_ptr<Model>> models;  // they stay, so that the next one has fresh memory
  for (int turn = 0; turn <= turns; ++turn) {
    const double before = anonymous();
    Model& model = *models.emplace_back(std::make_unique<Model>(mesh, at::kFloat));
    const auto load = [&] { load_weights(file, model.parameters()); };
    const double fresh = seconds(world, load);
    const double over = anonymous() - before;
    const std::int64_t part = model.bytes();
    const double fresh_bytes = seconds(world, [&] { read_part(file, world, part, true); });
    const double second = seconds(world, load);
    const double second_bytes = seconds(world, [&] { read_part(file, world, part, false); });
    if (turn == 0 && fresh_process && first)
      std::printf("a worker's part is %.0f MB; loading it took %.0f MB of memory\n",
                  static_cast<double>(part) / 1e6, over);
    if (turn == 0) continue;
    loaded.ours.push_back(fresh), loaded.theirs.push_back(fresh_bytes);
    again.ours.push_back(second), again.theirs.push_back(second_bytes);
  }
  if (first) loaded.report(), again.report();
}

int run(int argc, char** argv) {
  std::string folder, layout = "tp";
  int turns = 5;
  bool load_only = false;
  CLI::App app("Saving and loading a model, beside dd and reading");
  app.add_option("FOLDER", folder, "where there is room for some GB")->required();
  app.add_option("--turns", turns);
  app.add_flag("--load-only", load_only);
  app.add_option("--layout", layout)->check(CLI::IsMember({"tp", "dp"}));
  CLI11_PARSE(app, argc, argv);
  const int p = Runtime::size();
  const Partition mesh =
      Partition::world().grid({{"dp", layout == "dp" ? p : 1}, {"tp", layout == "tp" ? p : 1}});
  fs::create_directories(folder);
  if (!load_only) saving(folder, mesh, turns);
  loading(folder, mesh, turns, load_only);
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::run); }
