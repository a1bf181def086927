// SPDX-License-Identifier: Apache-2.0
// Random numbers that are functions of a seed and an index: the same on every machine and with
// every standard library.
#pragma once

#include <cstdint>

namespace dprof::trainer_harness {

// Mixes a number into 64 bits that look random (splitmix64).
[[nodiscard]] inline uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

// An independent generator for each seed and index, cheap to construct.
class Random {
 public:
  explicit Random(uint64_t seed, uint64_t index = 0) : state_(mix(seed ^ mix(index))) {}

  [[nodiscard]] uint64_t bits() { return mix(state_++); }
  // In [0, bound), nearly uniform for bounds far below 2^64.
  [[nodiscard]] int64_t below(int64_t bound) {
    return static_cast<int64_t>(bits() % static_cast<uint64_t>(bound));
  }
  // In [0, 1).
  [[nodiscard]] double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  // Approximately normal, of mean 0 and deviation 1: a sum of uniform numbers.
  [[nodiscard]] float normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return static_cast<float>(sum);
  }

 private:
  uint64_t state_;
};

}  // namespace dprof::trainer_harness
