// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "analyzer/render/layout.h"
#include "analyzer/render/sections.h"
#include "analyzer/render/writers.h"

namespace dprof::analyzer {
namespace {

// Sections shown by default add to the picture of a step and to the findings. The others repeat
// this in more detail, or matter only if something is wrong.
bool always(const Report&) { return true; }
bool on_request(const Report&) { return false; }

struct SectionKind {
  std::string_view word;
  SectionMaker* make;
  bool (*by_itself)(const Report&);
};

// In the order of Section.
constexpr std::array<SectionKind, kSections> kKinds = {{
    {"hang", hang_section, always},
    {"ranks", rank_section, always},
    {"phases", phase_section, always},
    {"memory", memory_section, has_memory_trouble},
    {"gpu", gpu_rows_section, on_request},
    {"energy", energy_section, on_request},
    {"overlap", overlap_section, on_request},
    {"collectives", collective_section, always},
    {"buckets", bucket_section, on_request},
    {"links", link_section, has_slow_links},
    {"messages", point_to_point_section, always},
    {"replay", replay_section, has_slowdown},
    {"what-if", what_if_section, has_question},
    {"critical-path", critical_path_section, on_request},
    {"clocks", clock_section, has_clock_trouble},
    {"unknown", unknown_section, always},
}};

// What else is available, so that users need not know the options by heart.
Document more_section(const Report& report, const TextOptions& options) {
  if (options.sections) return {};
  std::vector<std::string_view> names;
  for (size_t s = 0; s < kSections; ++s) {
    const auto section = static_cast<Section>(s);
    if (kKinds[s].by_itself(report) || is_asked_for(options, section)) continue;
    TextOptions asked = options;
    asked.sections = {section};
    // A single line gives the reason for an empty section.
    const Document made = kKinds[s].make(report, asked);
    const auto is_heading = [](const Block& b) { return std::holds_alternative<Heading>(b); };
    if (std::ranges::any_of(made.blocks, is_heading)) names.push_back(kKinds[s].word);
  }
  std::vector<std::string> offers;
  if (report.findings && !report.findings->empty())
    offers.emplace_back("--explain 1 (how finding 1 was decided)");
  if (!names.empty()) offers.push_back(fmt::format("--sections {}", fmt::join(names, ",")));
  if (offers.empty()) return {};
  const std::string whole = fmt::format("more: {}", fmt::join(offers, " · "));
  Document document;
  document.add(BlankLine{});
  if (display_width(whole) <= static_cast<size_t>(options.width)) {
    document.add(SingleLine{{{whole, Style::kFaint}}});
    return document;
  }
  document.add(SingleLine{{{"more: " + (offers.size() > 1 ? offers.front() : ""), Style::kFaint}}});
  document.add(SingleLine{{{"      " + offers.back(), Style::kFaint}}});
  return document;
}

}  // namespace

std::string_view word_of(Section section) { return kKinds[static_cast<size_t>(section)].word; }

std::string section_words(std::string_view between) {
  std::array<std::string_view, kSections> words;
  std::ranges::transform(kKinds, words.begin(), &SectionKind::word);
  return fmt::format("{}", fmt::join(words, between));
}

Result<std::vector<Section>> parse_sections(std::string_view list) {
  std::array<bool, kSections> wanted{};
  if (list == "all") wanted.fill(true);
  for (size_t at = 0; list != "all" && list != "none" && at <= list.size();) {
    const size_t end = std::min(list.size(), list.find(',', at));
    const std::string_view word = list.substr(at, end - at);
    const auto* known = std::ranges::find(kKinds, word, &SectionKind::word);
    if (known == kKinds.end()) {
      return fail(Code::kUsage, fmt::format("--sections: there is no section '{}'", word),
                  "all, none, or some of " + section_words(","));
    }
    wanted[static_cast<size_t>(known - kKinds.begin())] = true;
    at = end + 1;
  }
  std::vector<Section> sections;
  for (size_t s = 0; s < kSections; ++s) {
    if (wanted[s]) sections.push_back(static_cast<Section>(s));
  }
  return sections;
}

std::string render_text(const Report& report, const TextOptions& options) {
  TextOptions bounded = options;
  bounded.width = std::clamp(options.width, 80, 120);
  const bool hang_alone = bounded.sections == std::vector{Section::kHang};
  Document document;
  for (SectionMaker* make : {head_section, hang_section, output_section})
    document.add(make(report, bounded));
  for (SectionMaker* make : {step_section, finding_section})
    if (!hang_alone) document.add(make(report, bounded));
  for (size_t s = static_cast<size_t>(Section::kHang) + 1; s < kSections; ++s) {
    const bool wanted = is_asked_for(bounded, static_cast<Section>(s)) ||
                        (!bounded.sections && kKinds[s].by_itself(report));
    if (wanted) document.add(kKinds[s].make(report, bounded));
  }
  document.add(more_section(report, bounded));
  return write_text(document,
                    {.width = static_cast<size_t>(bounded.width), .colour = options.colour});
}

}  // namespace dprof::analyzer
