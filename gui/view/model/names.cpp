// SPDX-License-Identifier: Apache-2.0
#include "gui/view/model/names.h"

#include <algorithm>

namespace dprof::view {

bool name_matches(std::string_view pattern, std::string_view name) {
  // Where to continue if the rest after the last star does not match: one letter further.
  size_t star = std::string_view::npos;
  size_t after_star = 0;
  size_t p = 0;
  size_t n = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++after_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::vector<uint8_t> matching_names(std::span<const std::string> names, std::string_view pattern) {
  std::vector<uint8_t> matches;
  matches.reserve(names.size());
  for (const std::string& name : names) matches.push_back(name_matches(pattern, name) ? 1 : 0);
  return matches;
}

bool any_name_matches(const Model& model, std::string_view pattern) {
  return std::ranges::any_of(model.ranks, [&](const RankModel& rank) {
    return std::ranges::any_of(
        rank.lanes().names, [&](const std::string& name) { return name_matches(pattern, name); });
  });
}

}  // namespace dprof::view
