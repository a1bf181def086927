// SPDX-License-Identifier: Apache-2.0
// What an answer rests on.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace dprof::analyzer {

struct Grounds {
  std::vector<std::string> rests_on;
  std::vector<std::string> errs;
  // What of the gain rests on a fit instead of on what was recorded: it may be wrong by that.
  double doubt = 0;
  // Where two assumptions are as good as each other, the other one is made; and whether there are
  // any such.
  bool other_way = false;
  bool undecided = false;

  void rests(std::string text) { add_once(rests_on, std::move(text)); }
  void err(std::string text) { add_once(errs, std::move(text)); }
  void doubts(double share) { doubt = std::max(doubt, share); }
  // Whether to go the other way.
  bool undecided_here() {
    undecided = true;
    return other_way;
  }

 private:
  static void add_once(std::vector<std::string>& texts, std::string text) {
    if (std::ranges::count(texts, text) == 0) texts.push_back(std::move(text));
  }
};

}  // namespace dprof::analyzer
