// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/arrays/npy_header.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <set>
#include <string_view>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"

namespace riesz {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are read as they lie, little-endian");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::int64_t kLongest = std::int64_t{1} << 20, kAligned = 64;
constexpr std::array<std::pair<std::string_view, at::ScalarType>, 11> kTypes = {{{"f4", at::kFloat},
                                                                                 {"f8", at::kDouble},
                                                                                 {"f2", at::kHalf},
                                                                                 {"i1", at::kChar},
                                                                                 {"i2", at::kShort},
                                                                                 {"i4", at::kInt},
                                                                                 {"i8", at::kLong},
                                                                                 {"u1", at::kByte},
                                                                                 {"u2", at::kUInt16},
                                                                                 {"u4", at::kUInt32},
                                                                                 {"b1", at::kBool}}};

/// Reads the dictionary of a head, word by word.
class Reader {
 public:
  Reader(std::string what, std::string_view text) : what_(std::move(what)), text_(text) {}

  NpyHeader read() {
    NpyHeader header;
    std::set<std::string> keys;
    need('{');
    while (!take('}')) {
      const std::string key = quoted();
      if (!keys.insert(key).second) refuse();
      need(':');
      if (key == "descr")
        header.type = type();
      else if (key == "fortran_order")
        check_order(boolean());
      else if (key == "shape")
        header.shape = shape();
      else
        refuse();
      if (take(',')) continue;
      need('}');
      break;
    }
    if (keys.size() != 3 || !at_end()) refuse();
    return header;
  }

 private:
  [[noreturn]] void refuse() const {
    throw_error(concat(what_, "its head is none of a .npy file: ", in_quotes(std::string(text_))));
  }

  bool at_end() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return at_ == text_.size();
  }
  bool take(char wanted) {
    if (at_end() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void need(char wanted) {
    if (!take(wanted)) refuse();
  }

  std::string quoted() {
    const char quote = take('\'') ? '\'' : '"';
    if (quote == '"') need('"');
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) refuse();
    std::string inside(text_.substr(at_, end - at_));
    at_ = end + 1;
    return inside;
  }

  bool boolean() {
    at_end();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    refuse();
  }

  std::vector<std::int64_t> shape() {
    constexpr std::int64_t kMost = std::int64_t{1} << 56;
    std::vector<std::int64_t> extents;
    need('(');
    while (!take(')')) {
      std::int64_t extent = 0;
      const std::size_t begin = at_end() ? text_.size() : at_;
      for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0; ++at_)
        extent = std::min(kMost, 10 * extent + (text_[at_] - '0'));
      if (at_ == begin) refuse();
      extents.push_back(extent);
      if (take(',')) continue;
      need(')');
      break;
    }
    return extents;
  }

  void check_order(bool fortran) const {
    RIESZ_CHECK(!fortran, what_,
                "its elements lie in Fortran's order, columns first; write it anew with rows first: "
                "numpy.save(FILE, numpy.ascontiguousarray(array))");
  }

  at::ScalarType type() {
    at_end();
    RIESZ_CHECK(at_ < text_.size() && text_[at_] != '[', what_,
                "its elements are records of several fields; write each field into a file of its own");
    const std::string name = quoted();
    const std::string_view kind = std::string_view(name).substr(name.empty() ? 0 : 1);
    RIESZ_CHECK(!kind.starts_with("O"), what_,
                "its elements are objects of Python; write numbers: array.astype(\"float32\")");
    RIESZ_CHECK(!name.starts_with(">") || kind.ends_with("1"), what_, "its elements are ", in_quotes(name),
                ", big-endian; write them little-endian: array.astype(\"<", std::string(kind), "\")");
    const bool ordered =
        !name.empty() && std::string_view("<>|=").find(name.front()) != std::string_view::npos;
    for (const auto& [known, of] : kTypes)
      if (ordered && kind == known) return of;
    throw_error(concat(what_, "its elements are ", in_quotes(name),
                       "; the types that are read are f2, f4, f8, i1, i2, i4, i8, u1, u2, u4 and b1"));
  }

  std::string what_;
  std::string_view text_;
  std::size_t at_ = 0;
};

void check_size(const std::string& what, const NpyHeader& header, std::int64_t bytes) {
  double wanted = static_cast<double>(c10::elementSize(header.type));
  for (const std::int64_t extent : header.shape) wanted *= static_cast<double>(extent);
  const std::int64_t has = bytes - header.begin;
  RIESZ_CHECK(static_cast<double>(has) == wanted, what, "its elements take ", wanted,
              " bytes by its head, of shape ", at::IntArrayRef(header.shape), ", and it has ", has, "; it ",
              static_cast<double>(has) < wanted ? "was cut off" : "has something behind them");
}

}  // namespace

NpyHeader read_npy_header(const File& file) {
  const std::string what = concat("cannot read ", in_quotes(file.path().string()), ": ");
  const std::int64_t bytes = file.bytes();
  unsigned char head[12] = {};
  RIESZ_CHECK(bytes >= 12, what, "it has ", bytes, " bytes, and a .npy file has more");
  file.read(0, head, 12);
  RIESZ_CHECK(std::equal(kMagic.begin(), kMagic.end(), reinterpret_cast<const char*>(head)), what,
              "it does not begin as a .npy file; write it by numpy.save");
  const int version = head[6];
  RIESZ_CHECK(version >= 1 && version <= 3, what, "it is of version ", version,
              " of the format; versions 1 to 3 are read");
  const std::int64_t begin = version == 1 ? 10 : 12;
  std::int64_t length = head[8] + (head[9] << 8);
  if (version > 1) length += (std::int64_t{head[10]} << 16) + (std::int64_t{head[11]} << 24);
  RIESZ_CHECK(length <= std::min(kLongest, bytes - begin), what, "it says that its head has ", length,
              " bytes, and it has ", bytes, " in all");
  std::string text(static_cast<std::size_t>(length), ' ');
  file.read(begin, text.data(), length);
  NpyHeader header = Reader(what, text).read();
  header.begin = begin + length;
  check_size(what, header, bytes);
  return header;
}

std::string npy_header(const std::vector<std::int64_t>& shape, at::ScalarType type) {
  const auto* const found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& known) { return known.second == type; });
  RIESZ_CHECK(found != kTypes.end(), "a .npy file is not written with elements of type ", type);
  std::string text = concat("{'descr': '", c10::elementSize(type) == 1 ? "|" : "<", std::string(found->first),
                            "', 'fortran_order': False, 'shape': (");
  for (const std::int64_t extent : shape) text += concat(extent, shape.size() == 1 ? "," : ", ");
  if (shape.size() > 1) text.resize(text.size() - 2);
  text += "), }";
  while ((10 + static_cast<std::int64_t>(text.size()) + 1) % kAligned != 0) text += ' ';
  text += '\n';
  const auto length = text.size();
  return concat(std::string(kMagic), '\x01', '\0', static_cast<char>(length & 0xff),
                static_cast<char>(length >> 8), text);
}

}  // namespace riesz
