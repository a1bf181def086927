// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/memory/memory_sites.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "analyzer/run/sensible.h"

namespace dprof::analyzer {
namespace {

bool is_op(schema::RangeCategory category) {
  return category == schema::RangeCategory::kOp || category == schema::RangeCategory::kAutograd;
}

bool is_site(schema::RangeCategory category) {
  return is_op(category) || category == schema::RangeCategory::kUser ||
         category == schema::RangeCategory::kNvtx || category == schema::RangeCategory::kPython;
}

void consider(SitePoint& point, const schema::HostRangeRow& row) {
  const bool op = is_op(row.category);
  // Of operators the outermost, of other ranges the innermost.
  const bool better = op ? !point.in_op || row.start_ns < point.range_start_ns
                         : !point.in_op && (!point.name_id || row.start_ns >= point.range_start_ns);
  if (!better) return;
  point.name_id = row.name_id;
  point.range_start_ns = row.start_ns;
  point.in_op = op;
  if (op) point.op_end_ns = row.start_ns + *row.duration_ns;
}

}  // namespace

Status find_sites(const schema::TraceReader& reader, std::vector<SitePoint>& points) {
  if (points.empty()) return Done{};
  std::unordered_map<int64_t, std::vector<SitePoint*>> by_thread;
  for (SitePoint& point : points) by_thread[point.thread].push_back(&point);
  for (auto& [thread, own] : by_thread) {
    std::ranges::stable_sort(own, {}, [](const SitePoint* p) { return p->time_ns; });
  }
  const auto span = std::ranges::minmax(points, {}, &SitePoint::time_ns);
  int64_t work = 0;
  return reader.for_each<schema::HostRangeRow>([&](const schema::HostRangeRow& row) {
    if (!row.duration_ns || *row.duration_ns <= 0 || !is_site(row.category) ||
        !sensible(row.start_ns) || !sensible(*row.duration_ns) || work > kMostSiteWork) {
      return;
    }
    const int64_t end = row.start_ns + *row.duration_ns;
    if (row.start_ns > span.max.time_ns || end <= span.min.time_ns) return;
    const auto own = by_thread.find(row.thread_id);
    if (own == by_thread.end()) return;
    auto at = std::ranges::lower_bound(own->second, row.start_ns, {},
                                       [](const SitePoint* p) { return p->time_ns; });
    for (; at != own->second.end() && (*at)->time_ns < end; ++at, ++work) consider(**at, row);
  });
}

}  // namespace dprof::analyzer
