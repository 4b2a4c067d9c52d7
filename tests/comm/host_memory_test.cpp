// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/host_memory.h"

#include <gtest/gtest.h>

#include "../io/temporary_folder.h"

namespace riesz {
namespace {

using testing::TemporaryFolder;

constexpr std::int64_t kMiB = 1 << 20;

TEST(AvailableMemory, IsWhatTheHostHas) {
  const TemporaryFolder root;
  EXPECT_FALSE(available_memory(root.path()).has_value());

  root.write("proc/meminfo", "MemTotal:  8192 kB\nMemFree:  1024 kB\nMemAvailable:    4096 kB\n");
  EXPECT_EQ(available_memory(root.path()), 4 * kMiB);

  ASSERT_TRUE(available_memory().has_value());
  EXPECT_GT(*available_memory(), kMiB);
}

TEST(AvailableMemory, IsLessWhereAControlGroupOrOneAboveItSaysSo) {
  const TemporaryFolder root;
  root.write("proc/meminfo", "MemAvailable: 16384 kB\n");
  root.write("proc/self/cgroup", "0::/outer/inner\n");
  root.write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  root.write("sys/fs/cgroup/outer/inner/memory.current", "1048576\n");
  EXPECT_EQ(available_memory(root.path()), 16 * kMiB);

  root.write("sys/fs/cgroup/outer/memory.max", "5242880\n");
  root.write("sys/fs/cgroup/outer/memory.current", "3145728\n");
  EXPECT_EQ(available_memory(root.path()), 2 * kMiB);

  root.write("sys/fs/cgroup/outer/memory.stat", "anon 1\ninactive_file 524288\nactive_file 524288\n");
  EXPECT_EQ(available_memory(root.path()), 3 * kMiB);

  root.write("sys/fs/cgroup/outer/memory.current", "9999999\n");
  EXPECT_EQ(available_memory(root.path()), 0);
}

TEST(AvailableMemory, KnowsTheFirstControlGroupsToo) {
  const TemporaryFolder root;
  root.write("proc/meminfo", "MemAvailable: 16384 kB\n");
  root.write("proc/self/cgroup", "3:cpu,cpuacct:/job\n2:memory:/job\n0::/\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "3145728\n");  // as a container sees its own
  root.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "2097152\n");
  root.write("sys/fs/cgroup/memory/memory.stat", "total_inactive_file 4096\n");

  EXPECT_EQ(available_memory(root.path()), kMiB + 4096);
}

}  // namespace
}  // namespace riesz
