// SPDX-License-Identifier: Apache-2.0
#include "gui/view/model/run_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "analyzer/render/layout.h"
#include "analyzer/replay/critical_path.h"
#include "base/stats.h"
#include "gui/view/drawing/texts.h"

namespace dprof::view {
namespace {

using analyzer::PathPiece;

// Slack as a share of its step, at which the grades begin.
constexpr double kSlackGrades[] = {0.005, 0.05, 0.2};

uint8_t grade_of(int64_t slack_ns, int64_t step_ns) {
  const double share =
      static_cast<double>(slack_ns) / static_cast<double>(std::max<int64_t>(step_ns, 1));
  uint8_t grade = 0;
  for (const double from : kSlackGrades)
    grade = static_cast<uint8_t>(grade + (share >= from ? 1 : 0));
  return grade;
}

class RunPathBuilder {
 public:
  RunPathBuilder(const analyzer::WhatIfModel& model, std::span<const int> ranks,
                 std::span<const StepBegin> begins)
      : model_(model), run_(model.run()), finder_(model), begins_(begins) {
    path_.slack.resize(ranks.size());
    for (const int rank : run_.ranks) {
      const auto place = std::ranges::find(ranks, rank);
      index_of_.push_back(place == ranks.end() ? -1 : static_cast<int>(place - ranks.begin()));
    }
  }

  RunPath build() && {
    std::vector<double> lengths;
    for (size_t s = 0; s < run_.steps.size(); ++s) {
      add_step(s);
      lengths.push_back(static_cast<double>(path_.steps.back().length_ns));
    }
    if (!lengths.empty()) path_.median_ns = std::llround(median(lengths));
    std::ranges::stable_sort(path_.parts, {}, [](const PathPart& part) { return part.span.begin; });
    add_slack();
    for (auto& [key, item] : items_) path_.items.push_back(std::move(item));
    return std::move(path_);
  }

 private:
  void add_step(size_t s) {
    const analyzer::PathOfStep found = finder_.path(s);
    PathStep step{.step = run_.step_index[s], .span = {}, .length_ns = model_.unchanged()[s]};
    step.first_jump = static_cast<uint32_t>(path_.jumps.size());
    const auto begun = std::ranges::find(begins_, step.step, &StepBegin::step);
    const TraceNs least = begun == begins_.end() ? TraceNs{INT64_MIN / 2} : begun->begin;
    for (const PathPiece& piece : found.pieces) {
      const Interval span{std::max(TraceNs{piece.begin_ns}, least), TraceNs{piece.end_ns}};
      if (span.empty()) continue;
      add_items(piece, span.length().ns, s);
      if (step.span.empty()) step.span = span;
      step.span.end = std::max(step.span.end, span.end);
      if (index_of_[piece.entry] < 0) continue;
      path_.parts.push_back({span, index_of_[piece.entry], name_id(name_of_piece(piece))});
    }
    for (const analyzer::PathHop& hop : found.hops) {
      const int from = index_of_[hop.from];
      const int to = index_of_[hop.to];
      if (from < 0 || to < 0) continue;
      path_.jumps.push_back({{hop.at_ns},
                             from,
                             to,
                             name_id(move_name(hop.move)),
                             static_cast<uint32_t>(path_.steps.size())});
    }
    step.jumps = static_cast<uint32_t>(path_.jumps.size()) - step.first_jump;
    step.last_rank = found.pieces.empty() ? -1 : index_of_[found.last];
    path_.steps.push_back(step);
  }

  [[nodiscard]] std::string move_name(uint32_t move) const {
    return move < run_.moves.size()
               ? analyzer::printable(run_.move_kinds[run_.moves[move].kind].name)
               : say("a transfer");
  }

  // The predominant kind of a piece of work.
  [[nodiscard]] const analyzer::WorkKind* kind_of(const analyzer::Work& work) const {
    const analyzer::WorkPart* longest = nullptr;
    for (uint32_t p = 0; p < work.parts; ++p) {
      const analyzer::WorkPart& part = run_.parts[work.first_part + p];
      if (longest == nullptr || part.ns > longest->ns) longest = &part;
    }
    return longest == nullptr ? nullptr : &run_.work_kinds[longest->kind];
  }

  [[nodiscard]] std::string name_of_piece(const PathPiece& piece) const {
    if (piece.what == PathPiece::What::kTransfer) return move_name(piece.index);
    if (piece.what == PathPiece::What::kUnexplained) return say("not explained");
    const analyzer::WorkKind* kind = kind_of(run_.works[piece.index]);
    return kind == nullptr ? say("own work") : kind->name;
  }

  uint32_t name_id(const std::string& name) {
    const auto [place, added] = ids_.try_emplace(name, static_cast<uint32_t>(path_.names.size()));
    if (added) path_.names.push_back(name);
    return place->second;
  }

  void add_item(PathItemKind kind, const std::string& name, int rank, double ns, size_t s) {
    PathItem& item = items_[{kind, name}];
    if (item.ns.empty()) {
      item = {.kind = kind, .name = name, .rank = rank, .ns = {}};
      item.ns.resize(run_.steps.size(), 0);
    }
    item.ns[s] += std::llround(ns);
  }

  // Work is divided by kind, as in the report: the order of the kinds is unknown.
  void add_items(const PathPiece& piece, int64_t length_ns, size_t s) {
    const auto length = static_cast<double>(length_ns);
    const int rank = run_.ranks[piece.entry];
    add_item(PathItemKind::kRank, say("rank {}", rank), rank, length, s);
    if (piece.what != PathPiece::What::kWork) {
      const bool transfer = piece.what == PathPiece::What::kTransfer;
      add_item(PathItemKind::kCategory,
               transfer ? std::string(title_of(analyzer::Category::kExposedTransfer))
                        : say("not explained"),
               -1, length, s);
      if (transfer) add_item(PathItemKind::kName, name_of_piece(piece), -1, length, s);
      return;
    }
    const analyzer::Work& work = run_.works[piece.index];
    double all = 0;
    for (uint32_t p = 0; p < work.parts; ++p)
      all += static_cast<double>(run_.parts[work.first_part + p].ns);
    for (uint32_t p = 0; all > 0 && p < work.parts; ++p) {
      const analyzer::WorkPart& part = run_.parts[work.first_part + p];
      const analyzer::WorkKind& kind = run_.work_kinds[part.kind];
      const double ns = length * static_cast<double>(part.ns) / all;
      add_item(PathItemKind::kCategory, std::string(title_of(kind.category)), -1, ns, s);
      add_item(PathItemKind::kName, kind.name, -1, ns, s);
    }
  }

  void add_slack_of(uint32_t entry, uint32_t step, analyzer::TaskId task) {
    const int rank = index_of_[entry];
    if (rank < 0 || step >= path_.steps.size()) return;
    const TraceNs end{model_.ends()[task]};
    const Interval span{end - DurationNs{run_.durations[task]}, end};
    if (span.empty()) return;
    path_.slack[static_cast<size_t>(rank)].push_back(
        {span, grade_of(finder_.slack()[task], path_.steps[step].length_ns)});
  }

  // Merges neighbours of equal grade.
  void add_slack() {
    for (const analyzer::Work& work : run_.works) add_slack_of(work.entry, work.step, work.task);
    for (const analyzer::Move& move : run_.moves) add_slack_of(move.entry, move.step, move.task);
    for (std::vector<SlackPart>& parts : path_.slack) {
      std::ranges::stable_sort(parts, {}, [](const SlackPart& part) { return part.span.begin; });
      std::vector<SlackPart> joined;
      for (const SlackPart& part : parts) {
        const bool goes_on = !joined.empty() && joined.back().grade == part.grade &&
                             part.span.begin <= joined.back().span.end;
        if (goes_on) {
          joined.back().span.end = std::max(joined.back().span.end, part.span.end);
        } else {
          joined.push_back(part);
        }
      }
      parts = std::move(joined);
    }
  }

  const analyzer::WhatIfModel& model_;
  const analyzer::PlayedRun& run_;
  analyzer::PathFinder finder_;
  std::span<const StepBegin> begins_;
  std::vector<int> index_of_;  // by entry: rank index; -1 = not shown
  std::map<std::string, uint32_t> ids_;
  std::map<std::pair<PathItemKind, std::string>, PathItem> items_;
  RunPath path_;
};

template <typename Part>
const Part* part_holding(const std::vector<Part>& parts, TraceNs at) {
  const auto after =
      std::ranges::upper_bound(parts, at, {}, [](const Part& part) { return part.span.begin; });
  if (after == parts.begin()) return nullptr;
  const Part& part = *(after - 1);
  return at < part.span.end ? &part : nullptr;
}

}  // namespace

std::optional<size_t> RunPath::index_of_step(int64_t step) const {
  const auto place = std::ranges::find(steps, step, &PathStep::step);
  if (place == steps.end()) return std::nullopt;
  return static_cast<size_t>(place - steps.begin());
}

const PathPart* RunPath::part_at(int rank_index, TraceNs at) const {
  const PathPart* part = part_holding(parts, at);
  return part != nullptr && part->rank_index == rank_index ? part : nullptr;
}

const SlackPart* RunPath::slack_at(int rank_index, TraceNs at) const {
  return part_holding(slack[static_cast<size_t>(rank_index)], at);
}

RunPath run_path_of(const analyzer::WhatIfModel& model, std::span<const int> ranks,
                    std::span<const StepBegin> begins) {
  return RunPathBuilder(model, ranks, begins).build();
}

std::vector<PathDifference> differences(const RunPath& path, size_t step, PathItemKind kind) {
  std::vector<PathDifference> all;
  for (const PathItem& item : path.items) {
    if (item.kind != kind) continue;
    const PathDifference one{&item, item.ns[step], median_ns(item.ns)};
    if (one.ns != 0 || one.usual_ns != 0) all.push_back(one);
  }
  std::ranges::stable_sort(all, std::greater{},
                           [](const PathDifference& one) { return std::abs(one.by()); });
  return all;
}

}  // namespace dprof::view
