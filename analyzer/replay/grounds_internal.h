// SPDX-License-Identifier: Apache-2.0
// What an answer rests on.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dprof::analyzer {

// Where two assumptions are as good as each other, and nothing recorded decides.
enum class Doubt : uint8_t {
  kWhichPeer,    // the middle one of the peers, or the end of their third quarter
  kLatency,      // of transfers that no fit divides: none, or all
  kRunsAhead,    // whether a host that does not wait runs ahead of its device
  kEvenly,       // whether a bucket's gradients take time by their bytes, or each bucket the same
  kFirstBucket,  // whether it may have filled during all of backward
  kParameters,   // how large those are that a bucket is filled with
  kTrees,        // rings, or trees
  kTogether,     // whether stages of a pipeline can collect garbage at the same time
  kFewPeers,     // where two ranks do the same: whether both are late
  kSharedLinks,  // whether transfers that run at once share a link
};
inline constexpr size_t kDoubts = 10;

struct Grounds {
  std::vector<std::string> rests_on;
  std::vector<std::string> errs;
  // What of the gain rests on a fit instead of on what was recorded: it may be wrong by that.
  double doubt = 0;
  std::optional<Doubt> other_way;      // where the other assumption is made
  std::array<bool, kDoubts> open{};    // what it was asked of
  std::array<bool, kDoubts> middle{};  // the answer is in the middle of both

  void rests(std::string text) { add_once(rests_on, std::move(text)); }
  void err(std::string text) { add_once(errs, std::move(text)); }
  void doubts(double share) { doubt = std::max(doubt, share); }
  // Whether to go the other way. `halfway`: neither is more likely.
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
