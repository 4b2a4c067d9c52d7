// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/label.h"

#include "riesz/comm/descriptions.h"
#include "riesz/comm/error.h"
#include "riesz/comm/given_up_label.h"

namespace riesz {
namespace {

std::string text_of_label(const Signature& message) {
  const std::string_view name = message.text;
  return concat(message.bytes, " bytes of ", c10::toString(message.type), name.empty() ? "" : " in ", name);
}

}  // namespace

/// As SplitMix64 mixes.
DigestBuilder& DigestBuilder::mix(std::uint64_t number) {
  value_ += 0x9E3779B97F4A7C15ULL + number;
  value_ = (value_ ^ (value_ >> 30)) * 0xBF58476D1CE4E5B9ULL;
  value_ = (value_ ^ (value_ >> 27)) * 0x94D049BB133111EBULL;
  value_ ^= value_ >> 31;
  return *this;
}

DigestBuilder& DigestBuilder::mix(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return mix(hash);
}

Label::Label(std::string_view text, DigestBuilder digest)
    : text_(text.substr(0, kMostTextBytes)), digest_(digest.mix(text).value()) {
  detail::count_text();
}

const std::shared_ptr<const Label>& no_label() {
  static const auto none = std::make_shared<const Label>("", DigestBuilder());
  return none;
}

const std::shared_ptr<const Label>& given_up_label() {
  static const auto given_up = std::make_shared<const Label>("given up", DigestBuilder().mix("given up"));
  return given_up;
}

void throw_mismatch(int peer, const Signature& sent, const Signature& expected) {
  if (sent.digest == given_up_label()->digest())
    throw_error(concat("rank ", peer, " gave up before it sent ", text_of_label(expected),
                       ", for an exception has left that call there; find that exception, which the program "
                       "of rank ",
                       peer, " has caught"));
  const bool alike = sent.text == expected.text && sent.bytes == expected.bytes && sent.type == expected.type;
  const bool types = sent.digest == expected.digest && sent.type != expected.type;
  throw_error(concat("the workers' programs differ: rank ", peer, " sent ", text_of_label(sent),
                     ", where this worker expects ", text_of_label(expected),
                     alike ? ", with other splits, pieces or workers" : "",
                     types ? "; a vector has one type on all workers: one that has no part of it gives an "
                             "empty tensor of that type"
                           : "; every worker must call the same operators in the same order"));
}

}  // namespace riesz
