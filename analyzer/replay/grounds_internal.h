// SPDX-License-Identifier: Apache-2.0
// The assumptions behind an answer.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dprof::analyzer {

// Cases in which two assumptions are equally plausible and the recording does not decide.
enum class Doubt : uint8_t {
  kWhichPeer,       // the median peer, or the end of their third quarter
  kLatency,         // of transfers without a fit: none, or all of it
  kRunsAhead,       // whether a host that does not wait runs ahead of its device
  kEvenly,          // whether gradients take time by their bytes, or equally per bucket
  kFirstBucket,     // whether it could have filled during all of backward
  kParameters,      // the size of the parameters that fill a bucket
  kTrees,           // rings, or trees
  kTogether,        // whether stages of a pipeline can collect garbage at the same time
  kFewPeers,        // whether the stages of one pipeline can be compared with each other
  kSharedLinks,     // whether concurrent transfers share a link
  kBetweenKernels,  // the device's own time between two kernels of a graph, or none
};
inline constexpr size_t kDoubts = 11;

struct Grounds {
  std::vector<std::string> rests_on;
  std::vector<std::string> errs;
  // The part of the gain that rests on a fit instead of the recording: the possible error.
  double doubt = 0;
  std::optional<Doubt> other_way;      // the doubt for which the other assumption is made
  std::array<bool, kDoubts> open{};    // doubts that were encountered
  std::array<bool, kDoubts> middle{};  // the answer is halfway between both

  void rests(std::string text) { add_once(rests_on, std::move(text)); }
  void err(std::string text) { add_once(errs, std::move(text)); }
  void doubts(double share) { doubt = std::max(doubt, share); }
  // True if the other assumption is taken. `halfway`: neither is more likely.
  bool other(Doubt doubt, bool halfway = false) {
    open[static_cast<size_t>(doubt)] = true;
    middle[static_cast<size_t>(doubt)] = halfway;
    return other_way == doubt;
  }

 private:
  static void add_once(std::vector<std::string>& texts, std::string text) {
    if (std::ranges::count(texts, text) == 0) texts.push_back(std::move(text));
  }
};

}  // namespace dprof::analyzer
