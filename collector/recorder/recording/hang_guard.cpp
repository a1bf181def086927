// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <utility>

#include "base/format.h"
#include "base/time.h"
#include "collector/recorder/recording/hang_guard_internal.h"
#include "collector/recorder/system/proc_files.h"
#include "collector/recorder/system/proc_text.h"
#include "collector/wire/hello.h"
#include "schema/stack_words.h"

namespace dprof::recorder {
namespace {

constexpr int64_t kLookNs = kNsPerSecond / 5;
constexpr int kMostReportedHangs = 16;
constexpr size_t kMostSuspects = 4;

std::optional<int64_t> ns_of(const std::optional<std::chrono::seconds>& time) {
  return time ? std::optional(std::chrono::nanoseconds(*time).count()) : std::nullopt;
}

bool is_stopped(int pid) {
  FileText file;
  const std::optional<ProcessStat> stat =
      parse_process_stat(file.read(fmt::format("/proc/{}/stat", pid)));
  return stat && (stat->state == 'T' || stat->state == 't');
}

std::string words_of_main_thread(const std::vector<TakenFrame>& frames, int pid) {
  std::vector<schema::StackPlace> places;
  for (const TakenFrame& frame : frames) {
    if (frame.os_tid == pid) places.push_back({frame.kind, frame.function, frame.file, frame.line});
  }
  return schema::words_of_stack(places);
}

}  // namespace

HangGuard::HangGuard(const HangOptions& options, const RunClock& clock, Recording& recording,
                     std::function<void(const std::string&)> say)
    : options_(options),
      clock_(clock),
      recording_(recording),
      say_(std::move(say)),
      watch_(ns_of(options.after)) {}

void HangGuard::look() {
  const int64_t now_ns = clock_.now().ns;
  if (taker_) receive_stacks();
  enforce(now_ns);
  if (now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + kLookNs;
  const std::vector<WatchedRank> ranks = recording_.watched();
  switch (watch_.look(now_ns, ranks)) {
    case JobWatch::News::kHangs:
      recording_.ask_for_unfinished();
      on_hang(ranks);
      break;
    case JobWatch::News::kGoesOn:
      say_(fmt::format("the job continues; the hang lasted {}",
                       format_duration({watch_.lasted_ns()})));
      break;
    case JobWatch::News::kNone:
      break;
  }
  // Silent ranks have nothing to write; the clock's samples show how long they hang.
  if (!watch_.hangs() || now_ns < next_commit_ns_) return;
  next_commit_ns_ = now_ns + kNsPerSecond;
  recording_.commit_soon();
}

void HangGuard::on_hang(const std::vector<WatchedRank>& ranks) {
  if (++reported_ > kMostReportedHangs) return;
  report_hang(ranks);
  if (options_.mode != OnHang::kReport && !taker_) start_taking(ranks);
}

void HangGuard::report_hang(const std::vector<WatchedRank>& ranks) {
  const JobHang& hang = watch_.hang();
  std::string text =
      fmt::format("the job hangs: no step or collective has completed for {}; {}",
                  format_duration({clock_.now().ns - hang.since_ns}), words_of(hang));
  recording_.note_in_traces("hang", text);
  recording_.diagnostics().push_back({"hang", text});
  size_t named = 0;
  for (const WatchedRank& rank : ranks) {
    const bool wanted = std::ranges::count(hang.suspects, rank.rank) != 0 || is_stopped(rank.pid);
    if (!wanted || named++ >= kMostSuspects) continue;
    text += "\n  " + signs_of(rank);
  }
  say_(text);
}

// "rank 1: nothing recorded for 5.2 s; its process is stopped".
std::string HangGuard::signs_of(const WatchedRank& rank) const {
  std::string words = fmt::format(
      "rank {}: process {}, {} steps completed, nothing recorded for {}", rank.rank, rank.pid,
      rank.far.steps, format_duration({clock_.now().ns - rank.far.last_record_ns}));
  if (is_stopped(rank.pid)) words += "; it is stopped (SIGSTOP, or a debugger)";
  return words;
}

void HangGuard::start_taking(const std::vector<WatchedRank>& ranks) {
  subjects_ = ranks;
  std::stable_partition(subjects_.begin(), subjects_.end(), [&](const WatchedRank& rank) {
    return std::ranges::count(watch_.hang().suspects, rank.rank) != 0;
  });
  std::vector<StackSubject> subjects;
  for (const WatchedRank& rank : subjects_) {
    char path[PATH_MAX];
    wire::write_stacks_path(path, sizeof path, options_.python_files.c_str(), rank.own_pid,
                            rank.first_event_ticks);
    subjects.push_back({rank.pid, path});
  }
  taker_.emplace(std::move(subjects), clock_.now().ns);
}

void HangGuard::receive_stacks() {
  if (!taker_->receive()) return;
  for (const WatchedRank& rank : subjects_) {
    std::vector<Measured> measured(taker_->frames(rank.pid).begin(),
                                   taker_->frames(rank.pid).end());
    if (const std::string& problem = taker_->problem(rank.pid); !problem.empty())
      measured.emplace_back(RecorderDiagnostic{"no_stacks", 1, problem});
    recording_.add(rank.pid, std::move(measured));
  }
  report_stacks();
  taker_.reset();
  if (options_.mode == OnHang::kKill) ask_to_end();
}

// Of the suspects; without suspects, of the first ranks.
void HangGuard::report_stacks() {
  const std::vector<int>& suspects = watch_.hang().suspects;
  std::string text = "stacks of all threads are in the traces (`dprof report`)";
  size_t named = 0;
  for (const WatchedRank& rank : subjects_) {
    const bool wanted = suspects.empty() || std::ranges::count(suspects, rank.rank) != 0;
    if (!wanted || named++ >= kMostSuspects) continue;
    const std::string& problem = taker_->problem(rank.pid);
    const std::string place = words_of_main_thread(taker_->frames(rank.pid), rank.pid);
    if (!place.empty()) text += fmt::format("\n  rank {} is in {}", rank.rank, place);
    if (!problem.empty())
      text += fmt::format("\n  rank {}: not all stacks: {}", rank.rank, problem);
  }
  say_(text);
}

void HangGuard::ask_to_end() {
  if (!watch_.hangs()) return;  // it went on meanwhile
  if (watch_.hang().waiting.empty()) {
    say_("no rank waits in a collective, so this may not be a hang; the ranks are left alone");
    return;
  }
  const std::string text =
      fmt::format("killing {} ranks because the job hangs (--on-hang kill)", subjects_.size());
  say_(text);
  recording_.diagnostics().push_back({"hang_killed", text});
  recording_.note_in_traces("hang_killed", text);
  for (const WatchedRank& rank : subjects_) recording_.send_signal(rank.pid, SIGTERM);
  kill_at_ns_ = clock_.now().ns + std::chrono::nanoseconds(options_.grace).count();
}

void HangGuard::enforce(int64_t now_ns) {
  if (!kill_at_ns_ || now_ns < *kill_at_ns_) return;
  kill_at_ns_.reset();
  for (const WatchedRank& rank : subjects_) recording_.send_signal(rank.pid, SIGKILL);
}

}  // namespace dprof::recorder
