// SPDX-License-Identifier: Apache-2.0
#include "analyzer/hang/hang_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/match/tokens.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {

std::string duration(int64_t ns) { return format_duration(DurationNs{std::max<int64_t>(0, ns)}); }

std::string activity(const LastActivity& last) {
  constexpr size_t kNamed = 3;
  if (last.loading_for_ns)
    return fmt::format("has been waiting for a batch for {}", duration(*last.loading_for_ns));
  if (!last.open.empty()) {
    std::string words = fmt::format("has been in `{}`", last.open[0].name);
    for (size_t i = 1; i < std::min(kNamed, last.open.size()); ++i)
      words += fmt::format(" within `{}`", last.open[i].name);
    return words + fmt::format(" for {}", duration(last.open[0].begun_ago_ns));
  }
  if (last.last) {
    return fmt::format("finished `{}` {} before its last sign", last.last->name,
                       duration(last.last->ended_ago_ns.value_or(0)));
  }
  return {};
}

// Its last collective or message that it called at all.
std::string last_call(const RankDigest& digest) {
  if (digest.collectives.empty()) return "called no collective";
  const CollectiveRecord& last = digest.collectives.back();
  const std::string& group = digest.communicators[last.communicator].name;
  if (is_point_to_point(last.function))
    return fmt::format("last called {} of {}", word_of(last.function), group);
  return fmt::format("last called {} #{} of {}", word_of(last.function),
                     last.numbered ? last.sequence : last.group_sequence.value_or(last.sequence),
                     group);
}

std::string end_of(const TraceFile& trace) {
  if (trace.exit_status.starts_with("signal:"))
    return fmt::format("its process was killed ({})", trace.exit_status);
  if (trace.exit_status.starts_with("exit:"))
    return fmt::format("its process ended with {}", trace.exit_status);
  if (trace.ended == "process_killed") return "its process was killed";
  return {};
}

}  // namespace

std::string words_of_call(const StuckCall& call, const Matching& matching) {
  if (call.instance) {
    const Instance& instance = matching.instances[*call.instance];
    return fmt::format("{} #{} of {}", word_of(instance.function), instance.sequence,
                       matching.groups[instance.group].name);
  }
  const Message& message = matching.messages[*call.message];
  const auto rank = [](const std::optional<int>& r) {
    return r ? fmt::format("rank {}", *r) : std::string("some rank");
  };
  return fmt::format("the message from {} to {} in {}", rank(message.from), rank(message.to),
                     matching.groups[message.group].name);
}

std::string last_words_of(const RankDigest& digest, const TraceFile& trace, const StuckCall* stands,
                          const Matching& matching) {
  std::vector<std::string> parts;
  if (stands != nullptr) {
    parts.push_back("stands in " + words_of_call(*stands, matching));
  } else {
    parts.push_back(last_call(digest));
  }
  if (std::string words = activity(digest.last_activity); !words.empty())
    parts.push_back(std::move(words));
  if (std::string words = end_of(trace); !words.empty()) parts.push_back(std::move(words));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::optional<int64_t> silence_of(const RankDigest& digest) {
  std::optional<int64_t> ago;
  const auto hear = [&](int64_t ns) { ago = std::min(ago.value_or(ns), ns); };
  const LastActivity& last = digest.last_activity;
  for (const LastRange& range : last.open) hear(range.begun_ago_ns);
  if (last.last && last.last->ended_ago_ns) hear(*last.last->ended_ago_ns);
  for (const CollectiveRecord& record : digest.collectives) {
    for (const auto& time : {record.enqueue, record.start, record.end}) {
      if (time) hear((digest.last_sign - *time).ns);
    }
  }
  return ago ? std::optional(std::max<int64_t>(0, *ago)) : std::nullopt;
}

}  // namespace dprof::analyzer
