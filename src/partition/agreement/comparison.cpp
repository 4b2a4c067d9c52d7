// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/agreement/comparison.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <sstream>

#include "riesz/comm/error.h"
#include "riesz/comm/resolved.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/partition/participation.h"

namespace riesz {
namespace {

constexpr std::int64_t kPieces = 64;

/// Types and digests, the digests of pieces until one element is left, and that.
int most_rounds(std::int64_t elements) {
  int rounds = 2;
  for (; elements > 1; elements = (elements + kPieces - 1) / kPieces) ++rounds;
  return rounds;
}

std::string text_of(const at::Tensor& number) {
  std::ostringstream text;
  text.precision(std::numeric_limits<double>::max_digits10);
  if (number.is_complex())
    text << number.item<c10::complex<double>>();
  else if (number.is_floating_point())
    text << number.item<double>();
  else
    text << number.item<std::int64_t>();
  return text.str();
}

/// The global indices of element number `at` of what this worker holds, such as "(0, 3)".
std::string place_of(const Space& X, std::int64_t at) {
  std::string text;
  const Boxes boxes = X.boxes(X.partition().rank());
  for (std::size_t dim = boxes.size(); dim-- > 0;) {
    std::int64_t index = at % total(boxes[dim]);
    at /= total(boxes[dim]);
    for (const Interval& interval : boxes[dim]) {
      if (index >= 0 && index < interval.size())
        text = std::to_string(interval.begin + index) + (text.empty() ? "" : ", ") + text;
      index -= interval.size();
    }
  }
  return "(" + text + ")";
}

}  // namespace

std::shared_ptr<Comparison> Comparison::begin(const std::string& what, const Space& X,
                                              const at::Tensor& local) {
  if (!X.partition().active()) return nullptr;
  std::vector<std::string> axes;
  for (const Axis& axis : X.partition().axes()) {
    const Placement placement = X.placement(axis.name);
    if (axis.extent > 1 && (placement == Placement::Replicated || placement == Placement::Copied))
      axes.push_back(axis.name);
  }
  if (axes.empty()) return nullptr;
  return std::shared_ptr<Comparison>(new Comparison(what, X, X.partition().along(axes), local));
}

Comparison::Comparison(std::string what, Space X, Partition team, const at::Tensor& local)
    : what_(std::move(what)),
      X_(std::move(X)),
      team_(std::move(team)),
      operation_("CheckAlike", "CheckAlike before " + what_),
      flat_(resolved(local.detach()).cpu().contiguous().view({-1})),
      end_(flat_.numel()) {
  check_real(operation_.text, team_);
  std::vector<int> others = team_.workers();
  others.erase(others.begin() + team_.rank());
  for (int round = most_rounds(end_); round > 0; --round)
    rounds_.push_back(Communicator::world().reserve(others, others));
  count_participation(operation_);
  exchange(Numbers{static_cast<std::int64_t>(local.scalar_type()), digest_of(0, end_)});
}

void Comparison::keep_copy() {
  const std::lock_guard lock(flat_mutex_);
  flat_ = flat_.clone();
}

bool Comparison::progress() {
  while (requests_->done()) {
    const std::lock_guard lock(flat_mutex_);
    if (pair_ && end_ - begin_ <= 1) throw_values();
    if (pair_)
      choose_piece();
    else if (!finds_a_difference())
      return true;
    exchange_pieces();
  }
  return false;
}

/// Every worker's tensor, by rank.
void Comparison::exchange(const at::Tensor& mine) {
  std::vector<Transfer> sends, receives;
  all_.assign(static_cast<std::size_t>(team_.size()), mine);
  for (int rank = 0; rank < team_.size(); ++rank) {
    if (rank == team_.rank()) continue;
    at::Tensor& theirs = all_[static_cast<std::size_t>(rank)];
    theirs = at::empty_like(mine);
    sends.push_back({team_.world_rank(rank), mine});
    receives.push_back({team_.world_rank(rank), theirs});
  }
  requests_ = rounds_.at(round_++).post(operation_, std::move(sends), std::move(receives));
}

void Comparison::exchange(const Numbers& mine) { exchange(at::tensor(mine, at::kLong)); }

const std::int64_t* Comparison::numbers_of(int rank) const {
  return all_[static_cast<std::size_t>(rank)].const_data_ptr<std::int64_t>();
}

/// None only if all numbers are the same.
bool Comparison::finds_a_difference() {
  const std::int64_t count = all_.front().numel();
  for (int axis = 0; axis < static_cast<int>(team_.axes().size()); ++axis) {
    for (int one = 0; one < team_.size(); ++one) {
      for (const int other : team_.fibre(one, {axis})) {
        if (std::equal(numbers_of(one), numbers_of(one) + count, numbers_of(other))) continue;
        pair_ = {axis, one, other};
        check_types();
        return true;
      }
    }
  }
  return false;
}

void Comparison::check_types() const {
  const auto type_of = [&](int rank) { return static_cast<at::ScalarType>(numbers_of(rank)[0]); };
  if (type_of(pair_->one) != type_of(pair_->other))
    throw_difference(concat("elements of ", type_of(pair_->one)),
                     concat("elements of ", type_of(pair_->other)));
}

std::int64_t Comparison::pieces() const { return std::min(kPieces, end_ - begin_); }
std::int64_t Comparison::cut(std::int64_t piece) const { return begin_ + (end_ - begin_) * piece / pieces(); }

/// Of one element the value.
void Comparison::exchange_pieces() {
  if (end_ - begin_ <= 1) return exchange(flat_.narrow(0, begin_, 1).clone());
  Numbers mine;
  for (std::int64_t i = 0; i < pieces(); ++i) mine.push_back(digest_of(cut(i), cut(i + 1)));
  exchange(mine);
}

/// The first that differs.
void Comparison::choose_piece() {
  const std::int64_t* one = numbers_of(pair_->one);
  const std::int64_t piece = std::mismatch(one, one + pieces(), numbers_of(pair_->other)).first - one;
  const std::int64_t begin = cut(piece);
  end_ = cut(piece + 1);
  begin_ = begin;
}

std::int64_t Comparison::digest_of(std::int64_t begin, std::int64_t end) const {
  const auto size = static_cast<std::int64_t>(flat_.element_size());
  const auto* bytes = static_cast<const std::byte*>(flat_.const_data_ptr());
  return static_cast<std::int64_t>(
      digest(bytes + begin * size, static_cast<std::size_t>((end - begin) * size)));
}

void Comparison::throw_values() const {
  const auto value = [&](int rank) {
    return concat(text_of(all_[static_cast<std::size_t>(rank)]), " at ", place_of(X_, begin_));
  };
  throw_difference(value(pair_->one), value(pair_->other));
}

void Comparison::throw_difference(const std::string& one, const std::string& other) const {
  const std::string& axis = team_.axis(pair_->axis).name;
  throw_error(concat(what_, " is ", to_string(X_.placement(axis)), " on axis ", axis, ", in ", to_string(X_),
                     ", but rank ", team_.world_rank(pair_->one), " has ", one, " and rank ",
                     team_.world_rank(pair_->other), " has ", other,
                     "; there all workers must have the same bits: the same data, seed and computation "
                     "(seen with RIESZ_CHECK=1; what made this value is where to look)"));
}

}  // namespace riesz
