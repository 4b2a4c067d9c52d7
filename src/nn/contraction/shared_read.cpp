// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/contraction/shared_read.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/nn/call_scope.h"
#include "riesz/primitives/chain.h"

namespace riesz::detail {
namespace {

/// Lives as long as what was read may be shared: a tape of a chain, or a call of the outermost layer,
/// both of one thread, in whose order workers agree. nullptr: nothing is shared.
using Span = std::shared_ptr<const void>;

/// How a tensor was when something was made of it.
struct State {
  explicit State(const at::Tensor& x) : version(x._version()), requires_grad(x.requires_grad()) {}

  std::int64_t version;
  bool requires_grad;

  bool operator==(const State&) const = default;
};

struct Cast {
  State of;
  at::Tensor cast;
};

struct Read {
  State of;
  Operator by;
  at::ScalarType type;
  std::shared_ptr<at::Tensor> gathered;
  std::shared_ptr<SharedRead> group;
};

/// What is known of a vector in one span.
struct Known {
  std::weak_ptr<const void> span;
  std::vector<Cast> casts;
  std::vector<Read> reads;
};

/// In the spans that there are, of several threads.
using InSpans = std::vector<Known>;

/// One for all vectors: who reads one is seldom on two threads.
std::mutex& of_all() {
  static std::mutex mutex;
  return mutex;
}

/// Workers outside of x's partition may have x itself where the others have what a layer made of it, so they
/// would take part in other reads.
bool can_be_shared(const Operator& read) {
  return read.communicates() && read.domain().partition() == read.range().partition();
}

Span span_here() {
  if (!at::GradMode::is_enabled()) return CallScope::outermost();
  const Chain* chain = Chain::current();
  return chain == nullptr ? nullptr : chain->lifetime();
}

Known& known_of(const Vector& x, const Span& span) {
  if (!x.kept()) x.kept() = std::make_shared<InSpans>();
  InSpans& spans = *std::static_pointer_cast<InSpans>(x.kept());
  std::erase_if(spans, [](const Known& known) { return known.span.expired(); });
  for (Known& known : spans)
    if (known.span.lock() == span) return known;
  return spans.emplace_back(Known{span, {}, {}});
}

at::Tensor cast_once(Known& known, const at::Tensor& x, at::ScalarType type) {
  for (const Cast& known_cast : known.casts)
    if (known_cast.cast.scalar_type() == type && known_cast.of == State(x)) return known_cast.cast;
  return known.casts.emplace_back(Cast{State(x), x.to(type)}).cast;
}

/// The read of this kind that is there still.
Read* find(Known& known, const Operator& by, at::ScalarType type) {
  const auto found = std::find_if(known.reads.begin(), known.reads.end(), [&](const Read& read) {
    return read.type == type && read.gathered->defined() && read.by == by;
  });
  return found == known.reads.end() ? nullptr : &*found;
}

}  // namespace

SharedRead::Pass& SharedRead::pass(int backward) {
  const std::lock_guard lock(mutex_);
  return passes_[backward];
}

void SharedRead::end(int backward) {
  {
    const std::lock_guard lock(mutex_);
    passes_.erase(backward);
  }
  const std::lock_guard lock(of_all());
  if (const auto gathered = gathered_.lock()) gathered->reset();
}

SharedX shared_x(const Vector& x, const Operator& read, std::optional<at::ScalarType> type, bool in_panels,
                 bool recorded) {
  const at::Tensor& local = x.local();
  const bool cast = type && local.scalar_type() != *type;
  const bool shared = !in_panels && can_be_shared(read);
  // Of a tensor made in inference mode nobody knows whether it was written to.
  const Span span = local.is_inference() ? nullptr : span_here();
  if (!span || (!cast && !shared)) return {cast ? local.to(*type) : local, local, nullptr, nullptr};
  const std::lock_guard lock(of_all());
  Known& known = known_of(x, span);
  const at::Tensor given = cast ? cast_once(known, local, *type) : local;
  if (!shared) return {given, local, nullptr, nullptr};
  Read* others = find(known, read, given.scalar_type());
  if (others == nullptr) {
    auto gathered = std::make_shared<at::Tensor>();
    return {given, local, gathered, recorded ? std::make_shared<SharedRead>(gathered) : nullptr};
  }
  RIESZ_CHECK(
      others->of == State(local), "contract: x, in ", to_string(x.space()),
      ", was written to, or began to require a gradient, since another contraction read it, and both share "
      "what was read; make a vector of its own of it: Vector(x.space(), x.local())");
  // Those before may all be of constants, which do not go back.
  const bool first = recorded && others->group == nullptr;
  if (first) others->group = std::make_shared<SharedRead>(others->gathered);
  return {given, local, others->gathered, recorded ? others->group : nullptr, first, false};
}

void leave_to_others(const Vector& x, const Operator& read, const SharedX& mine) {
  if (!mine.gathered || !mine.reads) return;
  const std::lock_guard lock(of_all());
  Known& known = known_of(x, span_here());
  std::erase_if(known.reads, [](const Read& old) { return !old.gathered->defined(); });
  known.reads.push_back({State(x.local()), read, mine.given.scalar_type(), mine.gathered, mine.group});
}

}  // namespace riesz::detail
