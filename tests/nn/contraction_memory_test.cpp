// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// SUMMA's memory: what a product in panels holds beside its operands and its results, to the byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "expect.h"
#include "riesz/comm/communicator.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/transports/mpi.h"
#include "riesz/nn/contraction/contraction.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/memory_meter.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t kSize = 240;  // rows and columns of all three matrices

/// Messages by MPI that end only when the thread that posted them waits for them: to the background, and to
/// the few looks at the start, they are under way. So every run holds the same at the same time.
class Unhurried final : public Transport {
 public:
  std::unique_ptr<Requests> post(std::vector<Message> sends, std::vector<Message> receives) override {
    return std::make_unique<UntilWaitedFor>(inner_.post(std::move(sends), std::move(receives)));
  }

 private:
  class UntilWaitedFor final : public Requests {
   public:
    explicit UntilWaitedFor(std::unique_ptr<Requests> inner) : inner_(std::move(inner)) {}
    bool done() override {
      constexpr int kLooksOfAStart = 8;  // few; who waits looks as often as it takes
      return std::this_thread::get_id() == maker_ && ++looks_ > kLooksOfAStart && inner_->done();
    }
    std::vector<int> unfinished() const override { return inner_->unfinished(); }

   private:
    std::unique_ptr<Requests> inner_;
    std::thread::id maker_ = std::this_thread::get_id();
    int looks_ = 0;
  };

  MpiTransport inner_;
};

/// All workers as q1 x q2, as square as they go.
Partition square() {
  int q1 = 1;
  for (int q = 1; q * q <= Partition::world().size(); ++q) q1 = Partition::world().size() % q == 0 ? q : q1;
  return Partition::world().grid({{"q1", q1}, {"q2", Partition::world().size() / q1}});
}

/// The most that lives beside operands and results while y, and then both gradients, are made in panels.
std::pair<std::int64_t, std::int64_t> peaks(const Partition& mesh, int rounds) {
  const Space S(mesh, {kSize, kSize});
  const Space X = S.sharded(0, "q1").sharded(1, "q2"), W = S.sharded(1, "q1").sharded(0, "q2"), Y = X;
  const Vector x = leaf(X, draws(X.shape(), 1)), w = leaf(W, draws(W.shape(), 2));
  const Vector ybar = distribute(dual(Y), draws(Y.shape(), 3));
  const Contraction form("bi,oi->bo", X, W, Y, {.rounds = rounds});
  Chain chain;
  const MemoryMeter meter;
  const Vector y = form(x, w);
  const std::int64_t value = MemoryMeter::peak() - 8 * y.local().numel();
  MemoryMeter::restart();
  pullback(y, ybar, {x, w});
  return {value, MemoryMeter::peak() - 8 * (y.local().numel() + x.local().numel() + w.local().numel())};
}

/// One operand of the product, x or w, in panels of the index that both are summed over.
struct Streamed {
  std::int64_t bytes;      ///< of a panel as this worker computes with it
  std::int64_t workers;    ///< that it is gathered from, and its gradient scattered to
  std::int64_t first;      ///< of the panels that this worker holds
  std::int64_t held;       ///< how many
  std::int64_t of_result;  ///< bytes of its gradient

  bool mine(std::int64_t panel) const { return workers > 1 && panel >= first && panel < first + held; }
  /// A panel that has come; where w is not gathered, a view.
  std::int64_t arrived() const { return workers > 1 ? bytes : 0; }
  /// One on its way: where it lands, and where it lies packed to be sent.
  std::int64_t coming(std::int64_t panel) const { return arrived() + (mine(panel) ? bytes : 0); }
  /// A panel of the gradient on its way: the product, and the terms of the others.
  std::int64_t leaving(std::int64_t panel) const { return bytes + (mine(panel) ? (workers - 1) * bytes : 0); }
  /// The same as it lands: with the terms' sum.
  std::int64_t landing(std::int64_t panel) const { return leaving(panel) + (mine(panel) ? bytes : 0); }
};

Streamed streamed(const Partition& mesh, const char* over, const char* rows_over, std::int64_t rounds) {
  const std::int64_t q = mesh.extent(over), rows = kSize / mesh.extent(rows_over), panels = rounds / q;
  const int place = mesh.coordinates(mesh.rank())[static_cast<std::size_t>(mesh.index(over))];
  return {8 * rows * kSize / rounds, q, place * panels, panels, 8 * rows * kSize / q};
}

/// At each product two panels of each operand: the one it reads, and the next on its way.
std::int64_t reading(const std::array<Streamed, 2>& xw, std::int64_t panel, std::int64_t rounds) {
  std::int64_t bytes = 0;
  for (const Streamed& s : xw) bytes += s.arrived() + (panel + 1 < rounds ? s.coming(panel + 1) : 0);
  return bytes;
}

/// While gradients are made also, of each, the product of this panel, and of the one before what is on its
/// way. That lands when there is this product; with the first of them the gradient itself begins to live.
std::int64_t of_gradients(const std::array<Streamed, 2>& xw, std::int64_t rounds) {
  const auto& [x, w] = xw;
  std::int64_t most = 0;
  for (std::int64_t panel = 0; panel < rounds; ++panel) {
    const std::int64_t read = reading(xw, panel, rounds);
    const std::int64_t missing = panel < 2 ? w.of_result : 0;
    if (panel == 0) {
      most = std::max(most, read + x.leaving(0) + w.leaving(0) - x.of_result - missing);
      continue;
    }
    const std::int64_t x_lands = read + x.bytes + x.landing(panel - 1) + w.leaving(panel - 1);
    const std::int64_t w_lands = read + x.leaving(panel) + w.bytes + w.landing(panel - 1);
    const std::int64_t both_leave = read + x.leaving(panel) + w.leaving(panel);
    most = std::max({most, x_lands - missing - (panel < 2 ? x.of_result : 0), w_lands - missing, both_leave});
  }
  return most;
}

TEST(ContractionMemory, APanelIsReadWhileTheNextComesAndTheLastOnesGradientsLeave) {
  const Partition mesh = square();
  auto kept = set_world_communicator(std::make_unique<Communicator>(std::make_unique<Unhurried>()));
  for (const int rounds : {12, 24}) {  // multiples of the workers: each panel is one worker's
    SCOPED_TRACE(to_string(mesh) + ", rounds: " + std::to_string(rounds));
    const auto [value, gradients] = peaks(mesh, rounds);
    if (mesh.size() == 1) {  // nothing is gathered, so nothing comes in panels
      EXPECT_EQ(value, 0);
      EXPECT_EQ(gradients, 0);
      continue;
    }
    const std::array<Streamed, 2> xw{streamed(mesh, "q2", "q1", rounds), streamed(mesh, "q1", "q2", rounds)};
    std::int64_t most = 0;
    for (std::int64_t panel = 0; panel < rounds; ++panel) most = std::max(most, reading(xw, panel, rounds));
    EXPECT_EQ(value, most);
    EXPECT_EQ(gradients, of_gradients(xw, rounds));
  }
  finish_background();
  set_world_communicator(std::move(kept));
}

}  // namespace
}  // namespace riesz::testing
