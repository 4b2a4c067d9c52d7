// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "riesz/comm/label.h"

namespace riesz {

/// The counter of all operations of one name; it lives as long as the process.
struct NameCounter;
NameCounter& counter_of(const std::string& name);

/// An operation: the operator, or other collective call, that sends messages. It has the name under which
/// they are counted, a text for people, and the label that both ends compare.
struct Operation {
  Operation(const char* all) : Operation(std::string(all)) {}
  Operation(std::string all) : Operation(all, all) {}
  Operation(std::string counted, std::string shown)
      : name(std::move(counted)),
        text(std::move(shown)),
        label(std::make_shared<const Label>(text, DigestBuilder())),
        counter(&counter_of(name)) {}
  /// `details`: a digest of what else must be the same at both ends. `more`: a text for people that says part
  /// of it; the label's text ends with it.
  Operation(std::string counted, std::string shown, const std::string& more, DigestBuilder details)
      : name(std::move(counted)),
        text(std::move(shown)),
        label(std::make_shared<const Label>(text + more, details)),
        counter(&counter_of(name)) {}

  std::string name;
  std::string text;
  std::shared_ptr<const Label> label;
  NameCounter* counter;  ///< the counter of `name`, kept to spare look-ups
};

}  // namespace riesz
