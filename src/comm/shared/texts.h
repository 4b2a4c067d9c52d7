// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace riesz {

/// The texts of labels that a ring has carried. A text goes along once; later messages of its digest go
/// without, until another label has taken its place. Both ends keep the same, for what is written first is
/// read first. So a small message touches one line of memory less. Private to src/comm.
class CarriedTexts {
 public:
  /// True if the text of that digest has gone along, and nothing has taken its place.
  bool has(std::uint64_t digest) const { return digest != 0 && places_[place(digest)].first == digest; }
  void add(std::uint64_t digest, std::string_view text) { places_[place(digest)] = {digest, std::string(text)}; }
  /// Empty if it has none.
  std::string_view of(std::uint64_t digest) const {
    return has(digest) ? std::string_view(places_[place(digest)].second) : std::string_view();
  }

 private:
  static constexpr std::size_t kPlaces = 32;
  static std::size_t place(std::uint64_t digest) { return digest % kPlaces; }

  std::array<std::pair<std::uint64_t, std::string>, kPlaces> places_{};
};

}  // namespace riesz
