// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "riesz/comm/trace/trace.h"
#include "riesz/partition/partition.h"

namespace riesz {

/// The events of one rank in Chrome's trace format, joined by commas: the rank is the process, its threads
/// are the threads. Times are microseconds after `zero`, a time of this rank's steady clock. An operation in
/// flight is a pair of async events, and what was sent outside of a range an instant event.
std::string chrome_events(const TraceLog& log, int rank, std::int64_t zero);

/// Writes the traces of all ranks to one file, which chrome://tracing and Perfetto show. Rank 0 takes one
/// rank's events after another, so it never holds more than one rank's. It writes PATH.part and renames it
/// when complete. A job that ends earlier may leave PATH.part, never an incomplete PATH. `offsets`:
/// `clock_offsets` on rank 0. Collective over the partition; not counted. Returns on rank 0 why it could not
/// be written, empty if it is; empty elsewhere.
///
///     const std::vector<std::int64_t> offsets = clock_offsets(world, clock_identity());
///     finish_background();
///     Trace::start();
///     …
///     finish_background();
///     const TraceLog log = Trace::stop();
///     const std::string failed = write_trace(world, log, offsets, "trace.json");  // empty if written
///
/// `finish_background` waits for messages that are under way. Otherwise these are not in the trace.
std::string write_trace(const Partition& partition, const TraceLog& mine,
                        const std::vector<std::int64_t>& offsets, const std::filesystem::path& path);

}  // namespace riesz
