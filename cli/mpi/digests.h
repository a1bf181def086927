// SPDX-License-Identifier: Apache-2.0
// Digests made by all processes of an MPI job: number 0 deals the traces out, by host and by size,
// does its own share, and takes what the others send. What nobody sends it makes itself, so that
// the digests are those that one process would have made.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "analyzer/analysis.h"
#include "cli/mpi/team.h"

namespace dprof::cli {

struct TeamWork {
  Team& team;
  // Whoever gives no sign of life for so long has died. The living give one each second.
  std::chrono::milliseconds patience{std::chrono::seconds(120)};
  std::string host;
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

// Of number 0.
Result<std::vector<Result<analyzer::RankDigest>>> digests_of_all(
    const TeamWork& work, std::span<const analyzer::TraceFile> traces, bool cache,
    const analyzer::Progress& progress);

// Of every other one: returns when number 0 says that it is over. Fails if that has died.
Status help(const TeamWork& work);

}  // namespace dprof::cli
