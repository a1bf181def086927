// SPDX-License-Identifier: Apache-2.0
#include "gui/view/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/format.h"

namespace dprof::view {
namespace {

std::string lower(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

bool matches(const RankModel& rank, const std::string& filter) {
  if (filter.empty()) return true;
  if (lower(rank.host).find(filter) != std::string::npos) return true;
  if (fmt::format("rank {}", rank.rank) == filter || std::to_string(rank.rank) == filter) {
    return true;
  }
  return std::any_of(rank.lanes.threads.begin(), rank.lanes.threads.end(),
                     [&](const analyzer::ThreadLanes& thread) {
                       return lower(thread.name).find(filter) != std::string::npos;
                     });
}

class Builder {
 public:
  Builder(const Model& model, const Folds& folds)
      : model_(model), folds_(folds), filter_(lower(folds.filter)) {}

  Layout build() && {
    std::vector<std::string> hosts;
    for (const RankModel& rank : model_.ranks) {
      if (matches(rank, filter_) &&
          std::find(hosts.begin(), hosts.end(), rank.host) == hosts.end()) {
        hosts.push_back(rank.host);
      }
    }
    for (const std::string& host : hosts) add_host(host);
    return std::move(layout_);
  }

 private:
  void push(Row row) {
    row.y = layout_.height;
    layout_.height += row.height;
    layout_.rows.push_back(std::move(row));
  }

  void add_host(const std::string& host) {
    std::vector<size_t> members;
    for (size_t i = 0; i < model_.ranks.size(); ++i) {
      if (model_.ranks[i].host == host && matches(model_.ranks[i], filter_)) members.push_back(i);
    }
    const bool folded = folds_.folded_hosts.contains(host);
    push({.kind = RowKind::kHost,
          .height = kRowHeight,
          .folded = folded,
          .track = fmt::format("host:{}", host),
          .label = host.empty() ? "unknown host" : host,
          .note = fmt::format("{} {}", members.size(), members.size() == 1 ? "rank" : "ranks")});
    if (folded) return;
    for (const size_t index : members) add_rank(index);
  }

  void add_rank(size_t index) {
    const RankModel& rank = model_.ranks[index];
    const bool folded = !folds_.unfolded_ranks.contains(rank.rank);
    Row row{.kind = RowKind::kRank,
            .height = kRowHeight,
            .rank_index = static_cast<int>(index),
            .folded = folded,
            .track = fmt::format("rank:{}", rank.rank),
            .label = fmt::format("rank {}", rank.rank)};
    if (rank.own_delay) {
      row.note = fmt::format("own +{}", format_duration(*rank.own_delay));
      row.problem = true;
    } else if (rank.wait_per_step) {
      row.note = fmt::format("waits {}", format_duration(*rank.wait_per_step));
    }
    push(std::move(row));
    if (folded) return;
    for (size_t t = 0; t < rank.lanes.threads.size(); ++t) add_thread(index, t);
  }

  void add_thread(size_t rank_index, size_t thread_index) {
    const RankModel& rank = model_.ranks[rank_index];
    const analyzer::ThreadLanes& thread = rank.lanes.threads[thread_index];
    const int depths = static_cast<int>(thread.depths.size());
    push({.kind = RowKind::kThread,
          .height = std::max(depths, 1) * kDepthPitch + 2 * kThreadPadding,
          .rank_index = static_cast<int>(rank_index),
          .thread_index = static_cast<int>(thread_index),
          .depths = depths,
          .track = fmt::format("rank:{}/{}", rank.rank, track_word(thread)),
          .label = thread.name});
  }

  const Model& model_;
  const Folds& folds_;
  std::string filter_;
  Layout layout_;
};

}  // namespace

std::string track_word(const analyzer::ThreadLanes& thread) {
  if (thread.table == "gpu_activity") {
    const std::string device =
        thread.device ? fmt::format("device:{}/", *thread.device) : std::string();
    return fmt::format("{}stream:{}", device, thread.thread_id);
  }
  std::string word = lower(thread.name);
  std::replace(word.begin(), word.end(), ' ', '_');
  std::replace(word.begin(), word.end(), '/', '_');
  return "thread:" + word;
}

const Row* Layout::at(int y) const {
  const auto after = std::upper_bound(rows.begin(), rows.end(), y,
                                      [](int height, const Row& row) { return height < row.y; });
  if (after == rows.begin()) return nullptr;
  const Row& row = *(after - 1);
  return y < row.y + row.height ? &row : nullptr;
}

const Row* Layout::of_rank(int rank_index) const {
  for (const Row& row : rows) {
    if (row.kind == RowKind::kRank && row.rank_index == rank_index) return &row;
  }
  return nullptr;
}

Layout make_layout(const Model& model, const Folds& folds) { return Builder(model, folds).build(); }

}  // namespace dprof::view
