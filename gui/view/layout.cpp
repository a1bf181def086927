// SPDX-License-Identifier: Apache-2.0
#include "gui/view/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/format.h"
#include "gui/view/names.h"

namespace dprof::view {
namespace {

constexpr std::string_view kPinnedTrack = "pinned";  // of the heading

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
  return std::any_of(rank.lanes().threads.begin(), rank.lanes().threads.end(),
                     [&](const analyzer::ThreadLanes& thread) {
                       return lower(thread.name).find(filter) != std::string::npos;
                     });
}

class Builder {
 public:
  Builder(const Model& model, const Arrangement& arrangement)
      : model_(model), arrangement_(arrangement), filter_(lower(arrangement.filter)) {}

  Layout build() && {
    add_pinned();
    std::vector<std::string> hosts;
    for (const RankModel& rank : model_.ranks) {
      if (matches(rank, filter_) &&
          std::find(hosts.begin(), hosts.end(), rank.host) == hosts.end()) {
        hosts.push_back(rank.host);
      }
    }
    for (const std::string& host : hosts) add_host(host);
    if (hidden_ > 0) {
      push({.kind = RowKind::kGroup,
            .height = kRowHeight,
            .track = "hidden",
            .label = fmt::format("{} hidden", hidden_)});
    }
    return std::move(layout_);
  }

 private:
  // Each track once, by the first pattern that it matches; whether its rank is folded or hidden.
  void add_pinned() {
    std::set<std::string> seen;
    for (const std::string& pattern : arrangement_.pinned) {
      for (size_t r = 0; r < model_.ranks.size(); ++r) {
        const std::string of_rank = fmt::format("rank:{}", model_.ranks[r].rank);
        if (track_matches(pattern, of_rank) && seen.insert(of_rank).second)
          push_pinned(rank_row(r));
        for (size_t t = 0; t < model_.ranks[r].lanes().threads.size(); ++t) {
          Row row = thread_row(r, t);
          if (!track_matches(pattern, row.track) || !seen.insert(row.track).second) continue;
          row.label = fmt::format("rank {} {}", model_.ranks[r].rank, row.label);
          push_pinned(std::move(row));
        }
      }
    }
  }

  void push_pinned(Row row) {
    if (layout_.rows.empty()) {
      push({.kind = RowKind::kGroup,
            .height = kRowHeight,
            .track = std::string(kPinnedTrack),
            .label = "pinned"});
    }
    row.pinned = true;
    row.folded = true;
    push(std::move(row));
  }

  [[nodiscard]] bool is_hidden(const std::string& track) {
    if (!arrangement_.hidden.contains(track)) return false;
    ++hidden_;
    return true;
  }

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
    const auto place = [&](size_t index) {
      const auto at = std::ranges::find(arrangement_.order, model_.ranks[index].rank);
      return at - arrangement_.order.begin();
    };
    std::ranges::stable_sort(members, {}, place);
    const bool folded = arrangement_.folded_hosts.contains(host);
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
    Row row = rank_row(index);
    if (is_hidden(row.track)) return;
    const bool folded = row.folded;
    push(std::move(row));
    if (folded) return;
    if (!model_.ranks[index].events->loaded) {
      push({.kind = RowKind::kGroup,
            .height = kRowHeight,
            .track = fmt::format("rank:{}/not_loaded", model_.ranks[index].rank),
            .label = "events not loaded"});
    }
    for (size_t t = 0; t < model_.ranks[index].lanes().threads.size(); ++t) {
      Row thread = thread_row(index, t);
      if (!is_hidden(thread.track)) push(std::move(thread));
    }
  }

  [[nodiscard]] Row rank_row(size_t index) const {
    const RankModel& rank = model_.ranks[index];
    const bool folded = !arrangement_.unfolded_ranks.contains(rank.rank);
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
    return row;
  }

  [[nodiscard]] Row thread_row(size_t rank_index, size_t thread_index) const {
    const RankModel& rank = model_.ranks[rank_index];
    const analyzer::ThreadLanes& thread = rank.lanes().threads[thread_index];
    const int depths = static_cast<int>(thread.depths.size());
    return {.kind = RowKind::kThread,
            .height = std::max(depths, 1) * kDepthPitch + 2 * kThreadPadding,
            .rank_index = static_cast<int>(rank_index),
            .thread_index = static_cast<int>(thread_index),
            .depths = depths,
            .track = track_of(rank.rank, thread),
            .label = thread.name};
  }

  const Model& model_;
  const Arrangement& arrangement_;
  std::string filter_;
  int hidden_ = 0;
  Layout layout_;
};

}  // namespace

std::string track_of(int rank, const analyzer::ThreadLanes& thread) {
  if (thread.table == "gpu_activity") {
    const std::string device =
        thread.device ? fmt::format("device:{}/", *thread.device) : std::string();
    return fmt::format("rank:{}/{}stream:{}", rank, device, thread.thread_id);
  }
  std::string word = lower(thread.name);
  std::replace(word.begin(), word.end(), ' ', '_');
  std::replace(word.begin(), word.end(), '/', '_');
  return fmt::format("rank:{}/thread:{}", rank, word);
}

bool track_matches(std::string_view pattern, std::string_view track) {
  return std::ranges::count(pattern, '/') == std::ranges::count(track, '/') &&
         name_matches(pattern, track);
}

void Layout::fix_pinned(int most) {
  fixed_height = 0;
  if (rows.empty() || rows.front().track != kPinnedTrack) return;
  const auto first = rows.begin() + 1;
  const auto end = std::find_if(first, rows.end(), [](const Row& row) { return !row.pinned; });
  auto scrolling =
      std::find_if(first, end, [&](const Row& row) { return row.y + row.height > most; });
  rows.front().note =
      scrolling == end ? "" : fmt::format("{} of {} stay in view", scrolling - first, end - first);
  if (scrolling == first) scrolling = rows.begin();  // then the heading scrolls, too
  for (auto row = rows.begin(); row != end; ++row) row->fixed = row < scrolling;
  if (scrolling != rows.begin()) fixed_height = (scrolling - 1)->y + (scrolling - 1)->height;
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
    if (row.kind == RowKind::kRank && row.rank_index == rank_index && !row.pinned) return &row;
  }
  return nullptr;
}

Layout make_layout(const Model& model, const Arrangement& arrangement) {
  return Builder(model, arrangement).build();
}

}  // namespace dprof::view
