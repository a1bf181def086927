// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analyzer/render/clocks.h"
#include "analyzer/render/communication.h"
#include "analyzer/render/findings.h"
#include "analyzer/render/gpu_rows.h"
#include "analyzer/render/head.h"
#include "analyzer/render/layout.h"
#include "analyzer/render/memory_tables.h"
#include "analyzer/render/messages.h"
#include "analyzer/render/phases.h"
#include "analyzer/render/replay.h"
#include "analyzer/render/step_picture.h"
#include "analyzer/render/tables.h"
#include "analyzer/render/unknown.h"

namespace dprof::analyzer {
namespace {

using Render = std::string (*)(const Report&, const TextOptions&, const Painter&);

// What is shown without being asked for adds to the picture of a step and to the findings: the rest
// says the same in more numbers, or matters where something is wrong with it.
bool always(const Report&) { return true; }
bool on_request(const Report&) { return false; }

struct SectionKind {
  Render render;
  bool (*by_itself)(const Report&);
};

// In the order of Section.
constexpr std::array<SectionKind, kSections> kKinds = {{
    {rank_section, always},
    {phase_section, always},
    {memory_section, has_memory_trouble},
    {gpu_rows_section, on_request},
    {overlap_section, on_request},
    {collective_section, always},
    {bucket_section, on_request},
    {link_section, has_slow_links},
    {point_to_point_section, always},
    {replay_section, has_slowdown},
    {clock_section, has_clock_trouble},
    {unknown_section, always},
}};

// What there is beyond this text, so that nobody has to know the options by heart.
std::string more_section(const Report& report, const TextOptions& options, const Painter& paint) {
  if (options.sections) return {};
  std::string names;
  for (size_t s = 0; s < kSections; ++s) {
    const auto section = static_cast<Section>(s);
    if (kKinds[s].by_itself(report) || is_asked_for(options, section)) continue;
    TextOptions asked = options;
    asked.sections = {section};
    if (!kKinds[s].render(report, asked, paint).empty())
      names += fmt::format("{}{}", names.empty() ? "" : ",", word_of(section));
  }
  const bool explain = report.findings && !report.findings->empty();
  if (names.empty() && !explain) return {};
  const std::string first = explain ? "--explain 1 (how finding 1 was decided)" : "";
  const std::string second = names.empty() ? "" : "--sections " + names;
  const std::string_view between = first.empty() || second.empty() ? "" : " · ";
  const std::string line = fmt::format("more: {}{}{}", first, between, second);
  if (display_width(line) <= static_cast<size_t>(options.width))
    return paint(Style::kFaint, line) + '\n';
  return paint(Style::kFaint, "more: " + first) + '\n' + paint(Style::kFaint, "      " + second) +
         '\n';
}

}  // namespace

std::string render_text(const Report& report, const TextOptions& options) {
  TextOptions bounded = options;
  bounded.width = std::clamp(options.width, 80, 120);
  const Painter paint(options.colour);
  std::string text = head_section(report, bounded, paint);
  const auto section = [&](const std::string& content) {
    if (!content.empty()) text += '\n' + content;
  };
  for (const Render render : {hang_section, step_section, finding_section})
    section(render(report, bounded, paint));
  for (size_t s = 0; s < kSections; ++s) {
    const bool wanted = is_asked_for(bounded, static_cast<Section>(s)) ||
                        (!bounded.sections && kKinds[s].by_itself(report));
    if (wanted) section(kKinds[s].render(report, bounded, paint));
  }
  section(more_section(report, bounded, paint));
  return without_trailing_blanks(text);
}

}  // namespace dprof::analyzer
