// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/render/layout.h"
#include "analyzer/render/mean_step.h"
#include "analyzer/render/routes.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

// Pairs of ranks that exchange messages alike.
struct Alike {
  std::string communicator;
  std::optional<int64_t> bytes;
  std::optional<double> per_step;
  auto operator<=>(const Alike&) const = default;
};

struct MessageRow {
  std::string route;
  Alike alike;
  int64_t n = 0;
  std::optional<int64_t> transfer_ns;  // median over the pairs
  std::optional<int64_t> wait_ns;      // of the pair that waits longest
  int64_t unmatched = 0;

  [[nodiscard]] double total_ns() const {
    return static_cast<double>(n) *
           static_cast<double>(transfer_ns.value_or(0) + wait_ns.value_or(0));
  }
};

MessageRow message_row(const Alike& alike, const Route& route,
                       const std::vector<const PointToPoint*>& flows) {
  MessageRow row{.route = route.text, .alike = alike, .n = 0, .transfer_ns = {}, .wait_ns = {}};
  std::vector<int64_t> transfers;
  for (const size_t edge : route.edges) {
    const PointToPoint& flow = *flows[edge];
    row.n += flow.n;
    row.unmatched += flow.unmatched_sends + flow.unmatched_receives;
    if (flow.transfer_ns) transfers.push_back(*flow.transfer_ns);
    if (flow.wait_ns) row.wait_ns = std::max(row.wait_ns.value_or(0), *flow.wait_ns);
  }
  if (!transfers.empty()) row.transfer_ns = median_ns(std::move(transfers));
  return row;
}

std::vector<MessageRow> rows_of(const std::vector<PointToPoint>& flows) {
  std::map<Alike, std::vector<const PointToPoint*>> alike;
  for (const PointToPoint& flow : flows)
    alike[{flow.communicator, flow.bytes, flow.per_step}].push_back(&flow);
  std::vector<MessageRow> rows;
  for (const auto& [kind, members] : alike) {
    std::vector<Edge> edges;
    for (const PointToPoint* flow : members) edges.push_back({flow->from, flow->to});
    for (const Route& route : routes_of(edges)) rows.push_back(message_row(kind, route, members));
  }
  std::ranges::stable_sort(rows, std::greater(),
                           [](const MessageRow& row) { return row.total_ns(); });
  return rows;
}

std::string duration_text(const std::optional<int64_t>& ns) {
  return ns ? format_duration({*ns}) : std::string();
}

}  // namespace

std::string point_to_point_section(const Report& report, const TextOptions& options,
                                   const Painter& paint) {
  if (!report.point_to_point || report.point_to_point->empty()) return {};
  const std::vector<MessageRow> rows = rows_of(*report.point_to_point);
  std::set<std::string> communicators;
  for (const MessageRow& row : rows) communicators.insert(row.alike.communicator);
  const bool in_steps =
      std::ranges::any_of(rows, [](const MessageRow& r) { return r.alike.per_step.has_value(); });
  const bool unmatched =
      std::ranges::any_of(rows, [](const MessageRow& r) { return r.unmatched > 0; });

  TextTable table;
  table.add_column("send → recv", TextTable::Align::kLeft);
  if (communicators.size() > 1) table.add_column("group", TextTable::Align::kLeft);
  table.add_column("bytes", TextTable::Align::kRight);
  table.add_column("calls", TextTable::Align::kRight);
  if (in_steps) table.add_column("per step", TextTable::Align::kRight);
  for (const char* title : {"transfer", "wait"}) table.add_column(title, TextTable::Align::kRight);
  if (unmatched) table.add_column("unmatched", TextTable::Align::kRight);
  const size_t shown = std::min(rows.size(), static_cast<size_t>(std::max(1, options.top)));
  for (const MessageRow& row : std::span(rows).first(shown)) {
    std::vector<std::string> cells = {row.route};
    if (communicators.size() > 1) cells.push_back(printable(row.alike.communicator));
    cells.push_back(row.alike.bytes ? format_bytes(*row.alike.bytes) : "");
    cells.push_back(format_count(row.n));
    if (in_steps) cells.push_back(per_step_text(row.alike.per_step));
    cells.push_back(duration_text(row.transfer_ns));
    cells.push_back(duration_text(row.wait_ns));
    if (unmatched) cells.push_back(row.unmatched > 0 ? format_count(row.unmatched) : "");
    table.add_row(std::move(cells));
  }
  std::string text =
      fmt::format("{}   medians; per step of each pair of ranks; the receiver's wait\n{}",
                  paint(Style::kStrong, "POINT TO POINT"), table.render(kIndent, paint));
  if (shown < rows.size()) {
    text += paint(Style::kFaint,
                  fmt::format("  … and {} more (--top {})", rows.size() - shown, rows.size())) +
            '\n';
  }
  return text;
}

}  // namespace dprof::analyzer
