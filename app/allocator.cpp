// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// How a program has jemalloc allocate, where that is linked: it reads this before the program begins; then
// the environment's MALLOC_CONF. Freed memory is kept for the next tensor of that size: given back and taken
// again, its pages are mapped and cleared each time, which takes longer than to move a few megabytes. glibc
// is not asked to: it finds a freed aligned block too small for the next of the same size, so results come at
// ever other addresses, cold.
const char* malloc_conf = "dirty_decay_ms:-1,muzzy_decay_ms:-1";
