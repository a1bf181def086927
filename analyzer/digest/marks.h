// SPDX-License-Identifier: Apache-2.0
// The ranges that the program marked on a thread (record_function, NVTX), by name and step: the
// report's phases.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/digest/digest.h"

namespace dprof::analyzer {

// Gathers the ranges of one thread in order of their begin, and sorts them into steps once these
// are known. Only then is it clear which ranges are within a step and which around it.
//
// Memory  24 bytes per range, kMostMarks of them; ranges left out because of that limit, their
//         depth or their name are counted if they could have been a phase.
class MarkGatherer {
 public:
  static constexpr size_t kMostMarks = size_t{1} << 20;
  static constexpr size_t kMostNames = 1024;  // while gathering
  static constexpr size_t kMostPhases = 64;   // in the digest
  static constexpr size_t kDeepest = 6;       // marked ranges around a counted one

  void add(std::string_view name, Interval span);
  // Fills `marked` and `marks_left_out` according to the digest's steps.
  void settle(RankDigest& digest) &&;

 private:
  struct Mark {
    Interval span;
    size_t name = 0;
  };

  std::vector<Mark> marks_;
  std::vector<std::string> names_;
  std::map<std::string, size_t, std::less<>> known_;
  std::vector<TraceNs> open_;  // ends of the enclosing ranges
  int64_t left_out_ = 0;
};

}  // namespace dprof::analyzer
