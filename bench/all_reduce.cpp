// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Sums over two ranks on one host, fp32: those of a TeamBuffer beside a bare sum over shared memory in C (the
// same algorithm, without a library) and beside Open MPI; and of an ordinary tensor, by the AllReduce
// operator, beside Open MPI. In turns A B A B … in one job. Prints for each size the ratio (the other's time
// / Riesz's time: above 1 Riesz is faster), median and spread; what of the memory's bandwidth the sum
// reaches; with --rate NAME BYTES one line "sums/s N" for bench/paired.py.
// --undisturbed PERCENT repeats a pair in which others took more of the processors.
//   mpirun -n 2 all_reduce [--pairs 15] [--bytes N] [--undisturbed 100]
//   mpirun -n 2 all_reduce --rate all_reduce|reduce_scatter|staged BYTES
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "riesz/comm/runtime.h"
#include "riesz/comm/team/buffer.h"
#include "riesz/primitives/between.h"

namespace {

/// The bare sum: a window of MPI's, a flag for each rank, plain loops.
struct Bare {
  MPI_Win window;
  float* data[2];
  float* out;
  std::atomic<long>* flags[2];
  long count;
  int me;
  long round = 0;

  Bare(long elements, int rank) : count(elements), me(rank) {
    void* memory = nullptr;
    MPI_Win_allocate_shared(elements * 4 + 8192, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    for (int i = 0; i < 2; ++i) {
      MPI_Aint bytes = 0;
      int unit = 0;
      MPI_Win_shared_query(window, i, &bytes, &unit, &memory);
      flags[i] = static_cast<std::atomic<long>*>(memory);
      const auto aligned = (reinterpret_cast<std::uintptr_t>(memory) + 8191) / 4096 * 4096;
      data[i] = reinterpret_cast<float*>(aligned);
    }
    *flags[me] = 0;
    for (long i = 0; i < count; ++i) data[me][i] = 0;
    out = static_cast<float*>(
        std::aligned_alloc(4096, (static_cast<std::size_t>(count) * 2 + 4095) / 4096 * 4096));
    std::fill(out, out + count / 2, 0.F);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  ~Bare() {
    std::free(out);
    MPI_Win_free(&window);
  }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;

  void meet() {
    flags[me]->store(++round, std::memory_order_release);
    while (flags[1 - me]->load(std::memory_order_acquire) < round) {
    }
  }

#ifdef __SSE2__
  /// Past the caches, for what is larger than they are.
  void stream(float* to, float* also) const {
    const float* a = data[0] + me * (count / 2);
    const float* b = data[1] + me * (count / 2);
    for (long i = 0; i < count / 2; i += 4) {
      const __m128 sum = _mm_add_ps(_mm_loadu_ps(a + i), _mm_loadu_ps(b + i));
      _mm_stream_ps(to + i, sum);
      if (also != nullptr) _mm_stream_ps(also + i, sum);
    }
    _mm_sfence();
  }
#endif

  void plain(float* to, float* also) const {
    const float* a = data[0] + me * (count / 2);
    const float* b = data[1] + me * (count / 2);
    for (long i = 0; i < count / 2; ++i) {
      const float sum = a[i] + b[i];
      to[i] = sum;
      if (also != nullptr) also[i] = sum;
    }
  }

  void sum(float* to, float* also) {
    meet();
#ifdef __SSE2__
    if (count >= (1 << 20))
      stream(to, also);
    else
#endif
      plain(to, also);
    meet();
  }

  void all_reduce() { sum(data[0] + me * (count / 2), data[1] + me * (count / 2)); }
  void reduce_scatter() { sum(out, nullptr); }
};

using Sum = std::function<void()>;

/// Seconds a call, the slower rank's.
double seconds(const Sum& sum, int calls) {
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) sum();
  double mine = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / calls;
  double slower = 0;
  MPI_Allreduce(&mine, &slower, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slower;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Seconds of processor that all of this machine took since its start, and both ranks.
double busy_seconds() {
  long user = 0, nice = 0, system = 0;
  if (std::FILE* file = std::fopen("/proc/stat", "r")) {
    if (std::fscanf(file, "cpu %ld %ld %ld", &user, &nice, &system) != 3) user = 0;
    std::fclose(file);
  }
  return static_cast<double>(user + nice + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}
double own_seconds() {
  double mine = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return mine;
}

/// How much of the processors others may take while a pair runs; it is repeated where that is more. False if
/// it always was.
double undisturbed = 1;
bool repeat_undisturbed(const std::function<void()>& pair) {
  for (int attempt = 0; attempt < 400; ++attempt) {
    const double others = busy_seconds() - own_seconds();
    const auto begin = std::chrono::steady_clock::now();
    pair();
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    double share =
        (busy_seconds() - own_seconds() - others) / took / static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
    MPI_Bcast(&share, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (share <= undisturbed) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

/// In turns; the median time of `ours`.
double compare(const char* what, long bytes, int pairs, const Sum& ours, const Sum& other) {
  const int calls = static_cast<int>(std::clamp(500'000'000 / (bytes + 20'000), 3L, 8000L));
  seconds(ours, calls);
  seconds(other, calls);
  std::vector<double> ratios, times, others;
  int disturbed = 0;
  for (int i = 0; i < pairs; ++i) {
    const bool first = i % 2 == 0;
    double a = 0;
    double b = 0;
    const bool quiet = repeat_undisturbed([&] {
      a = seconds(first ? ours : other, calls);
      b = seconds(first ? other : ours, calls);
    });
    if (!quiet) ++disturbed;
    times.push_back(first ? a : b);
    others.push_back(first ? b : a);
    ratios.push_back(others.back() / times.back());
  }
  if (riesz::Runtime::rank() == 0) {
    std::printf("%-32s %9ld B  %10.2f us  other %10.2f us  ratio %.2f (%.2f to %.2f)\n", what, bytes,
                1e6 * median(times), 1e6 * median(others), median(ratios),
                *std::min_element(ratios.begin(), ratios.end()),
                *std::max_element(ratios.begin(), ratios.end()));
    if (disturbed > 0) std::printf("  %d of %d pairs were disturbed all the same\n", disturbed, pairs);
    std::fflush(stdout);
  }
  return median(times);
}

/// Bytes a second of both ranks together: a[i] = b[i] + s·c[i] past the caches, 64 MiB each.
double triad() {
  const long count = 16 << 20;
  const at::Tensor a = at::ones({count}), b = at::ones({count}), c = at::ones({count});
  float* x = a.mutable_data_ptr<float>();
  const float* y = b.const_data_ptr<float>();
  const float* z = c.const_data_ptr<float>();
  std::vector<double> times;
  for (int i = 0; i < 7; ++i) {
    times.push_back(seconds(
        [&] {
#ifdef __SSE2__
          for (long j = 0; j < count; j += 4)
            _mm_stream_ps(x + j,
                          _mm_add_ps(_mm_loadu_ps(y + j), _mm_mul_ps(_mm_set1_ps(3), _mm_loadu_ps(z + j))));
#else
          for (long j = 0; j < count; ++j) x[j] = y[j] + 3 * z[j];
#endif
        },
        1));
  }
  return 2. * 3 * 4 * static_cast<double>(count) / median(times);
}

riesz::Operator sum_of(const riesz::Space& X) {
  return riesz::between(X.partial("world"), X.replicated("world"));
}

struct Sums {
  explicit Sums(long bytes)
      : count(bytes / 4),
        buffer({0, 1}, count, at::kFloat),
        pieces({0, count / 2, count}),
        piece(at::ones({count / 2})),
        tensor(at::ones({count})),
        A(sum_of(riesz::Space(riesz::Partition::world(), {count}))) {}

  void all_reduce() { buffer.all_reduce("AllReduce", pieces)->wait(); }
  void reduce_scatter() { buffer.reduce_scatter("ReduceScatter", pieces, piece)->wait(); }
  void staged() { A(riesz::Vector(A.domain(), tensor)); }

  long count;
  riesz::TeamBuffer buffer;
  riesz::PieceOffsets pieces;
  at::Tensor piece, tensor;
  riesz::Operator A;
};

void compare_all(long bytes, int pairs, double bandwidth) {
  Sums sums(bytes);
  Bare bare(sums.count, riesz::Runtime::rank());
  const at::Tensor x = at::ones({sums.count}), y = at::ones({sums.count});
  const int count = static_cast<int>(sums.count);
  const auto mpi = [&] {
    MPI_Allreduce(x.data_ptr(), y.data_ptr(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  };
  const auto mpi_scatter = [&] {
    MPI_Reduce_scatter_block(x.data_ptr(), y.data_ptr(), count / 2, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  };
  const auto share = [&](const char* what, double passes, double time) {
    if (riesz::Runtime::rank() != 0 || bytes < (32 << 20)) return;
    std::printf("  %s moves %.1f GB/s, %.0f%% of the triad's\n", what,
                passes * static_cast<double>(bytes) / time / 1e9,
                100 * passes * static_cast<double>(bytes) / time / bandwidth);
  };
  const double a = compare(
      "all-reduce, bare", bytes, pairs, [&] { sums.all_reduce(); }, [&] { bare.all_reduce(); });
  share("it", 4, a);  // two read, two written, of half of the elements on each rank
  compare(
      "all-reduce, Open MPI", bytes, pairs, [&] { sums.all_reduce(); }, mpi);
  const double b = compare(
      "reduce-scatter, bare", bytes, pairs, [&] { sums.reduce_scatter(); }, [&] { bare.reduce_scatter(); });
  share("it", 3, b);
  compare(
      "reduce-scatter, Open MPI", bytes, pairs, [&] { sums.reduce_scatter(); }, mpi_scatter);
  compare(
      "staged all-reduce, Open MPI", bytes, pairs, [&] { sums.staged(); }, mpi);
}

void print_rate(const std::string& what, long bytes) {
  Sums sums(bytes);
  const Sum sum = what == "staged"           ? Sum([&] { sums.staged(); })
                  : what == "reduce_scatter" ? Sum([&] { sums.reduce_scatter(); })
                                             : Sum([&] { sums.all_reduce(); });
  std::vector<double> times;
  const int calls = static_cast<int>(std::clamp(40'000'000 / (bytes + 20'000), 3L, 2000L));
  for (int i = 0; i < 9; ++i) times.push_back(seconds(sum, calls));
  if (riesz::Runtime::rank() == 0) std::printf("sums/s %.3f\n", 1 / median(times));
}

int body(int argc, char** argv) {
  const at::NoGradGuard no_gradient;
  int pairs = 15;
  long only = 0;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string(argv[i]) == "--pairs") pairs = std::atoi(argv[i + 1]);
    if (std::string(argv[i]) == "--bytes") only = std::atol(argv[i + 1]);
    if (std::string(argv[i]) == "--undisturbed") undisturbed = std::atof(argv[i + 1]) / 100;
    if (std::string(argv[i]) == "--rate" && i + 2 < argc) {
      print_rate(argv[i + 1], std::atol(argv[i + 2]));
      return 0;
    }
  }
  if (riesz::Runtime::size() != 2) {
    std::fprintf(stderr, "run on two ranks\n");
    return 1;
  }
  const double bandwidth = triad();
  if (riesz::Runtime::rank() == 0) std::printf("triad, both ranks: %.1f GB/s\n", bandwidth / 1e9);
  for (const long bytes : {1L << 10, 1L << 16, 1L << 20, 1L << 26}) {
    if (only == 0 || only == bytes) compare_all(bytes, pairs, bandwidth);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return riesz::run_main(argc, argv, body); }
