// SPDX-License-Identifier: Apache-2.0
#include "gui/view/session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "gui/view/session/landmarks.h"

namespace dprof::view {
namespace {

constexpr size_t kManyRanks = 16;  // with more, Ranks × steps is the first page

}  // namespace

void Session::open(SharedModel model) {
  model_ = std::move(model);
  dock = Dock::kSelection;
  events.open();
  steps.show_order(RankOrder::kByRank);
  viewport.measure(std::nullopt);
  open_again();
}

void Session::open_again() {
  forget_figures();
  steps.open();
  collectives.open();
  pairs.open();
  grid.open();
  compared.reset();
  selecting.clear();
  notes.set({});
  sql = {};
  path.show(false);
  what_if.open();
  for (const RankModel& rank : model_->ranks) rank.results.clear();
  viewport.open(model_->ranks.size() > kManyRanks ? Page::kHeatmap : Page::kTimeline);
  tracks.scroll_to_top();
  tracks.arrange({});
  if (!model_->findings().empty()) {
    selecting.select_finding(0);
  } else if (const std::optional<int64_t> step = typical_step(*model_, nullptr)) {
    selecting.select_step(*step);
  }
  tracks.unfold_what_fits();
  if (second_of_failure(*model_)) selecting.select_failure();
  tracks.scroll_to_top();
  const std::vector<int>& ranks = selecting.selection().ranks;
  if (!ranks.empty()) tracks.scroll_to_rank(ranks.front());
  viewport.forget_back();
  opened_ = saved_view();
}

// Discards everything made from the previous model.
void Session::forget_figures() {
  steps.renew();
  collectives.renew();
  pairs.renew();
  grid.renew();
  counted.forget(model_);
  flow.forget();
  what_if.renew();
  tracks.show(model_);
}

void Session::renew(SharedModel model) {
  if (is_as_opened()) {
    model_ = std::move(model);
    open_again();
    return;
  }
  const std::vector<std::string> selectors = selectors_of(*model_, selecting.selection());
  const SharedModel former = std::exchange(model_, std::move(model));
  if (former != model_) {
    sql.grow_stale();
    take_over_results(*model_, *former);
  }
  forget_figures();
  apply_all(selectors);
}

// Ignores what the run no longer has.
void Session::apply_all(const std::vector<std::string>& selectors) {
  Selection selection;
  for (const std::string& text : selectors) {
    if (const Result<Selector> selector = parse_selector(text); selector.ok())
      (void)apply(*model_, *selector, selection);
  }
  selecting.set(std::move(selection));
}

bool Session::is_as_opened() const { return saved_view() == opened_; }

SavedView Session::saved_view() const {
  return {.range = viewport.range(),
          .page = std::string(info_of(viewport.page()).word),
          .dock = std::string(info_of(dock).word),
          .arrangement = tracks.arrangement(),
          .selectors = selectors_of(*model_, selecting.selection()),
          .notes = notes.all(),
          .query = sql.text(),
          .queries = sql.history(),
          .path = path.is_shown()};
}

void Session::restore(const SavedView& view) {
  if (const auto page = page_of(view.page)) viewport.restore(*page);
  if (const auto saved = dock_of(view.dock)) dock = *saved;
  tracks.arrange(view.arrangement);
  notes.set(view.notes);
  sql.restore(view.query, view.queries);
  path.show(view.path);
  apply_all(view.selectors);
  if (!view.range.empty()) viewport.show(view.range);
}

std::vector<size_t> Session::looked_at() const {
  std::vector<size_t> ranks;
  const auto add = [&](size_t rank_index) {
    if (std::ranges::find(ranks, rank_index) == ranks.end()) ranks.push_back(rank_index);
  };
  for (const int rank : selecting.selection().ranks) {
    if (const auto index = model_->index_of_rank(rank)) add(*index);
  }
  for (const Row& row : tracks.layout().rows) {
    if (row.kind == RowKind::kRank && !row.folded) add(static_cast<size_t>(row.rank_index));
  }
  for (const std::string& pattern : tracks.arrangement().pinned) {
    if (pattern.find("/sql:") != std::string::npos) continue;  // needs no events
    const std::string of_rank = pattern.substr(0, pattern.find('/'));
    for (size_t r = 0; r < model_->ranks.size(); ++r) {
      if (track_matches(of_rank, fmt::format("rank:{}", model_->ranks[r].rank))) add(r);
    }
  }
  return ranks;
}

void Session::take_events(size_t rank_index, SharedEvents loaded) {
  // Slice positions are invalid in other events; results follow the threads, however many.
  Selection selection = selecting.selection();
  if (selection.slice && static_cast<size_t>(selection.slice->rank_index) == rank_index) {
    const auto before = static_cast<int>(model_->ranks[rank_index].lanes().threads.size());
    const auto after = static_cast<int>(loaded->lanes.threads.size());
    const int result = selection.slice->thread_index - before;
    selection.slice->thread_index = result + after;
    if (result < 0) selection.slice.reset();
  }
  selecting.set(std::move(selection));
  flow.forget_if_of(rank_index);
  model_->ranks[rank_index].events = std::move(loaded);
  flow.find_message_ends();
  counted.forget(model_);
  tracks.relayout();
}

void Session::take_flow(const SlicePlace& of, const std::vector<analyzer::RelatedRow>& rows) {
  flow.take(of, rows);
  Selection selection = selecting.selection();
  if (selection.slice != of || selection.collective) return;
  selection.collective = flow.collective();
  selecting.set(std::move(selection));
}

Status Session::explain_step(std::optional<int64_t> step) {
  Status explained = path.explain(step);
  if (explained.ok()) dock = Dock::kPath;
  return explained;
}

}  // namespace dprof::view
