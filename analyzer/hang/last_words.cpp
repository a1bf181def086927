// SPDX-License-Identifier: Apache-2.0
#include "analyzer/hang/last_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/match/tokens.h"
#include "base/format.h"
#include "schema/function.h"
#include "schema/stack_words.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kNamedRanges = 3;
constexpr size_t kNamedCalls = 2;

std::string duration(int64_t ns) { return format_duration(DurationNs{std::max<int64_t>(0, ns)}); }

// Without the range of a whole step: its number says more. Garbage is collected anywhere.
std::string place_of(const RankDigest& digest) {
  std::string place;
  size_t named = 0;
  for (const LastRange& range : digest.last_activity.open) {
    if (range.name == "step" || range.name.starts_with("ProfilerStep#")) continue;
    if (range.name.starts_with("gc.collect ")) continue;
    if (named++ == kNamedRanges) break;
    place += fmt::format("{}in `{}`", place.empty() ? "" : " ", range.name);
  }
  const bool within_step =
      !digest.steps.empty() && digest.steps_begun > static_cast<int64_t>(digest.steps.size());
  if (within_step)
    place += fmt::format("{}in step {}", place.empty() ? "" : " ", digest.steps_begun - 1);
  return place;
}

}  // namespace

std::string activity_words(const LastActivity& last) {
  if (last.loading_for_ns)
    return fmt::format("has been waiting for a batch for {}", duration(*last.loading_for_ns));
  if (!last.open.empty()) {
    std::string words = fmt::format("has been in `{}`", last.open[0].name);
    for (size_t i = 1; i < std::min(kNamedRanges, last.open.size()); ++i)
      words += fmt::format(" within `{}`", last.open[i].name);
    // An imported range can have a begin only.
    if (last.open[0].begun_ago_ns <= 0) return words;
    return words + fmt::format(" for {}", duration(last.open[0].begun_ago_ns));
  }
  if (last.last) {
    return fmt::format("finished `{}` {} before its last sign", last.last->name,
                       duration(last.last->ended_ago_ns.value_or(0)));
  }
  return {};
}

std::string stack_words(const LastActivity& last) {
  std::vector<schema::StackPlace> places;
  for (const StackFrame& frame : last.stack) {
    const auto kind = frame.kind == word_of(schema::StackKind::kPython)
                          ? schema::StackKind::kPython
                          : schema::StackKind::kNative;
    places.push_back({kind, frame.function, frame.file, frame.line});
  }
  return schema::words_of_stack(places);
}

bool was_ended_for_hanging(const RankDigest& digest) {
  return std::ranges::count(digest.remarks, "hang_killed", &Diagnostic::code) != 0;
}

std::string last_call_words(const RankDigest& digest) {
  if (digest.collectives.empty()) return "called no collective";
  const CollectiveRecord& last = digest.collectives.back();
  const std::string group = schema::group_in_text(digest.communicators[last.communicator].name);
  if (is_point_to_point(last.function))
    return fmt::format("last called {} of {}", word_of(last.function), group);
  return fmt::format("last called {} #{} of {}", word_of(last.function),
                     last.numbered ? last.sequence : last.group_sequence.value_or(last.sequence),
                     group);
}

std::string words_of_call(const Hang& hang) {
  return fmt::format("{}{} of {}", word_of(hang.function),
                     hang.sequence ? fmt::format(" #{}", *hang.sequence) : "",
                     schema::group_in_text(hang.communicator));
}

std::string words_of_call(const Instance& instance, const Matching& matching) {
  return fmt::format("{} #{} of {}", word_of(instance.function), instance.sequence,
                     schema::group_in_text(matching.groups[instance.group].name));
}

std::vector<std::string> doing_of(const RankDigest& digest, const Matching& matching, size_t d) {
  std::vector<std::string> doing;
  if (digest.last_activity.loading_for_ns) doing.emplace_back("waiting for a batch");
  if (std::string place = place_of(digest); !place.empty()) doing.push_back(std::move(place));
  size_t calls = 0;
  for (size_t i = digest.collectives.size(); i-- > 0 && calls < kNamedCalls;) {
    const CollectiveRecord& record = digest.collectives[i];
    if (record.end || is_finished(record) || !record.arrival()) continue;
    ++calls;
    const size_t instance = matching.instance_of[d][i];
    const std::string call = instance == kNoInstance
                                 ? std::string(word_of(record.function))
                                 : words_of_call(matching.instances[instance], matching);
    doing.push_back(record.failed ? fmt::format("in {}, which failed after {}", call,
                                                duration((*record.failed - *record.arrival()).ns))
                                  : fmt::format("in {}", call));
  }
  return doing;
}

}  // namespace dprof::analyzer
