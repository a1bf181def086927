// SPDX-License-Identifier: Apache-2.0
#include "analyzer/hang/hang.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "analyzer/hang/last_words.h"
#include "analyzer/hang/progress.h"
#include "analyzer/hang/wait_graph.h"
#include "analyzer/match/resync.h"
#include "analyzer/match/tokens.h"
#include "analyzer/run/run.h"

namespace dprof::analyzer {
namespace {

std::string end_of(const TraceFile& trace) {
  if (trace.exit_status.starts_with("signal:"))
    return fmt::format("its process was killed ({})", trace.exit_status);
  if (trace.exit_status.starts_with("exit:"))
    return fmt::format("its process ended with {}", trace.exit_status);
  if (trace.ended == "process_killed") return "its process was killed";
  return {};
}

// "all_reduce #42 of default_pg", "send of pg 0 from rank 0 to rank 1".
std::string words_of_call(const StuckCall& call, const Matching& matching) {
  if (call.instance) return words_of_call(matching.instances[*call.instance], matching);
  const Message& message = matching.messages[*call.message];
  const auto rank = [](const std::optional<int>& r) {
    return r ? fmt::format("rank {}", *r) : std::string("some rank");
  };
  return fmt::format("the message from {} to {} in {}", rank(message.from), rank(message.to),
                     matching.groups[message.group].name);
}

// "was in `loader` within `step` for 61.2 s; its process was killed (signal:9)". `stuck_in`:
// the first call that it is in, if any.
std::string last_words_of(const RankDigest& digest, const TraceFile& trace,
                          const StuckCall* stuck_in, const Matching& matching) {
  std::vector<std::string> parts;
  if (stuck_in != nullptr) {
    parts.push_back("waits in " + words_of_call(*stuck_in, matching));
  } else {
    parts.push_back(last_call_words(digest));
  }
  if (std::string words = activity_words(digest.last_activity); !words.empty())
    parts.push_back(std::move(words));
  if (was_ended_for_hanging(digest)) {
    parts.emplace_back("dprof killed it because the job hung");
  } else if (std::string words = end_of(trace); !words.empty())
    parts.push_back(std::move(words));
  return fmt::format("{}", fmt::join(parts, "; "));
}

// Time since its last sign of life.
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

constexpr int64_t kLongWaitSteps = 10;         // of the median step
constexpr int64_t kLongWaitNs = kNsPerSecond;  // if steps are short or unknown

bool was_killed(const TraceFile& trace) {
  return trace.ended == "process_killed" || trace.ended == "recovered" ||
         trace.exit_status.starts_with("signal:");
}

// Killed by the launcher because another rank had failed: a consequence, not a cause.
bool was_terminated(const TraceFile& trace) { return trace.exit_status == "signal:15"; }

// By writing to a peer that had closed the connection.
bool died_of_closed_connection(const TraceFile& trace) { return trace.exit_status == "signal:13"; }

bool has_failed(const TraceFile& trace) {
  return trace.exit_status.starts_with("exit:") && trace.exit_status != "exit:0";
}

// Written during the hang: its duration is not recorded.
bool is_a_dump(const RankDigest& digest) {
  return std::ranges::any_of(digest.remarks,
                             [](const Diagnostic& d) { return d.code == "flight_recorder_dump"; });
}

class HangFinder {
 public:
  explicit HangFinder(const HangInput& input)
      : in_(input),
        progress_(input.digests, input.matching),
        graph_(wait_graph_of(progress_, input.matching)) {}

  std::optional<Hang> run() {
    if (graph_.calls.empty()) return std::nullopt;
    for (size_t d = 0; d < in_.digests.size(); ++d) {
      if (!graph_.stuck_in[d].empty()) blocked_.push_back(d);
    }
    for (const size_t d : blocked_) note_wait(d);
    for (const std::vector<size_t>& sink : graph_.sinks) {
      if (sink.size() == 1) single_.push_back(sink.front());
    }
    if (find_mismatch() || find_dead() || find_circle() || find_waiting()) return finished();
    return std::nullopt;
  }

 private:
  [[nodiscard]] int rank_of(size_t digest) const { return in_.digests[digest].rank; }
  [[nodiscard]] std::vector<int> ranks_of(const std::vector<size_t>& digests) const {
    std::vector<int> ranks;
    for (const size_t d : digests) ranks.push_back(rank_of(d));
    std::ranges::sort(ranks);
    return ranks;
  }
  static std::string named(const std::vector<int>& ranks) {
    return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", words_of_ranks(ranks));
  }

  void note_wait(size_t digest) {
    const RankDigest& rank = in_.digests[digest];
    for (const OpenCall& front : progress_.fronts(digest)) {
      const CollectiveRecord& record = rank.collectives[front.record];
      failed_ = failed_ || record.failed || died_of_closed_connection(in_.traces[digest]);
      if (record.arrival())
        longest_wait_ns_ = std::max(longest_wait_ns_, (rank.last_sign - *record.arrival()).ns);
    }
    dumped_ = dumped_ || is_a_dump(rank) || was_ended_for_hanging(rank);
  }

  [[nodiscard]] bool waited_long() const {
    return dumped_ || failed_ || longest_wait_ns_ >= long_wait_ns(in_.median_step_ns);
  }

  void decide(std::string state, std::vector<int> culprits, const StuckCall* call,
              std::string reason) {
    hang_.state = std::move(state);
    hang_.culprits = std::move(culprits);
    hang_.reason = std::move(reason);
    call_ = call;
  }

  // --- the members called different operations ---

  bool find_mismatch() {
    for (const StuckCall& call : graph_.calls) {
      if (!call.instance) continue;
      const Instance& instance = in_.matching.instances[*call.instance];
      if (instance.state != MatchState::kMismatch) continue;
      const std::vector<int> odd = minority(instance);
      if (odd.empty()) continue;
      decide("mismatch", odd, &call,
             fmt::format("the members of {} call different collectives: {}",
                         words_of_call(call, in_.matching), sides_of(instance)));
      return true;
    }
    return false;
  }

  using Sides = std::vector<std::vector<size_t>>;  // members by what they called

  [[nodiscard]] CollectiveRecord record_of(const Member& member) const {
    return in_.digests[member.digest].collectives[member.record];
  }

  [[nodiscard]] Sides sides(const Instance& instance) const {
    Sides found;
    for (size_t m = 0; m < instance.members.size(); ++m) {
      const auto same = std::ranges::find_if(found, [&](const std::vector<size_t>& side) {
        return !in_conflict(record_of(instance.members[side.front()]),
                            record_of(instance.members[m]));
      });
      if (same == found.end()) {
        found.push_back({m});
      } else {
        same->push_back(m);
      }
    }
    std::ranges::stable_sort(found, std::ranges::greater(), &std::vector<size_t>::size);
    return found;
  }

  // All but the majority; all if there is none.
  [[nodiscard]] std::vector<int> minority(const Instance& instance) const {
    const Sides found = sides(instance);
    if (found.size() < 2) return {};
    const bool tie = found[0].size() == found[1].size();
    std::vector<int> odd;
    for (size_t s = tie ? 0 : 1; s < found.size(); ++s) {
      for (const size_t m : found[s]) odd.push_back(rank_of(instance.members[m].digest));
    }
    std::ranges::sort(odd);
    return odd;
  }

  [[nodiscard]] std::string sides_of(const Instance& instance) const {
    std::vector<std::string> words;
    for (const std::vector<size_t>& side : sides(instance)) {
      std::vector<int> ranks;
      for (const size_t m : side) ranks.push_back(rank_of(instance.members[m].digest));
      std::ranges::sort(ranks);
      words.push_back(
          fmt::format("{} {}", named(ranks), words_of(record_of(instance.members[side.front()]))));
    }
    return fmt::format("{}", fmt::join(words, "; "));
  }

  // --- a process is gone ---

  // Killed ranks that others wait for. Ranks that the launcher or a user killed afterwards are
  // excluded: of several killed ones only those that ended before all others count.
  bool find_dead() {
    std::vector<size_t> involved = blocked_;
    involved.insert(involved.end(), single_.begin(), single_.end());
    std::ranges::sort(involved);
    involved.erase(std::unique(involved.begin(), involved.end()), involved.end());
    std::vector<size_t> killed;
    for (const size_t d : involved) {
      if (was_killed(in_.traces[d]) && !was_terminated(in_.traces[d]) && !is_ours(d))
        killed.push_back(d);
    }
    std::vector<size_t> dead;
    for (const size_t d : single_) {
      const bool gone =
          std::ranges::count(killed, d) != 0 || (has_failed(in_.traces[d]) && !is_ours(d));
      if (gone && graph_.stuck_in[d].empty()) dead.push_back(d);
    }
    const bool only_these =
        std::ranges::all_of(killed, [&](size_t d) { return std::ranges::count(dead, d) != 0; });
    const bool failed_too = std::ranges::any_of(
        blocked_, [&](size_t d) { return has_failed(in_.traces[d]) && !is_ours(d); });
    if (!dead.empty() && (only_these && !failed_too ? true : others_went_on(dead, involved)))
      return decide_dead(dead);
    // Killed within the collective: the others never leave it.
    if (dead.empty() && killed.size() == 1 && involved.size() > 1 && single_.empty())
      return decide_dead(killed);
    return find_without_trace();
  }

  [[nodiscard]] bool is_ours(size_t d) const { return was_ended_for_hanging(in_.digests[d]); }

  // By their processes' ends, not their last events: a hung rank had its last event long before the
  // launcher killed it.
  [[nodiscard]] bool others_went_on(const std::vector<size_t>& dead,
                                    const std::vector<size_t>& involved) const {
    if (!in_.aligned) return false;
    TraceNs last_death{INT64_MIN};
    for (const size_t d : dead) last_death = std::max(last_death, in_.digests[d].last_sign);
    return std::ranges::all_of(involved, [&](size_t d) {
      return std::ranges::count(dead, d) != 0 || in_.digests[d].last_sign > last_death;
    });
  }

  bool decide_dead(const std::vector<size_t>& dead) {
    std::vector<size_t> culprits = dead;
    // Another rank that is stuck differs from an ordinary end only by the length of its wait.
    if (waited_long()) {
      for (const size_t d : single_) {
        if (std::ranges::count(culprits, d) == 0) culprits.push_back(d);
      }
    }
    const StuckCall* call = call_that_waits_for(culprits);
    const std::vector<int> gone = ranks_of(dead);
    decide("dead", ranks_of(culprits), call,
           fmt::format("{} for {}, whose process is gone", waiting_words(*call, culprits),
                       named(gone)));
    return true;
  }

  bool find_without_trace() {
    if (!single_.empty() || !waited_long()) return false;
    for (const StuckCall& call : graph_.calls) {
      if (call.no_data.empty() || !call.not_called.empty() || !call.queued.empty()) continue;
      if (call.instance &&
          in_.matching.groups[in_.matching.instances[*call.instance].group].members_inferred)
        continue;
      decide("dead", call.no_data, &call,
             fmt::format("all others are in {}; there is no trace of {}",
                         words_of_call(call, in_.matching), named(call.no_data)));
      return true;
    }
    return false;
  }

  // --- they wait for each other ---

  bool find_circle() {
    if (!waited_long()) return false;
    for (const std::vector<size_t>& sink : graph_.sinks) {
      if (sink.size() < 2) continue;
      std::map<size_t, std::vector<size_t>> by_call;  // which members are in which call
      for (const size_t d : sink) by_call[graph_.stuck_in[d].front()].push_back(d);
      const auto largest = std::ranges::max_element(
          by_call, {}, [](const auto& entry) { return entry.second.size(); });
      const auto as_large = std::ranges::count_if(by_call, [&](const auto& entry) {
        return entry.second.size() == largest->second.size();
      });
      std::vector<size_t> culprits;
      for (const auto& [call, ranks] : by_call) {
        if (as_large > 1 || call != largest->first)
          culprits.insert(culprits.end(), ranks.begin(), ranks.end());
      }
      for (const size_t d : single_) culprits.push_back(d);
      const bool one_group = is_one_group(by_call);
      decide(one_group ? "mismatch" : "deadlock", ranks_of(culprits), &graph_.calls[largest->first],
             fmt::format("{} wait for each other: {}", named(ranks_of(sink)), orders_of(by_call)));
      return true;
    }
    return false;
  }

  [[nodiscard]] bool is_one_group(const std::map<size_t, std::vector<size_t>>& by_call) const {
    std::vector<size_t> groups;
    for (const auto& [call, ranks] : by_call) {
      if (!graph_.calls[call].instance) return false;
      groups.push_back(in_.matching.instances[*graph_.calls[call].instance].group);
    }
    return std::ranges::adjacent_find(groups, std::ranges::not_equal_to()) == groups.end();
  }

  // The different orders: where some are, others have not arrived.
  [[nodiscard]] std::string orders_of(const std::map<size_t, std::vector<size_t>>& by_call) const {
    constexpr size_t kNamed = 6;
    std::vector<std::string> words;
    for (const auto& [c, ranks] : by_call) {
      if (words.size() == kNamed) break;
      const StuckCall& call = graph_.calls[c];
      std::vector<size_t> awaited = call.not_called;
      awaited.insert(awaited.end(), call.queued.begin(), call.queued.end());
      words.push_back(fmt::format("{} wait{} in {}, which {} {} not entered",
                                  named(ranks_of(ranks)), ranks.size() == 1 ? "s" : "",
                                  words_of_call(call, in_.matching), named(ranks_of(awaited)),
                                  awaited.size() == 1 ? "has" : "have"));
    }
    return fmt::format("{}", fmt::join(words, "; "));
  }

  // --- all others ---

  bool find_waiting() {
    if (!waited_long()) return false;
    if (single_.empty()) {
      // If other ranks have finished it and wait for none, only a trace ended there.
      const auto found =
          std::ranges::find_if(graph_.calls, [](const StuckCall& one) { return one.done.empty(); });
      if (found == graph_.calls.end()) return false;
      const StuckCall& call = *found;
      decide(
          "waiting", {}, &call,
          fmt::format(
              "all members are in {} and none makes progress: suspect the network, its transport or a GPU, not the program",
              words_of_call(call, in_.matching)));
      return true;
    }
    const StuckCall* call = call_that_waits_for(single_);
    const std::vector<int> culprits = ranks_of(single_);
    std::vector<size_t> absent;  // not in the call
    std::vector<size_t> still;   // stuck in a call themselves, or elsewhere
    for (const size_t d : single_) {
      const bool is_absent = std::ranges::count(call->not_called, d) != 0;
      if (is_absent) absent.push_back(d);
      if (!is_absent || !graph_.stuck_in[d].empty()) still.push_back(d);
    }
    std::string reason = waiting_words(*call, single_);
    if (!absent.empty())
      reason += fmt::format(" for {}, which never called it", named(ranks_of(absent)));
    if (!still.empty())
      reason += fmt::format("{} {}", absent.empty() ? " for" : ";", stuck_words(still));
    decide("waiting", culprits, call, std::move(reason));
    return true;
  }

  // Why these ranks are held up, beyond not having called the collective.
  [[nodiscard]] std::string stuck_words(const std::vector<size_t>& digests) const {
    std::vector<std::string> words;
    for (const size_t d : digests) {
      if (graph_.stuck_in[d].empty()) {
        const StuckCall* call = call_that_waits_for({d});
        words.push_back(fmt::format("rank {}, which never called {}", rank_of(d),
                                    words_of_call(*call, in_.matching)));
        continue;
      }
      const StuckCall& call = graph_.calls[graph_.stuck_in[d].front()];
      words.push_back(fmt::format(
          "rank {}, which makes no progress in {}{}", rank_of(d), words_of_call(call, in_.matching),
          call.done.empty()
              ? ", although it called it"
              : fmt::format(", although {} finished it", named(ranks_of(call.done)))));
    }
    return fmt::format("{}", fmt::join(words, " and "));
  }

  // "ranks 1, 3 wait in all_reduce #7 of pg (and in turn ranks 0, 2)": the ranks in the call, and
  // those that wait for them.
  [[nodiscard]] std::string waiting_words(const StuckCall& call,
                                          const std::vector<size_t>& culprits) const {
    std::vector<int> inside;
    std::vector<int> behind;
    for (const size_t d : blocked_) {
      if (std::ranges::count(culprits, d) != 0) continue;
      (std::ranges::count(call.inside, d) != 0 ? inside : behind).push_back(rank_of(d));
    }
    std::ranges::sort(inside);
    std::ranges::sort(behind);
    const std::string where = words_of_call(call, in_.matching);
    if (inside.empty())
      return fmt::format("{} wait{}", named(behind), behind.size() == 1 ? "s" : "");
    std::string words =
        fmt::format("{} wait{} in {}", named(inside), inside.size() == 1 ? "s" : "", where);
    if (!behind.empty()) words += fmt::format(" (and {} elsewhere)", named(behind));
    return words;
  }

  // The most telling call: one that a culprit has not called; else one where a culprit is queued;
  // else one that it is in.
  [[nodiscard]] const StuckCall* call_that_waits_for(const std::vector<size_t>& culprits) const {
    const auto has = [&](const std::vector<size_t>& members) {
      return std::ranges::any_of(members,
                                 [&](size_t d) { return std::ranges::count(culprits, d) != 0; });
    };
    const StuckCall* best = nullptr;
    int best_rank = 0;
    size_t best_place = SIZE_MAX;
    for (const StuckCall& call : graph_.calls) {
      int rank = has(call.not_called) ? 3 : has(call.queued) ? 2 : has(call.inside) ? 1 : 0;
      if (rank > 0 && call.instance) rank += 3;  // a collective shows more than a message
      const size_t place = call.instance ? *call.instance : SIZE_MAX - 1;
      if (best == nullptr || std::pair(-rank, place) < std::pair(-best_rank, best_place)) {
        best = &call;
        best_rank = rank;
        best_place = place;
      }
    }
    return best;
  }

  Hang finished() {
    if (call_->instance) {
      const Instance& instance = in_.matching.instances[*call_->instance];
      hang_.communicator = in_.matching.groups[instance.group].name;
      hang_.function = instance.function;
      hang_.sequence = instance.sequence;
    } else {
      const Message& message = in_.matching.messages[*call_->message];
      hang_.communicator = in_.matching.groups[message.group].name;
      hang_.function = message.send ? schema::Function::kSend : schema::Function::kRecv;
    }
    for (const size_t d : blocked_) {
      if (std::ranges::count(hang_.culprits, rank_of(d)) == 0) hang_.waiting.push_back(rank_of(d));
    }
    std::ranges::sort(hang_.waiting);
    add_places_to_reason();
    for (const int rank : hang_.culprits) add_rank(rank);
    for (const int rank : hang_.waiting) add_rank(rank);
    return std::move(hang_);
  }

  void add_places_to_reason() {
    constexpr size_t kMostListed = 2;
    size_t listed = 0;
    for (const int rank : hang_.culprits) {
      const std::optional<size_t> digest = progress_.digest_of(rank);
      if (!digest || listed == kMostListed) continue;
      const std::string place = stack_words(in_.digests[*digest].last_activity);
      if (place.empty()) continue;
      hang_.reason += fmt::format("; rank {} was in {}", rank, place);
      ++listed;
    }
  }

  void add_rank(int rank) {
    HungRank hung{.rank = rank, .state = {}, .last = {}, .since_ns = {}, .stack = {}};
    const std::optional<size_t> digest = progress_.digest_of(rank);
    if (!digest) {
      hung.state = word_of(MemberState::kNoData);
      hung.last = "left no trace";
      hang_.ranks.push_back(std::move(hung));
      return;
    }
    const auto& stuck_in = graph_.stuck_in[*digest];
    const StuckCall* own = stuck_in.empty() ? nullptr : &graph_.calls[stuck_in.front()];
    hung.state = word_of(state_towards_call(rank, own));
    hung.last = last_words_of(in_.digests[*digest], in_.traces[*digest], own, in_.matching);
    const std::string place = stack_words(in_.digests[*digest].last_activity);
    if (!place.empty() && hang_.reason.find(place) == std::string::npos)
      hung.last += "; was in " + place;
    hung.stack = in_.digests[*digest].last_activity.stack;
    if (!is_a_dump(in_.digests[*digest])) hung.since_ns = silence_of(in_.digests[*digest]);
    hang_.ranks.push_back(std::move(hung));
  }

  // In the hang's reported call, if the rank is a member; else in its own.
  [[nodiscard]] MemberState state_towards_call(int rank, const StuckCall* own) const {
    for (const StuckCall* call : {call_, own}) {
      if (call == nullptr) continue;
      if (call->instance) {
        const Instance& instance = in_.matching.instances[*call->instance];
        if (std::ranges::count(in_.matching.groups[instance.group].members, rank) != 0)
          return progress_.state_of(instance, rank);
      } else {
        const Message& message = in_.matching.messages[*call->message];
        if (message.from == rank || message.to == rank) return progress_.state_of(message, rank);
      }
    }
    return MemberState::kNotCalled;
  }

  const HangInput& in_;
  CollectiveProgress progress_;
  WaitGraph graph_;
  std::vector<size_t> blocked_;  // digests that are stuck in a call
  std::vector<size_t> single_;   // culprits outside of any circle
  Hang hang_;
  const StuckCall* call_ = nullptr;
  int64_t longest_wait_ns_ = 0;
  bool dumped_ = false;
  bool failed_ = false;  // a collective ended with an error on some rank
};

}  // namespace

int64_t long_wait_ns(std::optional<int64_t> median_step_ns) {
  return std::max(kLongWaitNs, kLongWaitSteps * median_step_ns.value_or(0));
}

std::optional<Hang> find_hang(const HangInput& input) { return HangFinder(input).run(); }

}  // namespace dprof::analyzer
