// SPDX-License-Identifier: Apache-2.0
#include "gui/view/model/event_loading.h"

#include <fmt/format.h>

#include <algorithm>

#include "gui/view/drawing/texts.h"

namespace dprof::view {
namespace {

bool is_loaded(const Model& model, size_t rank_index) {
  return model.ranks[rank_index].events->loaded;
}

bool contains(const std::vector<size_t>& list, size_t rank_index) {
  return std::ranges::find(list, rank_index) != list.end();
}

}  // namespace

int64_t expected_bytes(const Model& model, size_t rank_index) {
  const auto trace =
      std::ranges::find(model.run.traces, model.ranks[rank_index].rank, &analyzer::TraceFile::rank);
  if (trace == model.run.traces.end()) return 0;
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(trace->path, unknown);
  return unknown ? 0 : static_cast<int64_t>(bytes);
}

EventStep next_event_step(const Model& model, const std::vector<size_t>& looked_at,
                          const std::set<size_t>& failed, EventBudget budget) {
  int64_t used = model.memory_bytes();
  const auto is_open = [&](size_t r) { return !is_loaded(model, r) && !failed.contains(r); };
  for (const size_t wanted : looked_at) {
    if (!is_open(wanted)) continue;
    EventStep step;
    const int64_t needed = expected_bytes(model, wanted);
    // Drops the last ones first: they were loaded last, and only by number.
    for (size_t r = model.ranks.size(); r-- > 0 && used + needed > budget.bytes;) {
      if (!is_loaded(model, r) || contains(looked_at, r)) continue;
      used -= model.ranks[r].events->memory_bytes;
      step.drop.push_back(r);
    }
    if (used + needed > budget.bytes) return {};
    step.load = wanted;
    return step;
  }
  if (model.ranks.size() > kMostLoadedUnasked) return {};
  for (size_t r = 0; r < model.ranks.size(); ++r) {
    if (!is_open(r)) continue;
    if (used + expected_bytes(model, r) > budget.bytes) return {};
    return {.drop = {}, .load = r};
  }
  return {};
}

int64_t missing_events(const Model& model, const std::vector<size_t>& looked_at) {
  return std::ranges::count_if(looked_at, [&](size_t r) { return !is_loaded(model, r); });
}

std::string without_events(const Model& model, const std::vector<int>& ranks) {
  const int64_t missing = std::ranges::count_if(model.ranks, [&](const RankModel& rank) {
    return !rank.events->loaded &&
           (ranks.empty() || std::ranges::find(ranks, rank.rank) != ranks.end());
  });
  return missing == 0 ? "" : say(" · without {} whose events are not loaded", missing);
}

}  // namespace dprof::view
