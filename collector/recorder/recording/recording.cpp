// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

#include "collector/recorder/common/secrets.h"
#include "collector/recorder/common/text.h"
#include "collector/recorder/ranks/process_end.h"
#include "collector/recorder/recording/recording_internal.h"
#include "collector/wire/hello.h"
#include "schema/diagnostics.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxAncestors = 16;
constexpr int64_t kMaxRemarks = 16;  // of one code; the rest is counted
constexpr size_t kMaxMissing = 64;   // ranks that are named
// Sessions of dead processes that wait for room: some 100 KiB each.
constexpr size_t kMostUnfinished = 1024;

// Parent of a process, 0 when it cannot be read.
int parent_pid(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  // "pid (name) state ppid …": the name may hold anything, a parenthesis too.
  const size_t end_of_name = text.rfind(')');
  if (end_of_name == std::string::npos || end_of_name + 4 >= text.size()) return 0;
  return std::atoi(text.c_str() + end_of_name + 4);
}

void remove_trace(const fs::path& file) {
  std::error_code error;
  for (const char* rest : {"", "-wal", "-shm"}) fs::remove(file.string() + rest, error);
}

bool is_ready(int fd, short events) {
  pollfd polled{fd, events, 0};
  return poll(&polled, 1, 0) > 0 && polled.revents != 0;
}

}  // namespace

Recording::Recording(const RunClock& clock, RunFacts facts, RunFolder& folder,
                     std::function<void()> wake)
    : clock_(clock), facts_(std::move(facts)), folder_(folder), wake_(std::move(wake)) {}

void Recording::remark(const std::string& code, const std::string& text) {
  if (++remarks_[code] <= kMaxRemarks) diagnostics_.push_back({code, text});
}

void Recording::refuse(const Guest& guest, const std::string& code, const std::string& text) {
  remark(code, fmt::format("process {}: {}", guest.pid, text));
}

fs::path Recording::trace_path(const Guest& guest) const {
  const std::string name =
      fmt::format("{}-{}-{}", facts_.host, guest.pid != 0 ? guest.pid : guest.hello.pid,
                  guest.hello.first_event_ticks);
  fs::path path = folder_.work_path() / (name + ".dprof");
  // Nobody's pid and time are to be believed so far that another's trace would be written over.
  std::error_code ignored;
  for (int i = 1; fs::exists(path, ignored); ++i) {
    path = folder_.work_path() / fmt::format("{}-{}.dprof", name, i);
  }
  return path;
}

// What a process says of its rank is taken as it is, for its own trace. Of what it says of the job,
// the most frequent counts, so that one liar does not change the others' run.
void Recording::hear_claims(const Guest& guest, const RankInfo& rank) {
  if (rank.world_size) ++world_sizes_[*rank.world_size];
  if (rank.local_world_size) ++local_world_sizes_[*rank.local_world_size];
  const auto outside = [](std::optional<int> number, std::optional<int> size) {
    return number && size && *number >= *size;
  };
  if (outside(rank.rank, rank.world_size)) {
    remark("odd_rank", fmt::format("process {} says that it is rank {} of {}", guest.pid,
                                   *rank.rank, *rank.world_size));
  } else if (outside(rank.local_rank, rank.local_world_size)) {
    remark("odd_rank", fmt::format("process {} says that it is local rank {} of {}", guest.pid,
                                   *rank.local_rank, *rank.local_world_size));
  }
}

std::optional<int> Recording::most_said(const Votes& votes) {
  const auto most = std::ranges::max_element(
      votes, {}, [](const auto& vote) { return std::pair(vote.second, vote.first); });
  return most == votes.end() ? std::nullopt : std::optional(most->first);
}

// Loader workers and compile workers inherit their rank's variables: a process that was started by
// a recorded process of the same rank.
int Recording::parent_of_same_rank(const Guest& guest, const RankInfo& rank) const {
  int pid = guest.pid;
  for (int i = 0; i < kMaxAncestors && pid > 1; ++i) {
    pid = parent_pid(pid);
    for (const Live& live : live_) {
      const ProcessFacts& other = live.session->process();
      if (pid != 0 && other.pid == pid && other.rank.rank == rank.rank) return pid;
    }
  }
  return 0;
}

void Recording::welcome(Guest guest) {
  if (guest.hello.wire_version != wire::kWireVersion) {
    refuse(guest, "wire_version",
           fmt::format("its libdprof.so speaks version {}, this recorder {}",
                       guest.hello.wire_version, wire::kWireVersion));
    return;  // the closed socket tells the process to stop
  }
  if (!guest.memory.valid()) {
    refuse(guest, "memory_limit",
           fmt::format("{}: {}", guest.hello.error, std::strerror(guest.hello.error_number)));
    return;
  }
  Result<SharedMemory> memory = SharedMemory::map(guest.memory.get());
  if (!memory.ok()) {
    const Code code = memory.error().code;
    refuse(guest,
           code == Code::kNoMemory  ? "memory_limit"
           : code == Code::kDamaged ? "turned_away"
                                    : "wire_version",
           memory.error().what);
    return;
  }
  if (!(memory->mapping().header()->scale == clock_.scale())) {
    refuse(guest, "other_clock", "its ticks are not those of this recorder");
    return;
  }
  // exec: the same process starts anew.
  for (Live& live : live_) {
    if (guest.pid != 0 && live.session->process().pid == guest.pid) {
      live.session->end(ProcessEnd::kReplaced, std::nullopt);
    }
  }
  const RankInfo rank = find_rank(guest.hello.variables);
  hear_claims(guest, rank);
  const ProcessFacts process{guest.pid, guest.hello.pid, guest.hello.first_event_ticks, rank,
                             guest.hello.command};
  if (rank.rank && !facts_.capture.origin_ns) {
    facts_.capture.origin_ns = Session::first_event_ns(clock_, process);
  }
  const int parent = rank.rank ? parent_of_same_rank(guest, rank) : 0;
  const fs::path path = trace_path(guest);
  Result<std::unique_ptr<Session>> session =
      Session::start(clock_, facts_, process, *std::move(memory), path, wake_);
  if (!session.ok()) {
    refuse(guest, "records_lost", session.error().what);
    remove_trace(path);
    ++ended_.lost;  // all of it; nobody knows how many
    return;
  }
  live_.push_back(
      {*std::move(session), std::move(guest.socket), std::move(guest.process), false, parent});
}

void Recording::watch(const std::function<std::optional<Command::Ending>(int pid)>& ending_of) {
  for (Live& live : live_) {
    const int pid = live.session->process().pid;
    if (!live.hung_up && is_ready(live.socket.get(), POLLIN | POLLRDHUP)) {
      live.hung_up = true;  // the program may also have closed a descriptor that it does not know
      live.socket = Descriptor();
    }
    const bool gone = live.process.valid() ? is_ready(live.process.get(), POLLIN) : live.hung_up;
    if (!gone) continue;
    if (!std::exchange(live.gone, true)) live.session->add(clock_.read());
    if (live.ending) continue;
    const std::optional<Command::Ending> ending = ending_of(pid);
    if (!ending) continue;
    live.ending = true;
    std::optional<ExitStatus> status = *ending;
    if (!status) status = exit_status_of(live.process.get(), pid);
    live.session->end(ProcessEnd::kEnded, status ? std::optional(status->text()) : std::nullopt);
  }
}

std::optional<int> Recording::rank_of(const Live& ended) const {
  const std::optional<int> rank = ended.session->totals().rank.rank;
  if (ended.parent_pid == 0) return rank;
  // A wrapper that recorded nothing is not the rank; its child is.
  int64_t of_parent = 0;
  for (const Live& live : live_) {
    if (live.session->process().pid == ended.parent_pid) of_parent = live.session->events();
  }
  const auto found = events_of_pid_.find(ended.parent_pid);
  if (found != events_of_pid_.end()) of_parent = std::max(of_parent, found->second);
  return of_parent > 0 ? std::nullopt : rank;
}

void Recording::conclude_done() {
  finish_unfinished();
  std::vector<Live> still;
  for (Live& live : live_) {
    if (!live.session->done()) {
      still.push_back(std::move(live));
      continue;
    }
    live.session->close();
    events_of_pid_[live.session->process().pid] += live.session->events();
    if (live.parent_pid == 0 && rank_of(live) && live.session->events() > 0 &&
        !has_more_to_say(live)) {
      const std::optional<int> rank = rank_of(live);
      conclude(std::move(live.session), rank);
    } else {
      live.process = Descriptor();
      live.session->rest();
      held_.push_back(std::move(live));
    }
  }
  live_ = std::move(still);
}

void Recording::conclude(std::unique_ptr<Session> session, std::optional<int> rank) {
  if (unfinished_.empty() && try_to_finish(*session, rank)) return;
  if (unfinished_.size() >= kMostUnfinished) {
    give_up(unfinished_.front());
    unfinished_.pop_front();
  }
  unfinished_.push_back({std::move(session), rank});
}

void Recording::finish_unfinished() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_try_) return;
  next_try_ = now + TraceOutput::kRetry;
  for (Live& live : held_) {
    if (live.session->in_gap()) live.session->rest();
  }
  while (!unfinished_.empty() &&
         try_to_finish(*unfinished_.front().session, unfinished_.front().rank)) {
    unfinished_.pop_front();
  }
}

void Recording::give_up_unfinished() {
  for (const Unfinished& trace : unfinished_) give_up(trace);
  unfinished_.clear();
  for (const auto& [code, count] : remarks_) {
    if (count <= kMaxRemarks) continue;
    diagnostics_.push_back({code, fmt::format("and {} more like these", count - kMaxRemarks)});
  }
  remarks_.clear();
}

// The file keeps its name: `dprof recover` finishes it once there is room.
void Recording::give_up(const Unfinished& trace) {
  const Session& session = *trace.session;
  const SessionTotals totals = session.totals();
  add_to_totals(totals);
  std::error_code ignored;
  const bool is_there = fs::exists(session.path(), ignored);
  remark("records_lost",
         fmt::format("{}: {} ({} records)", session.path().string(),
                     is_there ? "has no end, since the disk was full to the last"
                              : "could not be made, since the disk was full to the last",
                     totals.drain.lost + totals.unwritten));
  ended_.lost += totals.drain.lost + totals.unwritten == 0 ? 1 : 0;  // nobody knows how many
  if (!is_there) return;
  traces_.push_back({session.path().filename().string(), trace.rank, facts_.host, totals.ended});
}

void Recording::add_to_totals(const SessionTotals& totals) {
  ended_.processes += 1;
  ended_.events += totals.drain.events;
  ended_.lost += totals.drain.lost + totals.unwritten;
  ended_unwritten_ += totals.unwritten;
}

bool Recording::try_to_finish(Session& session, std::optional<int> rank) {
  const Result<bool> finished = session.conclude(rank);
  if (!finished.ok()) return false;
  const SessionTotals totals = session.totals();
  add_to_totals(totals);
  if (rank) local_ranks_seen_.push_back(totals.rank.local_rank.value_or(*rank));
  if (session.failure()) {
    remark("write_gap", session.failure()->what);
  }
  fs::path file = session.path();
  if (*finished) {
    const Result<fs::path> named = folder_.name_finished(file, rank);
    if (named.ok()) file = *named;
  }
  traces_.push_back({file.filename().string(), rank, facts_.host, totals.ended});
  const std::string who =
      rank ? fmt::format("rank {}", *rank) : fmt::format("process {}", session.process().pid);
  for (const auto& [code, text] : session.told()) {
    Told& told = told_[code];
    if (told.traces++ == 0) told.text = fmt::format("{}: {}", who, text);
  }
  return true;
}

std::vector<TraceEntry> Recording::traces() const {
  std::vector<TraceEntry> all = traces_;
  std::ranges::sort(all, {}, [](const TraceEntry& trace) {
    return std::pair(trace.rank.value_or(INT32_MAX), trace.file);
  });
  return all;
}

std::vector<RunDiagnostic> Recording::told_by_traces() const {
  std::vector<RunDiagnostic> all;
  for (const auto& [code, told] : told_) {
    all.push_back({code, told.traces == 1
                             ? told.text
                             : fmt::format("{} (and {} more)", told.text, told.traces - 1)});
  }
  return all;
}

// SQLite still has the file open, and lets go of it with the session.
void Recording::drop(const Session& session) { remove_trace(session.path()); }

bool Recording::has_trace(int rank) const {
  const auto is_of_it = [&](const auto& trace) { return trace.rank == rank; };
  return std::ranges::any_of(traces_, is_of_it) || std::ranges::any_of(unfinished_, is_of_it);
}

std::vector<int> Recording::live_pids() const {
  std::vector<int> pids;
  for (const Live& live : live_) {
    if (!live.gone) pids.push_back(live.session->process().pid);
  }
  return pids;
}

void Recording::leave() {
  for (Live& live : live_) {
    live.session->end(live.gone ? ProcessEnd::kEnded : ProcessEnd::kLeft, std::nullopt);
  }
}

bool Recording::somebody_goes() const {
  return std::ranges::any_of(live_, [](const Live& live) {
    const int fd = live.process.valid() ? live.process.get() : live.socket.get();
    return !live.gone && fd >= 0 && is_ready(fd, live.process.valid() ? POLLIN : POLLRDHUP);
  });
}

// They concern the host: one trace has them, of a process that surely leaves one. Until there is
// such a process, and when it has ended before the others, they wait for the next.
void Recording::add_probes(std::vector<schema::ClockProbeRow> rows) {
  constexpr size_t kMostWaiting = 1 << 16;
  if (probes_.size() < kMostWaiting) probes_.insert(probes_.end(), rows.begin(), rows.end());
  const auto keeper = std::ranges::find_if(live_, [](const Live& live) {
    return !live.gone && live.parent_pid == 0 && live.session->events() > 0;
  });
  if (keeper == live_.end()) return;
  for (schema::ClockProbeRow& row : probes_) keeper->session->add(std::move(row));
  probes_.clear();
}

void Recording::sample_clock() {
  const ClockReading reading = clock_.read();
  for (Live& live : live_) live.session->add(reading);
}

void Recording::request(const CaptureRequest& request) {
  using Kind = CaptureRequest::Kind;
  if (request.kind == Kind::kStart) facts_.capture.requested = true;
  if (request.kind == Kind::kStop) facts_.capture.requested = false;
  if (request.kind == Kind::kLevel) facts_.capture.detail = request.detail;
  for (Live& live : live_) live.session->request(request);
}

std::vector<ProcessStatus> Recording::process_status() const {
  std::vector<ProcessStatus> all;
  for (const Live& live : live_) {
    const Session& session = *live.session;
    all.push_back({session.process().pid, session.process().rank.rank, session.events(),
                   session.lost(), session.capture()});
  }
  return all;
}

std::vector<WatchedRank> Recording::watched() const {
  std::vector<WatchedRank> ranks;
  for (const Live& live : live_) {
    const Session& session = *live.session;
    const std::optional<int> rank = session.process().rank.rank;
    if (live.gone || live.parent_pid != 0 || session.events() == 0) continue;
    // A program without a launcher is rank 0 of one.
    const ProcessFacts& process = session.process();
    ranks.push_back({rank.value_or(0), process.pid, process.own_pid, process.first_event_ticks,
                     session.how_far()});
  }
  std::ranges::sort(ranks, {}, &WatchedRank::rank);
  return ranks;
}

void Recording::tell_traces(std::string_view code, const std::string& text) {
  for (Live& live : live_) {
    if (live.gone) continue;
    live.session->add(RecorderDiagnostic{code, 1, text});
    live.session->commit_soon();
  }
}

void Recording::add(int pid, std::vector<Measured> measured) {
  for (Live& live : live_) {
    if (live.session->process().pid != pid) continue;
    for (Measured& one : measured) live.session->add(std::move(one));
    live.session->commit_soon();
  }
}

void Recording::commit_soon() {
  for (Live& live : live_) live.session->commit_soon();
}

void Recording::send_signal(int pid, int signal) const {
  for (const Live& live : live_) {
    if (live.session->process().pid != pid || live.gone || !live.process.valid()) continue;
    syscall(SYS_pidfd_send_signal, live.process.get(), signal, nullptr, 0);
  }
}

std::vector<Sampled> Recording::sampled() {
  std::vector<Sampled> processes;
  for (Live& live : live_) {
    Session* session = live.session.get();
    const ProcessFacts& process = session->process();
    processes.push_back({process.pid, live.process.get(), process.first_event_ticks,
                         process.rank.rank, live.parent_pid == 0 && session->events() > 0,
                         [session](Measured measured) { session->add(std::move(measured)); }});
  }
  return processes;
}

// What a rank of -n said before it failed is whole only when all output has been carried.
bool Recording::has_more_to_say(const Live& ended) const {
  return facts_.ranks && ended.session->exit_status().value_or("exit:0") != "exit:0";
}

void Recording::keep_output(Live& ended, const StartedRanks& started) const {
  const std::optional<int> rank = rank_of(ended);
  if (!rank || !has_more_to_say(ended)) return;
  const std::string lines = started.last_output(*rank);
  if (!lines.empty()) ended.session->keep_output(lines);
}

void Recording::write_end_of(const RankEnd& end, const std::string& output) {
  const fs::path path = folder_.work_path() / fmt::format("{}-{}.dprof", facts_.host, end.pid);
  Result<std::unique_ptr<TraceOutput>> made = TraceOutput::create(path, facts_.journal);
  if (!made.ok()) return;  // a full disk: `missing_rank` says it is not there
  TraceOutput& out = **made;
  const auto ago = std::chrono::steady_clock::now() - end.when;
  const std::string time_ns = std::to_string(std::max<int64_t>(
      0, clock_.now().ns - std::chrono::duration_cast<std::chrono::nanoseconds>(ago).count()));
  const bool was_killed = WIFSIGNALED(end.status.wait_status);
  write_recording(out, clock_, facts_);
  for (const auto& [key, value] : std::initializer_list<std::pair<const char*, std::string>>{
           {"pid", std::to_string(end.pid)},
           {"rank", std::to_string(end.rank)},
           {"local_rank", std::to_string(end.rank)},
           {"world_size", std::to_string(facts_.ranks.value_or(0))},
           {"launcher", "dprof"},
           {"first_event_ns", time_ns},
           {"last_event_ns", time_ns},
           {"records", "0"},
           {"recorder_cpu_ns", "0"},
           {"exit_status", end.status.text()},
           {"ended", was_killed ? "process_killed" : "complete"},
           {"output", mask_secrets(clean_text(output))}}) {
    out.set_meta(key, value);
  }
  const Result<bool> finished = out.finish();
  if (!finished.ok()) return;
  local_ranks_seen_.push_back(end.rank);
  const Result<fs::path> named = folder_.name_finished(path, end.rank);
  traces_.push_back({(named.ok() ? *named : path).filename().string(), end.rank, facts_.host,
                     was_killed ? "process_killed" : "complete"});
}

void Recording::finish(const StartedRanks& started) {
  while (!live_.empty()) {
    conclude_done();
    if (!live_.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (Live& live : held_) keep_output(live, started);
  std::vector<Live> nameless;
  std::vector<Live> silent;  // a program that failed before it did anything, or its launcher
  for (Live& live : held_) {
    const std::optional<int> rank = rank_of(live);
    const bool empty = live.session->events() == 0;
    if (!rank && !empty) {
      nameless.push_back(std::move(live));
    } else if (!rank && live.session->raised()) {
      silent.push_back(std::move(live));
    } else if (!rank || (empty && has_trace(*rank))) {
      drop(*live.session);
    } else {
      conclude(std::move(live.session), rank);
    }
  }
  held_.clear();
  const bool others = !traces_.empty() || !unfinished_.empty();
  if (nameless.empty() && !others && silent.size() == 1) {
    nameless = std::move(silent);
  } else {
    for (const Live& live : silent) drop(*live.session);
  }
  // A program without a launcher is rank 0 of one.
  const bool alone = nameless.size() == 1 && !others;
  for (Live& live : nameless) {
    conclude(std::move(live.session), alone ? std::optional(0) : std::nullopt);
  }
  for (const RankEnd& end : started.ends) {
    if (end.status.code() != 0 && !has_trace(end.rank))
      write_end_of(end, started.last_output(end.rank));
  }
}

std::vector<int> Recording::descriptors() const {
  std::vector<int> all;
  for (const Live& live : live_) {
    if (live.gone) continue;  // a pidfd stays ready: its session wakes the owner when it is done
    if (live.process.valid()) {
      all.push_back(live.process.get());
    } else if (!live.hung_up) {
      all.push_back(live.socket.get());
    }
  }
  return all;
}

template <typename Visit>
void Recording::each_open_session(Visit&& visit) const {
  for (const Live& live : live_) visit(*live.session);
  for (const Live& live : held_) visit(*live.session);
  for (const Unfinished& trace : unfinished_) visit(*trace.session);
}

Recording::WriteGaps Recording::write_gaps() const {
  WriteGaps gaps{0, ended_unwritten_};
  each_open_session([&](const Session& session) {
    gaps.traces += session.in_gap() ? 1 : 0;
    gaps.unwritten += session.unwritten();
  });
  return gaps;
}

Recording::Totals Recording::totals() const {
  Totals totals = ended_;
  each_open_session([&](const Session& session) {
    totals.processes += 1;
    totals.events += session.events();
    totals.lost += session.lost();
  });
  return totals;
}

std::vector<int> Recording::missing_local_ranks(std::optional<int> expected) const {
  const int ranks = expected.value_or(most_said(local_world_sizes_).value_or(0));
  std::vector<int> missing;
  for (int rank = 0; rank < ranks && missing.size() < kMaxMissing; ++rank) {
    if (std::ranges::find(local_ranks_seen_, rank) == local_ranks_seen_.end())
      missing.push_back(rank);
  }
  return missing;
}

}  // namespace dprof::recorder
