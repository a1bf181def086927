// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/gpu_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyzer/render/layout.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {}  // namespace

std::string gpu_rows_section(const Report& report, const TextOptions& /*options*/,
                             const Painter& paint) {
  if (!report.gpu_rows || report.gpu_rows->per_rank.empty()) return {};
  const GpuRows& rows = *report.gpu_rows;
  TextTable table;
  for (const char* title :
       {"rank", "rows", "span", "busy", "idle", "compute", "communication", "memory", "overlap"})
    table.add_column(title, TextTable::Align::kRight);
  const size_t shown = std::min(kMostRanks, rows.per_rank.size());
  std::map<std::string, int64_t> left_out;
  for (size_t i = 0; i < rows.per_rank.size(); ++i) {
    const RankGpuRows& rank = rows.per_rank[i];
    for (const auto& [reason, count] : rank.left_out) left_out[reason] += count;
    if (i >= shown) continue;
    std::vector<std::string> cells = {fmt::to_string(rank.rank), format_count(rank.rows)};
    for (const int64_t ns : {rank.span_ns, rank.busy_ns, rank.idle_ns, rank.compute_ns,
                             rank.communication_ns, rank.memory_ns, rank.overlap_ns})
      cells.push_back(format_duration({ns}));
    table.add_row(std::move(cells));
  }
  std::string text =
      fmt::format("{}   rows: {} (--rows); whole recording, all devices of a rank together\n{}",
                  paint(Style::kStrong, "GPU"), rows.filter, table.render(kIndent, paint));
  if (shown < rows.per_rank.size()) {
    text += paint(Style::kFaint, fmt::format("  … and {} ranks more (--format json)",
                                             rows.per_rank.size() - shown)) +
            '\n';
  }
  std::string reasons;
  for (const auto& [reason, count] : left_out) {
    if (count > 0)
      reasons += fmt::format("{}{} ({})", reasons.empty() ? "" : ", ", format_count(count), reason);
  }
  if (!reasons.empty()) text += fmt::format("  rows left out: {}\n", reasons);
  return text;
}

}  // namespace dprof::analyzer
