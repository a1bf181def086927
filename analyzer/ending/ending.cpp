// SPDX-License-Identifier: Apache-2.0
#include "analyzer/ending/ending.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstring>

#include "analyzer/hang/last_words.h"
#include "analyzer/match/resync.h"
#include "base/format.h"
#include "schema/function.h"
#include "schema/marker_names.h"
#include "schema/thread_exception.h"

namespace dprof::analyzer {
namespace {

using schema::Marker;

// The recorder notices an end 0.7 to 1.1 ms after it (docs/design/collector.md).
constexpr int64_t kNoticedWithinNs = 5'000'000;
// The errors of one time-out are recorded within this span: 1 to 18 ms in six hangs of 4 ranks on
// two busy cores (Gloo, 4 s). The shortest time-outs in use are a few seconds.
constexpr int64_t kTimedOutWithinNs = 1'000'000'000;
constexpr size_t kMostDecided = 5;
// At most this many in a job that never trained.
constexpr size_t kMostCollectives = 64;
constexpr size_t kMostPhases = 4;
constexpr int64_t kMostEvents = 100'000;
constexpr int kSignalBase = 128;  // a shell's code for signal N is 128 + N

std::optional<int64_t> number_behind(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string name_of_signal(int64_t signal) {
  const char* name = signal > 0 && signal < NSIG ? sigabbrev_np(static_cast<int>(signal)) : nullptr;
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

// Signals of a program's own fault, not those sent to end it.
bool is_crash(int64_t signal) {
  return signal == SIGSEGV || signal == SIGABRT || signal == SIGBUS || signal == SIGFPE ||
         signal == SIGILL || signal == SIGSYS || signal == SIGTRAP;
}
bool asks_to_end(int64_t signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGXCPU ||
         signal == SIGUSR1 || signal == SIGUSR2;
}

// Also from the exit code of a shell or launcher.
std::optional<int64_t> signal_of(const EndedRank& rank) {
  if (rank.signal) return rank.signal;
  if (rank.code && *rank.code > kSignalBase && *rank.code < kSignalBase + NSIG)
    return *rank.code - kSignalBase;
  return std::nullopt;
}

std::string ranks_words(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", words_of_ranks(ranks));
}

// The exception's type and the first line of its message, shortened.
std::string exception_words(const EndedRank& rank) {
  constexpr size_t kMostBytes = 160;
  std::string words = rank.exception.substr(0, rank.exception.find('\n'));
  if (words.size() <= kMostBytes) return words;
  size_t end = kMostBytes;
  while (end > 0 && (static_cast<unsigned char>(words[end]) & 0xc0) == 0x80) --end;  // UTF-8
  return words.substr(0, end) + "…";
}

// Out-of-memory messages of allocators: Python's, LibTorch's for CPU and CUDA, C++'s.
bool is_out_of_memory(std::string_view exception) {
  constexpr std::string_view kTypes[] = {"MemoryError", "OutOfMemoryError", "std::bad_alloc"};
  constexpr std::string_view kTexts[] = {"out of memory", "can't allocate memory",
                                         "Cannot allocate memory"};
  const std::string_view type = exception.substr(0, exception.find(": "));
  return std::ranges::any_of(kTypes, [&](auto name) { return type.ends_with(name); }) ||
         std::ranges::any_of(kTexts,
                             [&](auto text) { return exception.find(text) < exception.npos; });
}

// Messages of c10d and Gloo for the end of a peer.
bool reports_a_lost_peer(std::string_view exception) {
  constexpr std::string_view kTexts[] = {"closed by peer", "reset by peer", "Broken pipe",
                                         "Timed out waiting", "DistNetworkError"};
  return std::ranges::any_of(kTexts,
                             [&](auto text) { return exception.find(text) < exception.npos; });
}

// It failed because a peer was gone: its collective failed, or its connection was closed.
bool follows_a_peer(const EndedRank& rank) {
  return !rank.message.empty() || reports_a_lost_peer(rank.exception) || signal_of(rank) == SIGPIPE;
}

// An exception had left its main thread when SIGTERM killed it: the signal raises none where it
// kills, so the process was already ending, however slowly.
bool was_ending(const EndedRank& rank) {
  constexpr std::string_view kNotItsEnd[] = {schema::kEndedItsThread, "SIGTERM", "SignalException",
                                             "KeyboardInterrupt"};
  return rank.signal == SIGTERM && !rank.exception.empty() && !follows_a_peer(rank) &&
         std::ranges::none_of(
             kNotItsEnd, [&](auto text) { return rank.exception.find(text) < std::string::npos; });
}

// The rank itself waited for others, for a key in c10d's store, until a time-out.
bool waited_in_store(const EndedRank& rank) {
  const auto names_time_out = [](std::string_view text) {
    return text.find("wait timeout after") < text.npos;
  };
  return names_time_out(rank.exception) || std::ranges::any_of(rank.output, names_time_out);
}

// ProcessGroupNCCL's watchdog ends a process whose collective does not finish in time.
constexpr std::string_view kWatchdog = "Watchdog caught collective operation timeout";

// The message from these words on; "" = none.
std::string_view watchdog_words(const EndedRank& rank) {
  const auto said = [](std::string_view text) {
    const size_t at = text.find(kWatchdog);
    return at == text.npos ? std::string_view() : text.substr(at, text.find('\n', at) - at);
  };
  if (const std::string_view words = said(rank.exception); !words.empty()) return words;
  for (const std::string& line : rank.output) {
    if (const std::string_view words = said(line); !words.empty()) return words;
  }
  return {};
}

// Without the directories of its file.
std::string_view short_frame(std::string_view frame) {
  const size_t slash = frame.rfind('/', frame.rfind(':'));
  return slash == std::string_view::npos ? frame : frame.substr(slash + 1);
}

// Functions that write checkpoints: torch.save, and torch.distributed.checkpoint.
bool saves(const StackFrame& frame) {
  return (frame.file.ends_with("torch/serialization.py") && frame.function.ends_with("save")) ||
         frame.file.find("torch/distributed/checkpoint/") < frame.file.npos;
}

const RankDigest* digest_of(std::span<const RankDigest> digests, int rank) {
  const auto found = std::ranges::find(digests, rank, &RankDigest::rank);
  return found != digests.end() ? &*found : nullptr;
}

// The rank was writing a checkpoint at its last sign of life: by its open ranges, or its stack.
bool was_saving(std::span<const RankDigest> digests, int rank) {
  const RankDigest* digest = digest_of(digests, rank);
  if (digest == nullptr) return false;
  const LastActivity& last = digest->last_activity;
  return std::ranges::any_of(last.open,
                             [](const LastRange& range) {
                               return schema::marker_of(range.name) == Marker::kCheckpoint;
                             }) ||
         std::ranges::any_of(last.stack, saves);
}

class EndFinder {
 public:
  explicit EndFinder(const EndingInput& input) : in_(input) {}

  std::optional<Ending> run() {
    const bool known = std::ranges::any_of(
        in_.digests, [](const RankDigest& digest) { return digest.recorder_cpu_ns.has_value(); });
    if (!known && in_.hang == nullptr) return std::nullopt;
    for (size_t d = 0; d < in_.digests.size(); ++d) ending_.ranks.push_back(end_of(d));
    decide();
    for (EndedRank& rank : ending_.ranks)
      rank.first = std::ranges::count(ending_.verdict.ranks, rank.rank) != 0;
    return std::move(ending_);
  }

 private:
  EndedRank end_of(size_t d) const {
    const TraceFile& trace = in_.traces[d];
    const RankDigest& digest = in_.digests[d];
    EndedRank rank{.rank = digest.rank};
    rank.code = number_behind(trace.exit_status, "exit:");
    rank.signal = number_behind(trace.exit_status, "signal:");
    // It was exiting with that code when it was killed; or only the process knows its code.
    const bool asked = rank.signal && asks_to_end(*rank.signal);
    if (trace.exit_declared && (asked || trace.exit_status.empty())) {
      rank.code = *trace.exit_declared;
      rank.signal.reset();
    }
    rank.how = rank.code                         ? "exit"
               : rank.signal                     ? "signal"
               : trace.ended == "process_killed" ? "killed"
               : trace.ended == "complete"       ? "complete"
                                                 : "running";
    if (in_.aligned && rank.how != "running") rank.time_ns = digest.last_sign.ns;
    rank.doing = doing_of(digest, in_.matching, d);
    for (const Diagnostic& remark : digest.remarks) {
      if (remark.code == "collective_failed") rank.message = remark.text;
    }
    take_exception(trace.exception, rank);
    for (size_t at = 0; at < trace.output.size();) {
      const size_t end = std::min(trace.output.find('\n', at), trace.output.size());
      rank.output.push_back(trace.output.substr(at, end - at));
      at = end + 1;
    }
    return rank;
  }

  // Message and frames; the frames are lines with a leading tab.
  static void take_exception(std::string_view text, EndedRank& rank) {
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line.starts_with('\t')) {
        rank.frames.emplace_back(line.substr(1));
      } else {
        rank.exception += fmt::format("{}{}", rank.exception.empty() ? "" : "\n", line);
      }
    }
  }

  [[nodiscard]] const EndedRank* find(int rank) const {
    const auto found = std::ranges::lower_bound(ending_.ranks, rank, {}, &EndedRank::rank);
    return found != ending_.ranks.end() && found->rank == rank ? &*found : nullptr;
  }

  void decide() {
    if (in_.hang != nullptr) {
      decide_by_hang(*in_.hang);
    } else if (!decide_by_divergence() && !decide_by_watchdog()) {
      decide_by_first_failure();
    }
    EndVerdict& verdict = ending_.verdict;
    std::ranges::sort(verdict.ranks);
    if (verdict.kind == "ok") return;
    for (const int number : verdict.ranks) {
      if (verdict.decided_by.size() < kMostDecided) add_words_of(number);
    }
    for (const EndedRank& rank : ending_.ranks) {
      if (std::ranges::count(verdict.ranks, rank.rank) == 0 && has_failed(rank) &&
          verdict.decided_by.size() < kMostDecided)
        add_words_of(rank.rank);
    }
  }

  void add_words_of(int number) {
    const EndedRank* rank = find(number);
    if (rank == nullptr) return;
    std::string words = fmt::format("rank {}: {}", number, words_of_end(*rank));
    if (!rank->exception.empty()) words += fmt::format("; {}", exception_words(*rank));
    if (rank->exception.empty() && !rank->output.empty())
      words += fmt::format("; its last line: {}", rank->output.back());
    if (!rank->frames.empty())
      words += fmt::format("; in {}", fmt::join(rank->frames, ", called from "));
    if (!rank->doing.empty()) words += fmt::format("; it was {}", fmt::join(rank->doing, ", "));
    if (!rank->message.empty()) words += fmt::format("; its collective failed: {}", rank->message);
    ending_.verdict.decided_by.push_back(std::move(words));
  }

  void say(std::string kind, std::vector<int> ranks, double confidence, std::string title) {
    EndVerdict& verdict = ending_.verdict;
    verdict.kind = std::move(kind);
    verdict.ranks = std::move(ranks);
    verdict.confidence = confidence;
    verdict.title = std::move(title);
  }

  // --- ranks waited for another one ---

  void decide_by_hang(const Hang& hang) {
    const std::string call = words_of_call(hang);
    if (hang.state == "mismatch") {
      // Without a majority, naming the sides is clearer than naming the ranks of one.
      const bool tie = hang.culprits.size() >= ending_.ranks.size();
      say("desync", hang.culprits, 0.9,
          tie ? hang.reason
              : fmt::format("{} called a different collective from the others at {}",
                            ranks_words(hang.culprits), call));
    } else if (hang.state == "deadlock") {
      say("desync", hang.culprits, 0.9,
          fmt::format(
              "{} called the collectives of several groups in a different order, and wait for "
              "each other in {}",
              ranks_words(hang.culprits), call));
    } else if (hang.culprits.empty()) {
      say("network_stall", {}, 0.7,
          fmt::format("all ranks entered {} and none finished it{}", call, waited(hang)));
    } else if (std::ranges::all_of(hang.culprits, [&](int number) {
                 const EndedRank* rank = find(number);
                 return rank != nullptr && waited_in_store(*rank);
               })) {
      say("desync", hang.culprits, 0.8,
          fmt::format("{} waited for the others in c10d's store, while {} waited for {} in {}",
                      ranks_words(hang.culprits), ranks_words(hang.waiting),
                      hang.culprits.size() == 1 ? "it" : "them", call));
    } else if (const std::vector<int> gone = ended_by_themselves(hang); !gone.empty()) {
      decide_by_gone(hang, gone, call);
    } else if (std::ranges::none_of(hang.culprits, [&](int rank) { return find(rank); })) {
      say("lost_peer", hang.culprits, 0.8,
          fmt::format("{} left no trace; {} waited in {}", ranks_words(hang.culprits),
                      ranks_words(hang.waiting), call));
    } else if (const std::string closed = closed_words(hang); !closed.empty()) {
      say("early_exit", hang.culprits, 0.6,
          fmt::format("{} left: {} still expected {} in {}, whose connection closed",
                      ranks_words(hang.culprits), ranks_words(hang.waiting),
                      hang.culprits.size() == 1 ? "it" : "them", call));
      ending_.verdict.decided_by.push_back(closed);
    } else {
      const bool stalled = std::ranges::all_of(
          hang.culprits, [&](int rank) { return was_saving(in_.digests, rank); });
      say(stalled ? "storage_stall" : "hang", hang.culprits, 0.9, title_of_hang(hang, call));
    }
    ending_.verdict.decided_by.push_back(hang.reason);
  }

  std::string title_of_hang(const Hang& hang, const std::string& call) const {
    const EndedRank* first = find(hang.culprits.front());
    const std::string place =
        first->doing.empty() ? std::string() : fmt::format(" {}", first->doing.front());
    return fmt::format("{} hung{}: {} waited for {} in {}{}", ranks_words(hang.culprits), place,
                       ranks_words(hang.waiting), hang.culprits.size() == 1 ? "it" : "them", call,
                       waited(hang));
  }

  // A hung process keeps its connections. One that closed them was already exiting when the
  // launcher's SIGTERM came; its code is unknown. The first error counts, but a rank that times out
  // closes its connections before its error is recorded, so a peer's error can be the earlier one.
  // "" = not shown.
  [[nodiscard]] std::string closed_words(const Hang& hang) const {
    const EndedRank* first = nullptr;
    std::optional<TraceNs> failed;
    std::optional<TraceNs> timed_out;
    for (size_t d = 0; d < in_.digests.size(); ++d) {
      if (std::ranges::count(hang.waiting, in_.digests[d].rank) == 0) continue;
      const EndedRank& rank = ending_.ranks[d];
      for (const CollectiveRecord& record : in_.digests[d].collectives) {
        if (!record.failed) continue;
        if (rank.message.find("Timed out") != std::string::npos)
          timed_out = std::min(timed_out.value_or(*record.failed), *record.failed);
        if (failed && *failed <= *record.failed) continue;
        failed = record.failed;
        first = &rank;
      }
    }
    for (const int number : hang.waiting) {
      const EndedRank* rank = find(number);
      if (rank != nullptr && signal_of(*rank) == SIGPIPE)
        return fmt::format("rank {} did not time out: a peer had closed its connection (SIGPIPE)",
                           number);
    }
    if (first == nullptr) return {};
    if (timed_out && (*timed_out - *failed).ns < kTimedOutWithinNs) return {};
    for (const std::string_view said : {"closed by peer", "reset by peer"}) {
      if (first->message.find(said) != std::string::npos)
        return fmt::format("rank {} did not time out: its connection was {}", first->rank, said);
    }
    return {};
  }

  // " for 5.0 s, until it timed out".
  std::string waited(const Hang& hang) const {
    std::optional<int64_t> longest;
    bool failed = false;
    for (size_t d = 0; d < in_.digests.size(); ++d) {
      if (std::ranges::count(hang.waiting, in_.digests[d].rank) == 0) continue;
      for (const CollectiveRecord& record : in_.digests[d].collectives) {
        if (!was_waited_in(record)) continue;
        failed = failed || record.failed.has_value();
        const TraceNs until = record.failed.value_or(in_.digests[d].last_sign);
        longest = std::max(longest.value_or(0), (until - *record.arrival()).ns);
      }
    }
    // An imported file can end at the begin of the call: then the wait is unknown.
    if (!longest || *longest <= 0) return {};
    return fmt::format(" for {}{}", format_duration({*longest}), failed ? ", until it failed" : "");
  }

  // Then its end is that of the file: whether and how its process ended is unknown.
  [[nodiscard]] bool is_imported(int number) const {
    return std::ranges::any_of(in_.traces, [&](const TraceFile& trace) {
      return trace.rank == number && !trace.imported_format.empty();
    });
  }

  // Culprits whose process ended before those that waited: not ended by the launcher.
  [[nodiscard]] std::vector<int> ended_by_themselves(const Hang& hang) const {
    std::vector<int> gone;
    for (const int number : hang.culprits) {
      const EndedRank* rank = find(number);
      if (rank == nullptr || rank->how == "running" || was_ended_by_dprof(number)) continue;
      if (rank->how == "complete" && is_imported(number)) continue;
      if (was_ending(*rank)) {
        gone.push_back(number);
        continue;
      }
      // The launcher's, after others had failed; the sender of an earlier signal is unknown.
      if (signal_of(*rank) && asks_to_end(*signal_of(*rank)) &&
          (!ended_before(*rank, hang, false) || hung_before_its_end(*rank, hang)))
        continue;
      if (rank->signal == SIGKILL && hang.state != "dead" && !ended_before(*rank, hang, true))
        continue;  // after the launcher's grace period
      gone.push_back(number);
    }
    // The rank whose connection a crash closed also dies before the others time out.
    const auto follows = [&](int number) { return follows_a_peer(*find(number)); };
    if (!std::ranges::all_of(gone, follows)) std::erase_if(gone, follows);
    return gone;
  }

  // Ctrl-C ends all ranks of a hung job, one some milliseconds before the others. A signal to one
  // rank alone does not end the job: that rank's own end takes a second on a busy machine.
  [[nodiscard]] bool hung_before_its_end(const EndedRank& rank, const Hang& hang) const {
    const auto asked_as_well = [&](int waiting) {
      const EndedRank* other = find(waiting);
      return other != nullptr &&
             (signal_of(*other) == signal_of(rank) ||
              (signal_of(rank) == SIGINT && other->exception.starts_with("KeyboardInterrupt")));
    };
    if (!rank.time_ns || std::ranges::none_of(hang.waiting, asked_as_well)) return false;
    const TraceNs end{*rank.time_ns};
    const auto waited_long = [&](const CollectiveRecord& record) {
      if (!was_waited_in(record)) return false;
      const TraceNs until = std::min(record.failed.value_or(end), end);
      return (until - *record.arrival()).ns >= long_wait_ns(in_.median_step_ns);
    };
    return std::ranges::any_of(in_.digests, [&](const RankDigest& digest) {
      return std::ranges::count(hang.waiting, digest.rank) != 0 &&
             std::ranges::any_of(digest.collectives, waited_long);
    });
  }

  // Called, but not finished.
  [[nodiscard]] static bool was_waited_in(const CollectiveRecord& record) {
    return !record.end && record.arrival() &&
           (record.state == schema::CollectiveState::kEnqueued ||
            record.state == schema::CollectiveState::kRunning ||
            record.state == schema::CollectiveState::kFailed);
  }

  [[nodiscard]] bool was_ended_by_dprof(int number) const {
    const RankDigest* digest = digest_of(in_.digests, number);
    return digest != nullptr && was_ended_for_hanging(*digest);
  }

  // Its process ended before those that waited. `unknown`: the result if a time is unknown.
  [[nodiscard]] bool ended_before(const EndedRank& rank, const Hang& hang, bool unknown) const {
    return std::ranges::all_of(hang.waiting, [&](int other) {
      const EndedRank* waiting = find(other);
      if (waiting == nullptr || !waiting->time_ns || !rank.time_ns) return unknown;
      return *rank.time_ns + margin() < *waiting->time_ns;
    });
  }

  void decide_by_gone(const Hang& hang, const std::vector<int>& gone, const std::string& call) {
    const EndedRank& first = *find(gone.front());
    if (!has_failed(first)) {
      say("early_exit", gone, 0.9,
          fmt::format("{} ended early, with exit code 0: {} still expected {} in {}",
                      ranks_words(gone), ranks_words(hang.waiting),
                      gone.size() == 1 ? "it" : "them", call));
      return;
    }
    decide_by_end(gone, fmt::format("; {} waited for {} in {}", ranks_words(hang.waiting),
                                    gone.size() == 1 ? "it" : "them", call));
  }

  // --- the ranks diverged, and an error ended them ---

  bool decide_by_divergence() {
    if (in_.matching.divergences.empty() || std::ranges::none_of(ending_.ranks, has_failed))
      return false;
    const Divergence& parted = in_.matching.divergences.front();
    std::vector<int> odd;
    std::string words;
    for (size_t s = 0; s < parted.sides.size(); ++s) {
      const Divergence::Side& side = parted.sides[s];
      if (s > 0 || parted.tie) odd.insert(odd.end(), side.ranks.begin(), side.ranks.end());
      words += fmt::format("{}{} {}", words.empty() ? "" : ", ", ranks_words(side.ranks),
                           side.next.empty() ? "nothing more" : side.next.front());
    }
    say("desync", odd, 0.8,
        fmt::format("the ranks called different collectives from #{} of {} on: {}", parted.sequence,
                    schema::group_in_text(in_.matching.groups[parted.group].name), words));
    return true;
  }

  // --- NCCL's watchdog ended them, and no awaited rank is known ---

  bool decide_by_watchdog() {
    std::vector<int> ended;
    std::string_view words;
    bool all_came = true;
    for (size_t d = 0; d < ending_.ranks.size(); ++d) {
      const std::string_view said = watchdog_words(ending_.ranks[d]);
      if (said.empty() || !has_failed(ending_.ranks[d])) continue;
      ended.push_back(ending_.ranks[d].rank);
      words = said;
      all_came = all_came && all_came_to_last_of(d);
    }
    if (ended.empty()) return false;
    if (all_came) {
      say("network_stall", {}, 0.6,
          fmt::format("every rank called the last collective of {}, and NCCL's watchdog gave it up",
                      ranks_words(ended)));
    } else {
      say("hang", {}, 0.5,
          fmt::format("NCCL's watchdog ended {}; which rank it waited for was not recorded",
                      ranks_words(ended)));
    }
    ending_.verdict.decided_by.emplace_back(words);
    return true;
  }

  [[nodiscard]] bool all_came_to_last_of(size_t d) const {
    const auto& instances = in_.matching.instance_of[d];
    const auto last = std::ranges::find_if(instances.rbegin(), instances.rend(),
                                           [](size_t i) { return i != kNoInstance; });
    if (last == instances.rend()) return false;
    const MatchState state = in_.matching.instances[*last].state;
    return state == MatchState::kMatched || state == MatchState::kInFlight;
  }

  // --- processes that failed ---

  [[nodiscard]] int64_t margin() const { return in_.clock_bound_ns + kNoticedWithinNs; }

  void decide_by_first_failure() {
    std::vector<const EndedRank*> failed;
    for (const EndedRank& rank : ending_.ranks) {
      if (has_failed(rank)) failed.push_back(&rank);
    }
    if (failed.empty()) return say("ok", {}, confidence_of_ok(), {});
    // Ranks asked to end follow others; ranks with a failed collective follow their peer.
    const auto asked = [](const EndedRank* rank) {
      const auto signal = signal_of(*rank);
      return signal && asks_to_end(*signal) && !was_ending(*rank);
    };
    if (!std::ranges::all_of(failed, asked)) std::erase_if(failed, asked);
    const auto follows = [](const EndedRank* rank) { return follows_a_peer(*rank); };
    if (!std::ranges::all_of(failed, follows)) std::erase_if(failed, follows);
    std::vector<int> first;
    if (std::ranges::all_of(failed, [](const EndedRank* r) { return r->time_ns.has_value(); })) {
      const int64_t earliest = (*std::ranges::min_element(failed, {}, [](const EndedRank* r) {
                                 return *r->time_ns;
                               }))->time_ns.value();
      std::erase_if(failed, [&](const EndedRank* r) { return *r->time_ns > earliest + margin(); });
    }
    for (const EndedRank* rank : failed) first.push_back(rank->rank);
    decide_by_end(first, {});
  }

  [[nodiscard]] double confidence_of_ok() const {
    const bool sure = std::ranges::all_of(
        ending_.ranks, [](const EndedRank& rank) { return rank.code.has_value(); });
    return sure ? 1 : 0.7;
  }

  [[nodiscard]] bool anybody_trained() const {
    return std::ranges::any_of(in_.digests, [](const RankDigest& d) { return !never_trained(d); });
  }

  // From how the first of them ended.
  void decide_by_end(const std::vector<int>& ranks, const std::string& victims) {
    const EndedRank& first = *find(ranks.front());
    const std::string who = ranks_words(ranks);
    const std::string place =
        first.doing.empty() ? std::string() : fmt::format(" {}", first.doing.front());
    const std::optional<int64_t> signal = signal_of(first);
    const bool was_asked = signal && *signal != SIGKILL && !is_crash(*signal) && !was_ending(first);
    if (!first.exception.empty() && !was_asked && signal != SIGKILL) {
      decide_by_exception(ranks, place, victims);
    } else if (signal && is_crash(*signal)) {
      say("crash", ranks, 0.95,
          fmt::format("{} crashed ({}){}{}", who, name_of_signal(*signal), place, victims));
    } else if (signal == SIGKILL) {
      const bool memory = ran_out_of_memory(ranks);
      say(memory ? "out_of_memory" : "killed", ranks, 0.9,
          memory
              ? fmt::format("{} ran out of memory: the kernel killed it{}{}", who, place, victims)
              : fmt::format("{} was killed (SIGKILL){}{}", who, place, victims));
    } else if (signal) {
      say("killed", ranks, 0.8,
          fmt::format("the job was stopped from outside: {} received {}{}", who,
                      name_of_signal(*signal), place));
    } else if (first.how == "killed") {
      say("killed", ranks, 0.6,
          fmt::format("{} was killed by an unknown signal{}{}", who, place, victims));
    } else if (!anybody_trained()) {
      say("startup_failure", ranks, 0.9,
          fmt::format("the job failed before its first step: {} ended with exit code {}{}", who,
                      first.code.value_or(0), place));
    } else {
      say("exception", ranks, 0.9,
          fmt::format("{} failed with exit code {}{}{}", who, first.code.value_or(0), place,
                      victims));
    }
  }

  // From the exception of the first of them.
  void decide_by_exception(const std::vector<int>& ranks, const std::string& place,
                           const std::string& victims) {
    const EndedRank& first = *find(ranks.front());
    const std::string who = ranks_words(ranks);
    const std::string raised = exception_words(first);
    const std::string where = first.frames.empty()
                                  ? std::string()
                                  : fmt::format(" ({})", short_frame(first.frames.front()));
    if (is_out_of_memory(first.exception)) {
      say("out_of_memory", ranks, 0.95,
          fmt::format("{} ran out of memory{}{}{}", who, where, place, victims));
    } else if (!anybody_trained()) {
      say("startup_failure", ranks, 0.95,
          fmt::format("the job failed before its first step: {} raised {}{}{}", who, raised, where,
                      place));
    } else {
      say("exception", ranks, 0.95,
          fmt::format("{} raised {}{}{}{}", who, raised, where, place, victims));
    }
  }

  // The job's cgroup counted a kill during the recording, in any trace of a host of these ranks:
  // the lowest rank's trace has the samples of the host's sampler.
  [[nodiscard]] bool ran_out_of_memory(const std::vector<int>& ranks) const {
    for (size_t d = 0; d < in_.digests.size(); ++d) {
      if (std::ranges::count(ranks, in_.digests[d].rank) == 0) continue;
      for (size_t other = 0; other < in_.digests.size(); ++other) {
        if (in_.traces[other].host == in_.traces[d].host && in_.digests[other].system.oom_kills > 0)
          return true;
      }
    }
    return false;
  }

  const EndingInput& in_;
  Ending ending_;
};

}  // namespace

bool has_failed(const EndedRank& rank) {
  return (rank.code && *rank.code != 0) || rank.signal || rank.how == "killed";
}

std::string words_of_end(const EndedRank& rank) {
  if (const auto signal = signal_of(rank)) return name_of_signal(*signal);
  if (rank.code) return fmt::format("exit code {}", *rank.code);
  if (rank.how == "killed") return "killed for an unknown reason";
  if (rank.how == "running") return "still running when the recording ended";
  return "a clean end";
}

bool never_trained(const RankDigest& digest) {
  const auto updates = std::ranges::count(digest.phases, Marker::kOptimizer, &PhaseRange::marker);
  return updates == 0 && digest.steps.size() <= 1 && digest.phases.size() <= kMostPhases &&
         digest.collectives.size() <= kMostCollectives && digest.events <= kMostEvents &&
         digest.gpu.empty();
}

bool met_anybody(const RankDigest& digest) {
  return !digest.collectives.empty() || !digest.communicators.empty();
}

std::optional<Ending> ending_of(const EndingInput& input) { return EndFinder(input).run(); }

}  // namespace dprof::analyzer
