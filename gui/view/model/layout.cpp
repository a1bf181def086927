// SPDX-License-Identifier: Apache-2.0
#include "gui/view/model/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/format.h"
#include "gui/view/drawing/texts.h"
#include "gui/view/model/names.h"

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

// A title as a word: "Kernels > 1 ms" → "kernels_1_ms".
std::string title_as_word(std::string_view title) {
  constexpr std::string_view kCut = "…";
  if (title.ends_with(kCut)) title.remove_suffix(kCut.size());
  std::string word;
  for (const char c : lower(title)) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0;
    if (plain) {
      word += c;
    } else if (!word.empty() && word.back() != '_') {
      word += '_';
    }
  }
  if (word.ends_with('_')) word.pop_back();
  return word;
}

bool matches(const RankModel& rank, const std::string& filter) {
  if (filter.empty()) return true;
  if (lower(rank.host).find(filter) != std::string::npos) return true;
  if (lower(say("rank {}", rank.rank)) == filter || std::to_string(rank.rank) == filter) {
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
            .label = say("{} hidden", hidden_)});
    }
    return std::move(layout_);
  }

 private:
  // Each track once, by the first pattern that matches; even if its rank is folded or hidden.
  void add_pinned() {
    std::set<std::string> seen;
    for (const std::string& pattern : arrangement_.pinned) {
      for (size_t r = 0; r < model_.ranks.size(); ++r) {
        const std::string of_rank = fmt::format("rank:{}", model_.ranks[r].rank);
        if (track_matches(pattern, of_rank) && seen.insert(of_rank).second)
          push_pinned(rank_row(r));
        std::vector<Row> rows = rows_within(r);
        std::ranges::move(result_rows(r), std::back_inserter(rows));
        for (Row& row : rows) {
          if (!track_matches(pattern, row.track) || !seen.insert(row.track).second) continue;
          row.label = say("rank {} {}", model_.ranks[r].rank, row.label);
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
            .label = say("pinned")});
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
          .label = host.empty() ? say("unknown host") : host,
          .note = say_count(members.size(), "{} rank", "{} ranks", members.size())});
    if (folded) return;
    for (const size_t index : members) add_rank(index);
  }

  void add_rank(size_t index) {
    Row row = rank_row(index);
    if (is_hidden(row.track)) return;
    const bool folded = row.folded;
    push(std::move(row));
    // Results were asked for explicitly: shown even if the rank is folded.
    for (Row& result : result_rows(index)) {
      if (!is_hidden(result.track)) push(std::move(result));
    }
    if (folded) return;
    if (!model_.ranks[index].events->loaded) {
      push({.kind = RowKind::kGroup,
            .height = kRowHeight,
            .track = fmt::format("rank:{}/not_loaded", model_.ranks[index].rank),
            .label = say("events not loaded")});
    }
    for (Row& within : rows_within(index)) {
      if (!is_hidden(within.track)) push(std::move(within));
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
            .label = say("rank {}", rank.rank)};
    if (rank.own_delay) {
      row.note = say("own +{}", format_duration(*rank.own_delay));
      row.problem = true;
    } else if (rank.wait_per_step) {
      row.note = say("waits {}", format_duration(*rank.wait_per_step));
    }
    return row;
  }

  // Tracks made from results of the dock SQL.
  [[nodiscard]] std::vector<Row> result_rows(size_t rank_index) const {
    const RankModel& rank = model_.ranks[rank_index];
    std::vector<Row> rows;
    for (size_t t = rank.lanes().threads.size(); t < rank.row_count(); ++t)
      rows.push_back(thread_row(rank_index, t));
    return rows;
  }

  // For an unfolded rank.
  [[nodiscard]] std::vector<Row> rows_within(size_t rank_index) const {
    const RankModel& rank = model_.ranks[rank_index];
    std::vector<Row> rows;
    for (size_t t = 0; t < rank.lanes().threads.size(); ++t)
      rows.push_back(thread_row(rank_index, t));
    for (size_t m = 0; m < rank.memory.size(); ++m) {
      const MemoryTrack& memory = rank.memory[m];
      if (!memory.changes) continue;
      rows.push_back({.kind = RowKind::kMemory,
                      .height = kMemoryHeight,
                      .rank_index = static_cast<int>(rank_index),
                      .memory_index = static_cast<int>(m),
                      .track = track_of(rank.rank, memory),
                      .label = title_of(memory.curve),
                      .note = format_bytes(memory.most)});
    }
    return rows;
  }

  [[nodiscard]] Row thread_row(size_t rank_index, size_t thread_index) const {
    const RankModel& rank = model_.ranks[rank_index];
    const size_t threads = rank.lanes().threads.size();
    const analyzer::ThreadLanes& thread = rank.row_lanes(thread_index).thread;
    const int depths = static_cast<int>(thread.depths.size());
    return {.kind = RowKind::kThread,
            .height = std::max(depths, 1) * kDepthPitch + 2 * kThreadPadding,
            .rank_index = static_cast<int>(rank_index),
            .thread_index = static_cast<int>(thread_index),
            .depths = depths,
            .track = track_of(rank.rank, thread),
            .label = thread_index < threads
                         ? thread.name
                         : "sql: " + thread.name,  // untranslated: as in its selector
            .note = thread_index < threads ? "" : rank.results[thread_index - threads]->note};
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
  if (thread.table == kResultTable)
    return fmt::format("rank:{}/sql:{}", rank, title_as_word(thread.name));
  std::string word = lower(thread.name);
  std::replace(word.begin(), word.end(), ' ', '_');
  std::replace(word.begin(), word.end(), '/', '_');
  return fmt::format("rank:{}/thread:{}", rank, word);
}

std::string track_of(int rank, const MemoryTrack& memory) {
  return fmt::format("rank:{}/{}", rank, word_of(memory.curve));
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
      scrolling == end ? "" : say("{} of {} stay in view", scrolling - first, end - first);
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
