// SPDX-License-Identifier: Apache-2.0
// The table of messages between ranks.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/render/layout.h"
#include "analyzer/render/mean_step.h"
#include "analyzer/render/routes.h"
#include "analyzer/render/sections.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

// Pairs of ranks with similar messages.
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

Document point_to_point_section(const Report& report, const TextOptions& options) {
  if (!report.point_to_point || report.point_to_point->empty()) return {};
  const std::vector<MessageRow> rows = rows_of(*report.point_to_point);
  std::set<std::string> communicators;
  for (const MessageRow& row : rows) communicators.insert(row.alike.communicator);
  const size_t shown = shown_of(rows.size(), options.top);
  Table table;
  const auto column = [&](std::string_view title, Align align, auto&& cell) {
    table.add_column(title, align, std::span(rows).first(shown), cell);
  };
  using Row = MessageRow;
  column("send → recv", Align::kLeft, [](const Row& row) { return row.route; });
  if (communicators.size() > 1)
    column("group", Align::kLeft, [](const Row& row) { return row.alike.communicator; });
  column("bytes", Align::kRight,
         [](const Row& row) { return row.alike.bytes ? format_bytes(*row.alike.bytes) : ""; });
  column("calls", Align::kRight, [](const Row& row) { return format_count(row.n); });
  if (std::ranges::any_of(rows, [](const Row& row) { return row.alike.per_step.has_value(); })) {
    column("per step", Align::kRight,
           [](const Row& row) { return per_step_text(row.alike.per_step); });
  }
  column("transfer", Align::kRight, [](const Row& row) { return duration_text(row.transfer_ns); });
  column("wait", Align::kRight, [](const Row& row) { return duration_text(row.wait_ns); });
  if (std::ranges::any_of(rows, [](const Row& row) { return row.unmatched > 0; })) {
    column("unmatched", Align::kRight,
           [](const Row& row) { return row.unmatched > 0 ? format_count(row.unmatched) : ""; });
  }
  Document document = titled_table(
      "POINT TO POINT", "medians; per step of each pair of ranks; the receiver's wait", table);
  say_more(document, shown, rows.size());
  return document;
}

}  // namespace dprof::analyzer
