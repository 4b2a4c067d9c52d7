// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/models/scalar_type.h"

#include <nlohmann/json.hpp>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"

namespace riesz::app {

at::ScalarType scalar_type(const std::string& name) {
  if (name == "bf16") return at::kBFloat16;
  if (name == "fp16") return at::kHalf;
  RIESZ_CHECK(name == "fp32", "the type is ", in_quotes(name), "; it must be fp32, bf16 or fp16");
  return at::kFloat;
}

const char* published_type(at::ScalarType type) {
  return type == at::kFloat ? "float32" : type == at::kHalf ? "float16" : "bfloat16";
}

void publish_type(nlohmann::ordered_json& config, at::ScalarType type) {
  config[config.contains("dtype") ? "dtype" : "torch_dtype"] = published_type(type);
}

}  // namespace riesz::app
