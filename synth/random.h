// SPDX-License-Identifier: Apache-2.0
// Random numbers by key instead of in sequence: the same key gives the same number on every
// machine, in whatever order the ranks are simulated.
#pragma once

#include <cmath>
#include <cstdint>

namespace dprof::synth {

[[nodiscard]] constexpr uint64_t mixed(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

template <typename... Parts>
[[nodiscard]] constexpr uint64_t key_of(uint64_t seed, Parts... parts) {
  ((seed = mixed(seed ^ static_cast<uint64_t>(parts))), ...);
  return seed;
}

// 0…1, excluding 1.
[[nodiscard]] constexpr double uniform(uint64_t key) {
  return static_cast<double>(mixed(key) >> 11) * 0x1.0p-53;
}

// Standard normal.
[[nodiscard]] inline double normal(uint64_t key) {
  constexpr double kTwoPi = 6.283185307179586;
  const double u = uniform(key) + 0x1.0p-54;
  return std::sqrt(-2 * std::log(u)) * std::cos(kTwoPi * uniform(key ^ 0x5bd1e995ULL));
}

// Student's t with that many degrees of freedom (Bailey's polar method).
[[nodiscard]] inline double student(uint64_t key, double freedom) {
  constexpr double kTwoPi = 6.283185307179586;
  const double u = uniform(key) + 0x1.0p-54;
  return std::sqrt(freedom * (std::pow(u, -2 / freedom) - 1)) *
         std::cos(kTwoPi * uniform(key ^ 0x5bd1e995ULL));
}

// Exponential with mean 1.
[[nodiscard]] inline double exponential(uint64_t key) { return -std::log(1 - uniform(key)); }

}  // namespace dprof::synth
