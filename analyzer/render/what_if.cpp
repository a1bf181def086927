// SPDX-License-Identifier: Apache-2.0
// The gain of a change, and the path that determines the length of the steps.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/render/sections.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kMostOnPath = 10;

std::string gain_text(const std::optional<int64_t>& gain, int64_t step_ns) {
  if (!gain) return "–";
  return fmt::format(
      "{} ({})", format_ms({*gain}),
      format_share(step_ns <= 0 ? 0 : static_cast<double>(*gain) / static_cast<double>(step_ns)));
}

Table table_of_path(std::string_view title, std::span<const OnPath> list) {
  Table table;
  table.add_columns(Align::kLeft, {title});
  table.add_columns(Align::kRight, {"on the path", "share", "in steps", "10 % less gains"});
  for (const OnPath& one : list.first(std::min(list.size(), kMostOnPath))) {
    table.add_row({one.name, format_ms({one.ns}), format_share(one.share),
                   format_share(one.criticality), one.gain_ns ? format_ms({*one.gain_ns}) : "–"});
  }
  return table;
}

}  // namespace

bool has_question(const Report& report) {
  return report.replay && std::ranges::any_of(report.replay->whatif, &WhatIf::asked);
}

Document what_if_section(const Report& report, const TextOptions&) {
  if (!report.replay || report.replay->whatif.empty()) return {};
  Document document{{Heading{.title = "WHAT IF", .remark = "per step, by the replay"}}};
  Table table;
  table.add_columns(Align::kLeft, {"change"});
  table.add_columns(Align::kRight, {"a step takes", "gain", "±"});
  for (const WhatIf& one : report.replay->whatif) {
    if (!one.gain_ns) continue;
    table.add_row({one.change, format_ms({one.step_ns.value_or(0)}),
                   gain_text(one.gain_ns, one.step_ns.value_or(0) + *one.gain_ns),
                   format_ms({one.bound_ns.value_or(0)})});
  }
  if (!table.rows.empty()) document.add(std::move(table));
  for (const WhatIf& one : report.replay->whatif) {
    if (!one.refused.empty()) {
      document.add_item({.text = "cannot be answered: " + one.refused, .mark = "!"});
    } else if (one.asked) {
      document.add_item({.text = fmt::format("{}: {}", one.change, one.valid_because)});
      if (!one.bias.empty()) document.add_item({.text = one.bias});
    }
  }
  return document;
}

Document critical_path_section(const Report& report, const TextOptions&) {
  if (!report.critical_path || report.critical_path->per_step.empty()) return {};
  const CriticalPath& path = *report.critical_path;
  Document document{{Heading{.title = "CRITICAL PATH",
                             .remark = "what decides the length of a step; mean step"}}};
  document.add(table_of_path("category", path.by_category));
  document.add(table_of_path("rank", path.by_rank));
  document.add(table_of_path("phase", path.by_phase));
  document.add(table_of_path("name", path.by_name));
  if (!path.hand_overs.empty()) {
    Table table;
    table.add_columns(Align::kLeft, {"from", "to", "by"});
    table.add_columns(Align::kRight, {"per step"});
    for (size_t i = 0; i < std::min(kMostOnPath, path.hand_overs.size()); ++i) {
      const HandOver& one = path.hand_overs[i];
      table.add_row({fmt::format("rank {}", one.from), fmt::format("rank {}", one.to), one.by,
                     fmt::format("{:.2f}", one.per_step)});
    }
    document.add(std::move(table));
  }
  return document;
}

}  // namespace dprof::analyzer
