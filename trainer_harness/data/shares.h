// SPDX-License-Identifier: Apache-2.0
// A rank's part of the data set.
#pragma once

#include <cstdint>

#include "trainer_harness/settings/options.h"

namespace dprof::trainer_harness {

// All ranks use the same order of the data set (the whole of it, shuffled by epoch). It is cut into
// `parts` equal pieces; a rank takes number `part`, and from that, `samples` from `begin` on.
struct Share {
  int64_t parts = 1;
  int64_t part = 0;
  bool duplicates = true;  // for an uneven cut, some samples are used twice; else left out
  int64_t begin = 0;
  int64_t samples = 0;

  bool operator==(const Share&) const = default;
};

// The share of `rank`, one of `ranks`, in a data set of `size` samples:
//   pad         all are equally long, with duplicates
//   drop        all are equally long, without some samples
//   skew:F      rank 0 has F times the samples of each other
//   join        the same, with F = 1.5
//   no sampler  every rank reads everything
// Throws UsageError if a rank would have no sample.
[[nodiscard]] Share share_of(const DataOptions& options, int64_t size, int ranks, int rank);

}  // namespace dprof::trainer_harness
