// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/data/folder_source.h"

#include <bit>
#include <charconv>
#include <numeric>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/escaped.h"
#include "riesz/io/tokenizer/tokenizer_files.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/train/config/number_text.h"
#include "riesz/train/data/task.h"

namespace riesz {
namespace {

struct FolderShare {
  std::string folder;
  double weight;
};

/// "A=3,B=1"; without weights each has 1.
std::vector<FolderShare> shares_of(const std::string& text) {
  std::vector<FolderShare> all;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string one = text.substr(at, end - at);
    const std::size_t sign = one.rfind('=');
    FolderShare share{one.substr(0, sign), 1};
    if (sign != std::string::npos) {
      const char* last = one.data() + one.size();
      const auto [after, error] = std::from_chars(one.data() + sign + 1, last, share.weight);
      RIESZ_CHECK(error == std::errc() && after == last && share.weight > 0, "data.tokens: ", in_quotes(one),
                  " is no folder and its share, such as A=0.5");
    }
    RIESZ_CHECK(!share.folder.empty(), "data.tokens = ", in_quotes(text), " names no folder at ",
                in_quotes(one));
    all.push_back(share);
    at = end + 1;
  }
  return all;
}

}  // namespace

std::vector<std::string> folders_of_tokens(const Config& config) {
  std::vector<std::string> folders;
  for (const FolderShare& share : shares_of(config.data.tokens)) folders.push_back(share.folder);
  return folders;
}

std::int64_t vocabulary_of_tokens(const Config& config) {
  return TokenSet(folders_of_tokens(config)[0]).vocabulary();
}

FolderSource::FolderSource(const Config& config)
    : length_(sequence_length(config)), seed_(static_cast<std::uint64_t>(config.train.seed)) {
  std::vector<std::int64_t> sizes;
  for (const FolderShare& share : shares_of(config.data.tokens)) {
    add(share.folder, config);
    weights_.push_back(share.weight);
    sizes.push_back(trained_.back().size());
  }
  const double all = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  for (const double weight : weights_) {
    if (weights_.size() > 1)
      digest_ = riesz::digest(concat(digest_, " ", std::bit_cast<std::uint64_t>(weight / all)));
  }
  mixture_.emplace(std::move(sizes), weights_, seed_);
  std::int64_t held_out = 0;
  for (const Sequences& sequences : held_out_) held_out += sequences.size();
  held_out_order_.emplace(held_out, seed_, "held out");
}

void FolderSource::add(const std::string& folder, const Config& config) {
  const auto set = std::make_shared<const TokenSet>(folder);
  RIESZ_CHECK(sets_.empty() || set->tokenizer() == sets_[0]->tokenizer(), "data.tokens: the folders ",
              in_quotes(folders_.empty() ? "" : folders_[0]), " and ", in_quotes(folder),
              " have different tokenizers; make both with one");
  const auto ranks = static_cast<std::size_t>(Runtime::active() ? Runtime::size() : 1);
  const auto rank = static_cast<std::size_t>(Runtime::active() ? Runtime::rank() : 0);
  for (std::size_t part = rank; part < set->parts(); part += ranks) set->check_part(part);
  const auto [trained, held_out] = split_off(*set, config.data.held_out);
  const Packing packing = config.data.packing == "packed" ? Packing::packed : Packing::one_by_one;
  trained_.emplace_back(set, trained, length_, packing);
  held_out_.emplace_back(set, held_out, length_, packing);
  digest_ = riesz::digest(concat(digest_, " ", set->digest()));
  folders_.push_back(folder);
  sets_.push_back(set);
}

void FolderSource::read(std::int64_t number, std::int64_t* inputs, std::int64_t* targets) const {
  const Mixture::Drawn drawn = mixture_->at(number);
  trained_[drawn.source].read(drawn.sequence, inputs, targets);
}

void FolderSource::read_held_out(std::int64_t place, std::int64_t* inputs, std::int64_t* targets) const {
  std::int64_t number = held_out_order_->at(place);
  auto from = held_out_.begin();
  for (; number >= from->size(); ++from) number -= from->size();
  from->read(number, inputs, targets);
}

std::vector<TokenId> FolderSource::first_held_out(std::int64_t count) const {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(length_)), targets(ids.size());
  held_out_[0].read(0, ids.data(), targets.data());
  return {ids.begin(), ids.begin() + count};
}

Tokenizer FolderSource::tokenizer() const { return read_tokenizer(folders_[0]); }

std::string FolderSource::describe() const {
  std::string text;
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    text += concat(text.empty() ? "tokens of " : "; ", in_quotes(folders_[i]), ": ",
                   grouped(sets_[i]->tokens()), " (", grouped(trained_[i].size()), " sequences to train on, ",
                   grouped(held_out_[i].size()), " held out)");
    if (sets_.size() > 1) text += concat(", with a share of ", weights_[i]);
  }
  return text;
}

}  // namespace riesz
