// SPDX-License-Identifier: Apache-2.0
// The true events of each rank, by the trainer's own clock readings: the ground truth for a
// profiler's results.
//
// `--truth FILE` writes "dprof.truth/1": the steps of each rank, and every strike of each fault
// with its measured duration. Times are nanoseconds; `monotonic_raw` is CLOCK_MONOTONIC_RAW and
// `realtime` is CLOCK_REALTIME of that rank's host.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "trainer_harness/faults/fault.h"

namespace dprof::trainer_harness {

struct Moment {
  int64_t realtime_ns = 0;
  int64_t monotonic_raw_ns = 0;
};

[[nodiscard]] Moment now();

inline constexpr int64_t kNoDuration = -1;

struct Strike {
  size_t fault = 0;  // index in the order of the command line
  int64_t step = 0;
  Moment begin;
  int64_t duration_ns = 0;  // or kNoDuration: not a delay, or the rank never returned from it
};

// An effect of a fault other than time: "core" 1, "bytes" 1048576.
struct Deed {
  size_t fault = 0;
  std::string what;
  std::variant<int64_t, double, std::string> value;
};

struct StepTime {
  int64_t begin_monotonic_raw_ns = 0;
  int64_t duration_ns = 0;
};

// One rank's account.
struct RankTruth {
  int rank = 0;
  int64_t batch = 0;  // samples that a micro-step should have
  Moment begin;
  Moment end;
  std::vector<StepTime> steps;
  std::vector<int64_t> samples;        // of each step as trained, all micro-steps together
  std::vector<uint64_t> index_hashes;  // of these samples: data/source.h
  std::vector<int64_t> input_ns;       // each step's wait for its batches; not in the file
  std::vector<Strike> strikes;
  std::vector<Deed> deeds;
  std::string checksum;
  double first_loss = 0;
  double last_loss = 0;
  // The memory for this rank's share of the model.
  int64_t parameter_bytes = 0;
  int64_t gradient_bytes = 0;
  int64_t optimizer_bytes = 0;
};

// The facts that all ranks share.
struct JobTruth {
  std::string model;
  std::string backend;
  int world_size = 1;
  uint64_t seed = 0;
  std::vector<Fault> faults;
};

// One rank's account as text, to send to rank 0.
[[nodiscard]] std::string encode(const RankTruth& truth);

// Writes `file` from the job and every rank's encoded account, via a temporary file. Throws
// std::runtime_error.
void write_truth(const std::filesystem::path& file, const JobTruth& job,
                 const std::vector<std::string>& ranks);

}  // namespace dprof::trainer_harness
