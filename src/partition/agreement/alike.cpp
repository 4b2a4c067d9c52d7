// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/agreement/alike.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <sstream>

#include "riesz/comm/error.h"
#include "riesz/comm/resolved.h"
#include "riesz/partition/agreement/texts.h"
#include "riesz/partition/pairing.h"

namespace riesz {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Every worker's numbers, by rank.
std::vector<Numbers> collect_numbers(const Partition& partition, const Operation& operation,
                                     const Numbers& mine) {
  const at::Tensor sent = at::empty({static_cast<std::int64_t>(mine.size())}, at::kLong);
  std::copy(mine.begin(), mine.end(), sent.mutable_data_ptr<std::int64_t>());
  std::vector<Numbers> all;
  for (const at::Tensor& theirs : collect(operation, partition, sent)) {
    const auto* numbers = theirs.const_data_ptr<std::int64_t>();
    all.emplace_back(numbers, numbers + mine.size());
  }
  return all;
}

Operation operation(const std::string& of = "") {
  return {"CheckAlike", of.empty() ? "CheckAlike" : "CheckAlike before " + of};
}

/// Two ranks of a grid that differ in one coordinate only.
struct Pair {
  int axis;
  int one;
  int other;
};

/// The first pair whose numbers differ; none only if all are the same.
std::optional<Pair> first_difference(const Partition& P, const std::vector<Numbers>& numbers) {
  for (int axis = 0; axis < static_cast<int>(P.axes().size()); ++axis) {
    for (int one = 0; one < P.size(); ++one) {
      for (const int other : P.fibre(one, {axis})) {
        if (numbers[static_cast<std::size_t>(one)] != numbers[static_cast<std::size_t>(other)])
          return Pair{axis, one, other};
      }
    }
  }
  return std::nullopt;
}

std::int64_t digest_of(const at::Tensor& flat, std::int64_t begin, std::int64_t end) {
  const auto size = static_cast<std::int64_t>(flat.element_size());
  const auto* bytes = static_cast<const std::byte*>(flat.const_data_ptr());
  return static_cast<std::int64_t>(
      digest(bytes + begin * size, static_cast<std::size_t>((end - begin) * size)));
}

/// The first element in which two workers differ: digests of ever smaller pieces.
std::int64_t first_element(const Partition& P, const Operation& operation, const Pair& pair,
                           const at::Tensor& flat) {
  constexpr std::int64_t kPieces = 64;
  std::int64_t begin = 0;
  std::int64_t end = flat.numel();
  while (end - begin > 1) {
    const std::int64_t pieces = std::min(kPieces, end - begin);
    const auto cut = [&, first = begin, count = end - begin](std::int64_t i) {
      return first + count * i / pieces;
    };
    Numbers mine;
    for (std::int64_t i = 0; i < pieces; ++i) mine.push_back(digest_of(flat, cut(i), cut(i + 1)));
    const std::vector<Numbers> all = collect_numbers(P, operation, mine);
    const Numbers& one = all[static_cast<std::size_t>(pair.one)];
    const Numbers& other = all[static_cast<std::size_t>(pair.other)];
    const std::int64_t piece = std::mismatch(one.begin(), one.end(), other.begin()).first - one.begin();
    end = cut(piece + 1);
    begin = cut(piece);
  }
  return begin;
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

[[noreturn]] void throw_difference(const std::string& what, const Space& X, const Partition& P,
                                   const Pair& pair, const std::string& one, const std::string& other) {
  const std::string& axis = P.axis(pair.axis).name;
  throw_error(concat(what, " is ", to_string(X.placement(axis)), " on axis ", axis, ", in ", to_string(X),
                     ", but rank ", P.world_rank(pair.one), " has ", one, " and rank ",
                     P.world_rank(pair.other), " has ", other,
                     "; there all workers must have the same bits: the same data, seed and computation "
                     "(seen with RIESZ_CHECK=1; what made this value is where to look)"));
}

}  // namespace

void check_alike(const Partition& partition, const std::string& what, std::uint64_t number) {
  const std::vector<Numbers> numbers =
      collect_numbers(partition, operation(), {static_cast<std::int64_t>(number)});
  const auto other = std::find_if(numbers.begin(), numbers.end(),
                                  [&](const Numbers& theirs) { return theirs != numbers[0]; });
  RIESZ_CHECK(other == numbers.end(), what, " differs between rank 0 and rank ", other - numbers.begin(),
              "; every worker must have the same");
}

void check_alike(const std::string& what, const Space& X, const at::Tensor& local) {
  if (!X.partition().active()) return;
  std::vector<std::string> axes;
  for (const Axis& axis : X.partition().axes()) {
    const Placement placement = X.placement(axis.name);
    if (axis.extent > 1 && (placement == Placement::Replicated || placement == Placement::Copied))
      axes.push_back(axis.name);
  }
  if (axes.empty()) return;
  const Partition P = X.partition().along(axes);
  const Operation compare = operation(what);
  const at::Tensor flat = resolved(local.detach()).cpu().contiguous().view({-1});
  const auto type = static_cast<std::int64_t>(local.scalar_type());
  const std::vector<Numbers> types_and_digests =
      collect_numbers(P, compare, {type, digest_of(flat, 0, flat.numel())});
  const std::optional<Pair> pair = first_difference(P, types_and_digests);
  if (!pair) return;
  const auto type_of = [&](int rank) {
    return static_cast<at::ScalarType>(types_and_digests[static_cast<std::size_t>(rank)][0]);
  };
  if (type_of(pair->one) != type_of(pair->other)) {
    throw_difference(what, X, P, *pair, concat("elements of ", type_of(pair->one)),
                     concat("elements of ", type_of(pair->other)));
  }
  const std::int64_t at = first_element(P, compare, *pair, flat);
  const std::vector<at::Tensor> all = collect(compare, P, flat.narrow(0, at, 1));
  const auto value = [&](int rank) {
    return concat(text_of(all[static_cast<std::size_t>(rank)]), " at ", place_of(X, at));
  };
  throw_difference(what, X, P, *pair, value(pair->one), value(pair->other));
}

std::vector<std::string> collect_texts(const Partition& partition, const std::string& mine) {
  return exchange_texts(mine,
                        [&](const at::Tensor& tensor) { return collect(operation(), partition, tensor); });
}

std::uint64_t digest(const void* bytes, std::size_t count) {
  constexpr std::uint64_t p = 0x9e3779b185ebca87, q = 0xc2b2ae3d27d4eb4f;
  const auto round = [](std::uint64_t lane, std::uint64_t word) {
    return std::rotl(lane + word * q, 31) * p;
  };
  const auto* at = static_cast<const std::byte*>(bytes);
  std::uint64_t lanes[4] = {p + q, q, 0, 0 - p};
  std::size_t left = count;
  for (; left >= sizeof lanes; left -= sizeof lanes, at += sizeof lanes) {
    std::uint64_t words[4];
    std::memcpy(words, at, sizeof words);
    for (int i = 0; i < 4; ++i) lanes[i] = round(lanes[i], words[i]);
  }
  std::uint64_t words[4] = {};
  if (left > 0) std::memcpy(words, at, left);
  std::uint64_t hash = count;
  for (int i = 0; i < 4; ++i) hash = round(round(hash, lanes[i]), words[i]);
  hash = (hash ^ (hash >> 33)) * q;
  return hash ^ (hash >> 29);
}

std::uint64_t digest(const std::string& text) { return digest(text.data(), text.size()); }

}  // namespace riesz
