// SPDX-License-Identifier: Apache-2.0
#include "gui/view/model/selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "gui/view/drawing/texts.h"
#include "gui/view/model/layout.h"
#include "gui/view/model/names.h"
#include "gui/view/model/result_track.h"

namespace dprof::view {
namespace {

constexpr std::string_view kGrammar = english(
    "selectors are rank:N, rank:N/stream:M, rank:N/thread:NAME, step:N, steps:N..N, finding:N, "
    "row:RANK/TABLE/ID, range:T..T (with ns, us, ms or s), "
    "collective:COMMUNICATOR/FUNCTION/SEQUENCE, name:PATTERN, duration:T..T");

Failure bad_selector(std::string_view text) {
  return fail(Code::kUsage, say("'{}' is no selector", text), std::string(translated(kGrammar)));
}

std::optional<int64_t> read_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// Cuts off everything before the first `separator`.
std::string_view take(std::string_view& text, std::string_view separator) {
  const size_t at = text.find(separator);
  const std::string_view head = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view{} : text.substr(at + separator.size());
  return head;
}

std::optional<SlicePlace> find_row(const RankModel& rank, int rank_index, std::string_view table,
                                   int64_t row) {
  for (size_t t = 0; t < rank.lanes().threads.size(); ++t) {
    const analyzer::ThreadLanes& thread = rank.lanes().threads[t];
    if (thread.table != table) continue;
    for (size_t d = 0; d < thread.depths.size(); ++d) {
      const std::vector<int64_t>& rows = thread.depths[d].row;
      const auto found = std::find(rows.begin(), rows.end(), row);
      if (found == rows.end()) continue;
      return SlicePlace{rank_index, static_cast<int>(t), static_cast<int>(d),
                        static_cast<uint32_t>(found - rows.begin())};
    }
  }
  return std::nullopt;
}

Status apply_row(const Model& model, const Selector& selector, Selection& selection) {
  const auto rank = static_cast<int>(selector.number);
  const auto place = place_of_row(model, rank, selector.table, selector.row);
  if (!place) {
    return fail(
        Code::kUsage,
        say("rank {} has no row {} in table {}", selector.number, selector.row, selector.table),
        say("the timeline shows rows of host_range, collective and gpu_activity"));
  }
  selection.slice = place;
  selection.ranks = {rank};
  if (selector.table == "collective") {
    const auto& members = model.rank(rank)->collective_of_row;
    if (const auto member = members.find(selector.row); member != members.end()) {
      selection.collective = member->second.collective;
    }
  }
  return Done{};
}

Status apply_track(const Model& model, const Selector& selector, Selection& selection) {
  const RankModel* rank = model.rank(static_cast<int>(selector.number));
  if (rank == nullptr) return fail(Code::kUsage, say("the run has no rank {}", selector.number));
  std::vector<std::string> tracks;
  for (size_t t = 0; t < rank->row_count(); ++t)
    tracks.push_back(track_of(rank->rank, rank->row_lanes(t).thread));
  for (const MemoryTrack& memory : rank->memory) tracks.push_back(track_of(rank->rank, memory));
  if (std::ranges::find(tracks, selector.table) != tracks.end()) {
    if (!selection.has_rank(rank->rank)) selection.ranks.push_back(rank->rank);
    selection.track = selector.table;
    return Done{};
  }
  std::string hint =
      tracks.empty() ? "" : say("its tracks: {}", fmt::format("{}", fmt::join(tracks, ", ")));
  if (!rank->events->loaded) hint += (hint.empty() ? "" : "; ") + say("its events are not loaded");
  return fail(Code::kUsage, say("the run has no track {}", selector.table), hint);
}

// From the begin of the first to the end of the last.
Status apply_steps(const Model& model, const Selector& selector, Selection& selection) {
  std::optional<Interval> range;
  for (const analyzer::StepWindow& step : model.steps) {
    if (step.index < selector.number || step.index > selector.last) continue;
    if (!range) range = step.window;
    range->end = std::max(range->end, step.window.end);
  }
  if (!range) {
    return fail(Code::kUsage, say("the run has no steps {} to {}", selector.number, selector.last));
  }
  selection.range = range;
  return Done{};
}

Status apply_collective(const Model& model, const Selector& selector, Selection& selection) {
  for (size_t i = 0; i < model.collectives.size(); ++i) {
    const analyzer::MatchedCollective& collective = model.collectives[i];
    if (collective.communicator == selector.communicator &&
        schema::word_of(collective.function) == selector.table &&
        collective.sequence == selector.number) {
      selection.collective = i;
      return Done{};
    }
  }
  return fail(Code::kUsage,
              say("the run has no collective {}/{}/{}", selector.communicator, selector.table,
                  selector.number),
              say("`dprof report --format json` lists communicators and functions"));
}

}  // namespace

std::optional<TraceNs> read_moment(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  double factor = 0;
  if (unit == "ns") factor = 1;
  if (unit == "us") factor = kNsPerUs;
  if (unit == "ms") factor = kNsPerMs;
  if (unit == "s") factor = kNsPerSecond;
  const double ns = value * factor;
  if (factor == 0 || std::abs(ns) > 9e18) return std::nullopt;
  return TraceNs{std::llround(ns)};
}

bool Selection::has_rank(int rank) const {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

std::optional<SlicePlace> place_of_row(const Model& model, int rank, std::string_view table,
                                       int64_t row) {
  const std::optional<size_t> index = model.index_of_rank(rank);
  if (!index) return std::nullopt;
  return find_row(model.ranks[*index], static_cast<int>(*index), table, row);
}

Result<Selector> parse_selector(std::string_view text) {
  std::string_view rest = text;
  const std::string_view kind = take(rest, ":");
  Selector selector;
  std::optional<int64_t> number;
  if (kind == "rank" && rest.find('/') != std::string_view::npos) {
    selector.kind = SelectorKind::kTrack;
    selector.table = text;
    number = read_number(take(rest, "/"));
  } else if (kind == "steps") {
    selector.kind = SelectorKind::kSteps;
    number = read_number(take(rest, ".."));
    const std::optional<int64_t> last = read_number(rest);
    if (!number || !last || *last < *number) return bad_selector(text);
    selector.last = *last;
  } else if (kind == "rank" || kind == "step" || kind == "finding") {
    selector.kind = kind == "rank"   ? SelectorKind::kRank
                    : kind == "step" ? SelectorKind::kStep
                                     : SelectorKind::kFinding;
    number = read_number(rest);
  } else if (kind == "row") {
    selector.kind = SelectorKind::kRow;
    number = read_number(take(rest, "/"));
    selector.table = take(rest, "/");
    const std::optional<int64_t> row = read_number(rest);
    if (!row) return bad_selector(text);
    selector.row = *row;
  } else if (kind == "collective") {
    selector.kind = SelectorKind::kCollective;
    // A communicator's name can contain slashes; function and sequence are the last two parts.
    const size_t sequence = rest.rfind('/');
    if (sequence == std::string_view::npos || sequence == 0) return bad_selector(text);
    const size_t function = rest.rfind('/', sequence - 1);
    if (function == std::string_view::npos) return bad_selector(text);
    selector.communicator = rest.substr(0, function);
    selector.table = rest.substr(function + 1, sequence - function - 1);
    number = read_number(rest.substr(sequence + 1));
  } else if (kind == "name") {
    if (rest.empty()) return bad_selector(text);
    selector.kind = SelectorKind::kName;
    selector.table = rest;
    number = 0;
  } else if (kind == "range") {
    selector.kind = SelectorKind::kRange;
    const std::optional<TraceNs> begin = read_moment(take(rest, ".."));
    const std::optional<TraceNs> end = read_moment(rest);
    if (!begin || !end || *end <= *begin) return bad_selector(text);
    selector.range = {*begin, *end};
    number = 0;
  } else if (kind == "duration") {
    selector.kind = SelectorKind::kDuration;
    const std::optional<TraceNs> from = read_moment(take(rest, ".."));
    const std::optional<TraceNs> to = read_moment(rest);
    if (!from || !to || *to < *from || from->ns < 0) return bad_selector(text);
    selector.durations = {from->ns, to->ns};
    number = 0;
  }
  if (!number) return bad_selector(text);
  selector.number = *number;
  return selector;
}

Status apply(const Model& model, const Selector& selector, Selection& selection) {
  switch (selector.kind) {
    case SelectorKind::kRank: {
      const auto rank = static_cast<int>(selector.number);
      if (model.rank(rank) == nullptr) {
        return fail(Code::kUsage, say("the run has no rank {}", selector.number));
      }
      if (!selection.has_rank(rank)) selection.ranks.push_back(rank);
      return Done{};
    }
    case SelectorKind::kTrack:
      return apply_track(model, selector, selection);
    case SelectorKind::kSteps:
      return apply_steps(model, selector, selection);
    case SelectorKind::kStep:
      if (!model.index_of_step(selector.number)) {
        return fail(Code::kUsage, say("the run has no step {}", selector.number));
      }
      selection.step = selector.number;
      return Done{};
    case SelectorKind::kFinding: {
      const auto count = static_cast<int64_t>(model.findings().size());
      if (selector.number < 1 || selector.number > count) {
        return fail(Code::kUsage, say("the report has no finding {}", selector.number),
                    count == 0 ? say("there are none") : say("it has 1 to {}", count));
      }
      selection.finding = static_cast<size_t>(selector.number - 1);
      selection.ranks = model.findings()[*selection.finding].ranks;
      return Done{};
    }
    case SelectorKind::kRow:
      return apply_row(model, selector, selection);
    case SelectorKind::kRange:
      selection.range = selector.range;
      return Done{};
    case SelectorKind::kCollective:
      return apply_collective(model, selector, selection);
    case SelectorKind::kName:
      if (!any_name_matches(model, selector.table)) {
        return fail(Code::kUsage, say("no event is named {}", selector.table),
                    say("* matches any characters: name:*all_reduce*"));
      }
      selection.name = selector.table;
      return Done{};
    case SelectorKind::kDuration:
      selection.durations = selector.durations;
      return Done{};
  }
  return Done{};
}

std::vector<std::string> selectors_of(const Model& model, const Selection& selection) {
  std::vector<std::string> out;
  if (selection.finding) out.push_back(fmt::format("finding:{}", *selection.finding + 1));
  if (selection.step) out.push_back(fmt::format("step:{}", *selection.step));
  if (selection.range) {
    out.push_back(
        fmt::format("range:{}ns..{}ns", selection.range->begin.ns, selection.range->end.ns));
  }
  if (selection.collective) {
    const analyzer::MatchedCollective& collective = model.collectives[*selection.collective];
    out.push_back(fmt::format("collective:{}/{}/{}", collective.communicator,
                              schema::word_of(collective.function), collective.sequence));
  }
  if (selection.slice) {
    out.push_back(selector_of(model, *selection.slice));
  }
  if (!selection.name.empty()) out.push_back("name:" + selection.name);
  if (selection.durations) {
    out.push_back(fmt::format("duration:{}ns..{}ns", selection.durations->from_ns,
                              selection.durations->to_ns));
  }
  if (!selection.track.empty()) out.push_back(selection.track);
  if (!selection.finding && !selection.slice) {
    for (const int rank : selection.ranks) {
      const std::string selector = fmt::format("rank:{}", rank);
      if (!selection.track.starts_with(selector + "/")) out.push_back(selector);
    }
  }
  return out;
}

std::vector<std::string> tracks_of_communicator(const Model& model, const Selection& selection) {
  std::vector<std::string> tracks;
  if (!selection.collective) return tracks;
  const std::string& communicator = model.collectives[*selection.collective].communicator;
  std::set<int> ranks;
  for (const analyzer::MatchedCollective& one : model.collectives) {
    if (one.communicator != communicator) continue;
    for (const analyzer::CollectiveMember& member : one.members) ranks.insert(member.rank);
  }
  for (const int rank : ranks) tracks.push_back(fmt::format("rank:{}", rank));
  return tracks;
}

std::vector<std::string> tracks_of(const Model& model, const Selection& selection) {
  if (!selection.track.empty()) return {selection.track};
  if (selection.slice) {
    return {track_of(rank_of(model, *selection.slice).rank, thread_of(model, *selection.slice))};
  }
  std::vector<std::string> tracks;
  for (const int rank : selection.ranks) tracks.push_back(fmt::format("rank:{}", rank));
  return tracks;
}

std::string track_pattern_of(const Model& model, const Selection& selection) {
  const std::vector<std::string> tracks = tracks_of(model, selection);
  if (tracks.empty()) return {};
  const size_t slash = tracks.front().find('/');
  return slash == std::string::npos ? "rank:*" : "rank:*" + tracks.front().substr(slash);
}

int64_t events_in(const Model& model, const std::vector<int>& ranks, Interval range) {
  int64_t events = 0;
  for (const RankModel& rank : model.ranks) {
    if (!ranks.empty() && std::find(ranks.begin(), ranks.end(), rank.rank) == ranks.end()) continue;
    for (const analyzer::ThreadLanes& thread : rank.lanes().threads) {
      for (const analyzer::Lane& lane : thread.depths) {
        events += static_cast<int64_t>(count_in(slices_of(lane), range));
      }
    }
  }
  return events;
}

}  // namespace dprof::view
