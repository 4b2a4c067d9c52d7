// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/stages/each_vector.h"

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace riesz::testing {
namespace {

Vector of(double number) { return {Space(Partition::simulated(1), {1}), at::full({1}, number, at::kDouble)}; }

template <typename T>
std::vector<double> numbers(T value) {
  std::vector<double> all;
  each_vector(value, [&all](Vector& x) {
    all.push_back(x.local().template item<double>());
    x = of(-all.back());
  });
  std::vector<double> after;
  each_vector(value, [&after](Vector& x) { after.push_back(-x.local().template item<double>()); });
  EXPECT_EQ(all, after);  // they are the value's own
  return all;
}

using Numbers = std::vector<double>;

/// Says its vectors.
struct State {
  Vector hidden;
  std::string name;
  std::optional<Vector> cell;

  template <typename F>
  void each_vector(F&& f) {
    f(hidden);
    riesz::each_vector(cell, f);
  }
};

struct Plain {
  std::vector<std::int64_t> sizes;
  std::string name;
};

TEST(EachVector, IsFoundInWhatHoldsSome) {
  EXPECT_EQ(numbers(of(1)), Numbers({1}));
  EXPECT_EQ(numbers(std::vector{of(1), of(2)}), Numbers({1, 2}));
  EXPECT_EQ(numbers(std::array{of(1), of(2)}), Numbers({1, 2}));
  EXPECT_EQ(numbers(std::tuple(of(1), 7, std::pair(std::string("x"), of(2)))), Numbers({1, 2}));
  EXPECT_EQ(numbers(std::optional(of(3))), Numbers({3}));
  EXPECT_EQ(numbers(std::optional<Vector>()), Numbers({}));
  EXPECT_EQ(numbers(std::variant<int, Vector>(of(4))), Numbers({4}));
  EXPECT_EQ(numbers(std::variant<int, Vector>(4)), Numbers({}));
  EXPECT_EQ(numbers(std::map<std::string, Vector>{{"b", of(2)}, {"a", of(1)}}), Numbers({1, 2}));
  EXPECT_EQ(numbers(State{of(1), "s", of(2)}), Numbers({1, 2}));
  EXPECT_EQ(numbers(std::vector{State{of(1), "s", {}}, State{of(2), "t", of(3)}}), Numbers({1, 2, 3}));
}

TEST(EachVector, IsNotLookedForElsewhere) {
  EXPECT_FALSE(has_vectors<int> || has_vectors<std::string> || has_vectors<std::filesystem::path>);
  EXPECT_FALSE(has_vectors<Vector*> || has_vectors<const Vector> || has_vectors<Plain>);
  EXPECT_FALSE((has_vectors<std::vector<bool>> || has_vectors<std::map<int, Plain>>));
  EXPECT_TRUE((has_vectors<std::tuple<int, std::vector<std::optional<Vector>>>>));
}

}  // namespace
}  // namespace riesz::testing
