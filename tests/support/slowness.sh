# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# slowness: how many times longer than on a quiet machine something takes now, in percent, 100 or more: as many times as
# there are more running threads than processors, and a quarter more for each step of this process's niceness.
slowness() {
  local running processors percent step
  processors="$(nproc)"
  read -r _ _ _ running _ </proc/loadavg 2>/dev/null || running=1
  percent=$((100 * ${running%/*} / processors))
  [ "$percent" -gt 100 ] || percent=100
  for ((step = $(nice); step > 0; --step)); do
    percent=$((percent * 5 / 4))
  done
  echo "$percent"
}
