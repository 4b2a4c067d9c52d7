// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/event_file.h"

#include <gtest/gtest.h>

namespace riesz {
namespace {

std::string hexadecimal(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    text += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4];
    text += "0123456789abcdef"[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

/// RFC 3720, B.4.
TEST(EventFile, HasCastagnolisChecksums) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc32c(""), 0U);
}

/// What tensorboard 2.21's own writer makes of the same events.
TEST(EventFile, HasTensorBoardsBytes) {
  const RowFormat format = event_file(1700000000.5);
  EXPECT_EQ(hexadecimal(format.head),
            "1800000000000000a37f4b220900002040fc54d9411a0d627261696e2e4576656e743a322b353110");
  EXPECT_EQ(hexadecimal(format.text({300, 2.5, 0.75, 0.001, 3, 1234.5, 1.5})),
            "70000000000000009429adcd0900008040fc54d94110ac022a620a110a0a6c6f73732f747261696e15000020400a140a"
            "0d6c6f73732f68656c645f6f7574150000403f0a140a0d6c6561726e696e675f72617465156f12833a0a140a0d677261"
            "6469656e745f6e6f726d15000040400a0b0a04726174651500509a448f4336da");
}

}  // namespace
}  // namespace riesz
