// SPDX-License-Identifier: Apache-2.0
// What really happened on each rank, by the trainer's own clock readings: the yardstick for a
// profiler's answers.
//
// `--truth FILE` writes "dprof.truth/1": per rank the steps it did, and per fault every delay with
// its measured length. Times are nanoseconds; `monotonic_raw` is CLOCK_MONOTONIC_RAW and `realtime`
// is CLOCK_REALTIME of that rank's host.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trainer_harness/faults/fault.h"

namespace dprof::trainer_harness {

struct Moment {
  int64_t realtime_ns = 0;
  int64_t monotonic_raw_ns = 0;
};

[[nodiscard]] Moment now();

struct Strike {
  size_t fault = 0;  // index in the order of the command line
  int64_t step = 0;
  Moment begin;
  int64_t duration_ns = 0;
};

struct StepTime {
  int64_t begin_monotonic_raw_ns = 0;
  int64_t duration_ns = 0;
};

// One rank's account.
struct RankTruth {
  int rank = 0;
  Moment begin;
  Moment end;
  std::vector<StepTime> steps;
  std::vector<Strike> strikes;
  std::string checksum;
  double first_loss = 0;
  double last_loss = 0;
};

// What the ranks have in common.
struct JobTruth {
  std::string model;
  std::string backend;
  int world_size = 1;
  int64_t batch = 0;
  uint64_t seed = 0;
  std::vector<Fault> faults;
};

// One rank's account as text, to be sent to rank 0.
[[nodiscard]] std::string encode(const RankTruth& truth);

// Writes `file` from the job and every rank's encoded account, by way of a temporary file. Throws
// std::runtime_error.
void write_truth(const std::filesystem::path& file, const JobTruth& job,
                 const std::vector<std::string>& ranks);

}  // namespace dprof::trainer_harness
