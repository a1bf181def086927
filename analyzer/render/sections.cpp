// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/sections.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace dprof::analyzer {
namespace {

constexpr std::array<std::string_view, kSections> kWords = {
    "ranks",   "phases", "memory",   "gpu",    "overlap", "collectives",
    "buckets", "links",  "messages", "replay", "clocks",  "unknown"};

}  // namespace

std::string_view word_of(Section section) { return kWords[static_cast<size_t>(section)]; }

Result<std::vector<Section>> parse_sections(std::string_view list) {
  std::array<bool, kSections> wanted{};
  if (list == "all") wanted.fill(true);
  for (size_t at = 0; list != "all" && list != "none" && at <= list.size();) {
    const size_t end = std::min(list.size(), list.find(',', at));
    const std::string_view word = list.substr(at, end - at);
    const auto known = std::ranges::find(kWords, word);
    if (known == kWords.end()) {
      return fail(Code::kUsage, fmt::format("--sections: there is no section '{}'", word),
                  fmt::format("all, none, or some of {}", fmt::join(kWords, ",")));
    }
    wanted[static_cast<size_t>(known - kWords.begin())] = true;
    at = end + 1;
  }
  std::vector<Section> sections;
  for (size_t s = 0; s < kSections; ++s) {
    if (wanted[s]) sections.push_back(static_cast<Section>(s));
  }
  return sections;
}

}  // namespace dprof::analyzer
