// SPDX-License-Identifier: Apache-2.0
// Digests made by all processes of an MPI job: number 0 deals the traces out, by host and by size,
// does its own share, and collects the others' results. It makes missing ones itself, so that the
// digests are the same as with one process.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "analyzer/analysis.h"
#include "cli/mpi/team.h"

namespace dprof::cli {

struct TeamWork {
  Team& team;
  // A process without a sign of life for this long counts as dead. Live ones send one each second.
  std::chrono::milliseconds patience{std::chrono::seconds(120)};
  std::string host;
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

// For number 0.
Result<std::vector<Result<analyzer::RankDigest>>> digests_of_all(
    const TeamWork& work, std::span<const analyzer::TraceFile> traces, bool cache,
    const analyzer::Progress& progress);

// For every other process: returns when number 0 says that it is over. Fails if number 0 has died.
Status help(const TeamWork& work);

}  // namespace dprof::cli
