// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/checkpoint/all_or_none.h"

#include <exception>
#include <string>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/partition/agreement/alike.h"

namespace riesz {
namespace {

std::string failure_of(const std::function<void()>& part) {
  try {
    part();
    return "";
  } catch (const Error& error) {
    return error.what();
  } catch (const std::exception& error) {  // such as of memory
    return concat("[rank ", Runtime::rank(), " of ", Runtime::size(), "] ", error.what());
  }
}

void throw_first(const std::vector<std::string>& failures) {
  for (const std::string& text : failures) {
    if (!text.empty()) throw Error(text);  // it has its worker's prefix
  }
}

}  // namespace

void all_or_none(const Partition& P, const std::function<void()>& part) {
  throw_first(collect_texts(P, failure_of(part)));
}

void all_or_none(const SideChannel& channel, const std::function<void()>& part) {
  throw_first(channel.collect_texts(failure_of(part)));
}

}  // namespace riesz
