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
// Recordings of dead processes that wait for room: some 100 KiB each.
constexpr size_t kMostUnfinished = 1024;

// Parent of a process, 0 if it cannot be read.
int parent_pid(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  // "pid (name) state ppid …": the name can contain anything, even a parenthesis.
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
  // Pid and time are untrusted: they must not lead to overwriting another process's trace.
  std::error_code ignored;
  for (int i = 1; fs::exists(path, ignored); ++i) {
    path = folder_.work_path() / fmt::format("{}-{}.dprof", name, i);
  }
  return path;
}

// A process's rank is accepted as reported, for its own trace. For job-wide values, the most
// frequent report counts, so that one wrong process does not change the others' run.
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

// Loader workers and compile workers inherit their rank's variables: these are processes started by
// a recorded process of the same rank.
int Recording::parent_of_same_rank(const Guest& guest, const RankInfo& rank) const {
  int pid = guest.pid;
  for (int i = 0; i < kMaxAncestors && pid > 1; ++i) {
    pid = parent_pid(pid);
    for (const Process& process : processes_) {
      if (!process.is_live() || pid == 0) continue;
      const ProcessFacts& other = process.recording->process();
      if (other.pid == pid && other.rank.rank == rank.rank) return pid;
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
  // exec: the same process starts again.
  for (const Process& before : processes_) {
    if (guest.pid != 0 && before.is_live() && before.recording->process().pid == guest.pid) {
      before.recording->end(ProcessEnd::kReplaced, std::nullopt);
    }
  }
  const RankInfo rank = find_rank(guest.hello.variables);
  hear_claims(guest, rank);
  const ProcessFacts process{guest.pid, guest.hello.pid, guest.hello.first_event_ticks, rank,
                             guest.hello.command};
  if (rank.rank && !facts_.capture.origin_ns) {
    facts_.capture.origin_ns = ProcessRecording::first_event_ns(clock_, process);
  }
  const int parent = rank.rank ? parent_of_same_rank(guest, rank) : 0;
  const fs::path path = trace_path(guest);
  Result<std::unique_ptr<ProcessRecording>> recording =
      ProcessRecording::start(clock_, facts_, process, *std::move(memory), path, wake_);
  if (!recording.ok()) {
    refuse(guest, "records_lost", recording.error().what);
    remove_trace(path);
    ++ended_.lost;  // all of it; the number is unknown
    return;
  }
  processes_.push_back(
      {*std::move(recording), std::move(guest.socket), std::move(guest.process), parent});
}

void Recording::watch(const std::function<std::optional<Command::Ending>(int pid)>& ending_of) {
  for (Process& process : processes_) {
    if (!process.is_live()) continue;
    const int pid = process.recording->process().pid;
    if (!process.hung_up && is_ready(process.socket.get(), POLLIN | POLLRDHUP)) {
      // The program may instead have closed a descriptor that it does not know.
      process.hung_up = true;
      process.socket = Descriptor();
    }
    if (process.is_running()) {
      const bool gone =
          process.pidfd.valid() ? is_ready(process.pidfd.get(), POLLIN) : process.hung_up;
      if (!gone) continue;
      process.state = State::kGone;
      process.recording->add(clock_.read());
    }
    if (process.state != State::kGone) continue;
    const std::optional<Command::Ending> ending = ending_of(pid);
    if (!ending) continue;
    process.state = State::kEnding;
    std::optional<ExitStatus> status = *ending;
    if (!status) status = exit_status_of(process.pidfd.get(), pid);
    process.recording->end(ProcessEnd::kEnded,
                           status ? std::optional(status->text()) : std::nullopt);
  }
}

size_t Recording::count(State state) const {
  return static_cast<size_t>(std::ranges::count(processes_, state, &Process::state));
}

bool Recording::busy() const { return std::ranges::any_of(processes_, &Process::is_live); }

// Its descriptors are closed at once: hundreds of processes can end at the end of the job.
void Recording::end(Process& process) {
  process.state = State::kOver;
  process.recording.reset();
}

void Recording::forget_what_is_over() {
  std::erase_if(processes_, [](const Process& process) { return process.state == State::kOver; });
}

std::optional<int> Recording::rank_of(const Process& ended) const {
  const std::optional<int> rank = ended.recording->totals().rank.rank;
  if (ended.parent_pid == 0) return rank;
  // A wrapper that recorded nothing is not the rank; its child is.
  int64_t of_parent = 0;
  for (const Process& process : processes_) {
    if (!process.is_live() || process.recording->process().pid != ended.parent_pid) continue;
    of_parent = process.recording->events();
  }
  const auto found = events_of_pid_.find(ended.parent_pid);
  if (found != events_of_pid_.end()) of_parent = std::max(of_parent, found->second);
  return of_parent > 0 ? std::nullopt : rank;
}

void Recording::conclude_done() {
  finish_unfinished();
  for (Process& process : processes_) {
    if (process.is_live() && process.recording->done()) conclude_or_hold(process);
  }
  forget_what_is_over();
}

void Recording::conclude_or_hold(Process& process) {
  ProcessRecording& recording = *process.recording;
  recording.close();
  events_of_pid_[recording.process().pid] += recording.events();
  process.socket = Descriptor();
  process.pidfd = Descriptor();
  const std::optional<int> rank = rank_of(process);
  if (process.parent_pid == 0 && rank && recording.events() > 0 && !has_more_to_say(process)) {
    conclude(process, rank);
  } else {
    process.state = State::kHeld;
    recording.rest();
  }
}

void Recording::conclude(Process& process, std::optional<int> rank) {
  const size_t before = count(State::kUnfinished);
  if (before == 0 && try_to_finish(*process.recording, rank)) return end(process);
  if (before >= kMostUnfinished) {
    give_up(*std::ranges::find(processes_, State::kUnfinished, &Process::state));
  }
  process.state = State::kUnfinished;
  process.rank = rank;
}

void Recording::finish_unfinished() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_try_) return;
  next_try_ = now + TraceOutput::kRetry;
  bool is_room = true;
  for (Process& process : processes_) {
    if (process.state == State::kHeld && process.recording->in_gap()) process.recording->rest();
    if (process.state != State::kUnfinished) continue;
    is_room = is_room && try_to_finish(*process.recording, process.rank);
    if (is_room) end(process);
  }
  forget_what_is_over();
}

void Recording::give_up_unfinished() {
  for (Process& process : processes_) {
    if (process.state == State::kUnfinished) give_up(process);
  }
  forget_what_is_over();
  for (const auto& [code, count] : remarks_) {
    if (count <= kMaxRemarks) continue;
    diagnostics_.push_back({code, fmt::format("and {} more like these", count - kMaxRemarks)});
  }
  remarks_.clear();
}

// The file keeps its name: `dprof recover` finishes it once there is room.
void Recording::give_up(Process& unfinished) {
  const ProcessRecording& recording = *unfinished.recording;
  const ProcessTotals totals = recording.totals();
  add_to_totals(totals);
  std::error_code ignored;
  const bool is_there = fs::exists(recording.path(), ignored);
  remark("records_lost",
         fmt::format("{}: {} ({} records)", recording.path().string(),
                     is_there ? "has no end, since the disk was full to the last"
                              : "could not be made, since the disk was full to the last",
                     totals.drain.lost + totals.unwritten));
  ended_.lost += totals.drain.lost + totals.unwritten == 0 ? 1 : 0;  // their number is unknown
  if (is_there) {
    traces_.push_back(
        {recording.path().filename().string(), unfinished.rank, facts_.host, totals.ended});
  }
  end(unfinished);
}

void Recording::add_to_totals(const ProcessTotals& totals) {
  ended_.processes += 1;
  ended_.events += totals.drain.events;
  ended_.lost += totals.drain.lost + totals.unwritten;
  ended_unwritten_ += totals.unwritten;
}

bool Recording::try_to_finish(ProcessRecording& recording, std::optional<int> rank) {
  const Result<bool> finished = recording.conclude(rank);
  if (!finished.ok()) return false;
  const ProcessTotals totals = recording.totals();
  add_to_totals(totals);
  if (rank) local_ranks_seen_.push_back(totals.rank.local_rank.value_or(*rank));
  if (recording.failure()) {
    remark("write_gap", recording.failure()->what);
  }
  fs::path file = recording.path();
  if (*finished) {
    const Result<fs::path> named = folder_.name_finished(file, rank);
    if (named.ok()) file = *named;
  }
  traces_.push_back({file.filename().string(), rank, facts_.host, totals.ended});
  const std::string who =
      rank ? fmt::format("rank {}", *rank) : fmt::format("process {}", recording.process().pid);
  for (const auto& [code, text] : recording.troubles()) {
    Trouble& trouble = troubles_[code];
    if (trouble.traces++ == 0) trouble.text = fmt::format("{}: {}", who, text);
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

std::vector<RunDiagnostic> Recording::troubles_of_traces() const {
  std::vector<RunDiagnostic> all;
  for (const auto& [code, trouble] : troubles_) {
    all.push_back({code, trouble.traces == 1
                             ? trouble.text
                             : fmt::format("{} (and {} more)", trouble.text, trouble.traces - 1)});
  }
  return all;
}

// SQLite has the file open until the recording is destroyed.
void Recording::drop(Process& process) {
  remove_trace(process.recording->path());
  end(process);
}

bool Recording::has_trace(int rank) const {
  return std::ranges::any_of(traces_, [&](const auto& trace) { return trace.rank == rank; }) ||
         std::ranges::any_of(processes_, [&](const Process& process) {
           return process.state == State::kUnfinished && process.rank == rank;
         });
}

std::vector<int> Recording::live_pids() const {
  std::vector<int> pids;
  for (const Process& process : processes_) {
    if (process.is_running()) pids.push_back(process.recording->process().pid);
  }
  return pids;
}

void Recording::leave() {
  for (const Process& process : processes_) {
    if (!process.is_live()) continue;
    const ProcessEnd how = process.is_running() ? ProcessEnd::kLeft : ProcessEnd::kEnded;
    process.recording->end(how, std::nullopt);
  }
}

bool Recording::somebody_goes() const {
  return std::ranges::any_of(processes_, [](const Process& process) {
    const bool has_pidfd = process.pidfd.valid();
    const int fd = has_pidfd ? process.pidfd.get() : process.socket.get();
    return process.is_running() && fd >= 0 && is_ready(fd, has_pidfd ? POLLIN : POLLRDHUP);
  });
}

// They concern the host: one trace has them, of a process that is certain to leave one. Until there
// is such a process, or if it has ended before the others, they wait for the next.
void Recording::add_probes(std::vector<schema::ClockProbeRow> rows) {
  constexpr size_t kMostWaiting = 1 << 16;
  if (probes_.size() < kMostWaiting) probes_.insert(probes_.end(), rows.begin(), rows.end());
  const auto keeper = std::ranges::find_if(processes_, [](const Process& process) {
    return process.is_running() && process.parent_pid == 0 && process.recording->events() > 0;
  });
  if (keeper == processes_.end()) return;
  for (schema::ClockProbeRow& row : probes_) keeper->recording->add(std::move(row));
  probes_.clear();
}

void Recording::sample_clock() {
  const ClockReading reading = clock_.read();
  for (const Process& process : processes_) {
    if (process.is_live()) process.recording->add(reading);
  }
}

void Recording::request(const CaptureRequest& request) {
  using Kind = CaptureRequest::Kind;
  if (request.kind == Kind::kStart) facts_.capture.requested = true;
  if (request.kind == Kind::kStop) facts_.capture.requested = false;
  if (request.kind == Kind::kLevel) facts_.capture.detail = request.detail;
  for (const Process& process : processes_) {
    if (process.is_live()) process.recording->request(request);
  }
}

std::vector<ProcessStatus> Recording::process_status() const {
  std::vector<ProcessStatus> all;
  for (const Process& process : processes_) {
    if (!process.is_live()) continue;
    const ProcessRecording& recording = *process.recording;
    all.push_back({recording.process().pid, recording.process().rank.rank, recording.events(),
                   recording.lost(), recording.capture()});
  }
  return all;
}

std::vector<WatchedRank> Recording::watched() const {
  std::vector<WatchedRank> ranks;
  for (const Process& process : processes_) {
    const ProcessRecording& recording = *process.recording;
    if (!process.is_running() || process.parent_pid != 0 || recording.events() == 0) continue;
    // A program without a launcher is rank 0 of one.
    const ProcessFacts& facts = recording.process();
    ranks.push_back({facts.rank.rank.value_or(0), facts.pid, facts.own_pid, facts.first_event_ticks,
                     recording.how_far()});
  }
  std::ranges::sort(ranks, {}, &WatchedRank::rank);
  return ranks;
}

void Recording::note_in_traces(std::string_view code, const std::string& text) {
  for (const Process& process : processes_) {
    if (!process.is_running()) continue;
    process.recording->add(RecorderDiagnostic{code, 1, text});
    process.recording->commit_soon();
  }
}

void Recording::add(int pid, std::vector<Measured> measured) {
  for (const Process& process : processes_) {
    if (!process.is_live() || process.recording->process().pid != pid) continue;
    for (Measured& one : measured) process.recording->add(std::move(one));
    process.recording->commit_soon();
  }
}

void Recording::commit_soon() {
  for (const Process& process : processes_) {
    if (process.is_live()) process.recording->commit_soon();
  }
}

void Recording::ask_for_unfinished() {
  for (const Process& process : processes_) {
    if (process.is_live()) process.recording->ask_for_unfinished();
  }
}

void Recording::send_signal(int pid, int signal) const {
  for (const Process& process : processes_) {
    if (!process.is_running() || process.recording->process().pid != pid) continue;
    if (!process.pidfd.valid()) continue;
    syscall(SYS_pidfd_send_signal, process.pidfd.get(), signal, nullptr, 0);
  }
}

std::vector<Sampled> Recording::sampled() {
  std::vector<Sampled> all;
  for (const Process& process : processes_) {
    if (!process.is_live()) continue;
    ProcessRecording* recording = process.recording.get();
    const ProcessFacts& facts = recording->process();
    all.push_back({facts.pid, process.pidfd.get(), facts.first_event_ticks, facts.rank.rank,
                   process.parent_pid == 0 && recording->events() > 0,
                   [recording](Measured measured) { recording->add(std::move(measured)); }});
  }
  return all;
}

// The output of a failed rank of -n is complete only when all output has been carried.
bool Recording::has_more_to_say(const Process& ended) const {
  return facts_.ranks && ended.recording->exit_status().value_or("exit:0") != "exit:0";
}

void Recording::keep_output(Process& ended, const StartedRanks& started) const {
  const std::optional<int> rank = rank_of(ended);
  if (!rank || !has_more_to_say(ended)) return;
  const std::string lines = started.last_output(*rank);
  if (!lines.empty()) ended.recording->keep_output(lines);
}

void Recording::write_end_of(const RankEnd& end, const std::string& output) {
  const fs::path path = folder_.work_path() / fmt::format("{}-{}.dprof", facts_.host, end.pid);
  Result<std::unique_ptr<TraceOutput>> made = TraceOutput::create(path, facts_.journal);
  if (!made.ok()) return;  // a full disk: `missing_rank` reports it
  TraceOutput& out = **made;
  const auto ago = std::chrono::steady_clock::now() - end.when;
  const std::string time_ns = std::to_string(std::max<int64_t>(
      0, clock_.now().ns - std::chrono::duration_cast<std::chrono::nanoseconds>(ago).count()));
  const bool was_killed = WIFSIGNALED(end.status.wait_status);
  write_recording_meta(out, clock_, facts_);
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

void Recording::judge_held(Process& process) {
  const std::optional<int> rank = rank_of(process);
  const bool is_empty = process.recording->events() == 0;
  if (!rank && !is_empty) {
    process.state = State::kNameless;
  } else if (!rank && process.recording->raised()) {
    process.state = State::kSilent;
  } else if (!rank || (is_empty && has_trace(*rank))) {
    drop(process);
  } else {
    conclude(process, rank);
  }
}

void Recording::finish(const StartedRanks& started) {
  while (busy()) {
    conclude_done();
    if (busy()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (Process& process : processes_) {
    if (process.state == State::kHeld) keep_output(process, started);
  }
  for (Process& process : processes_) {
    if (process.state == State::kHeld) judge_held(process);
  }
  // A program without a launcher is rank 0 of one, also if it failed before it did anything.
  const bool are_others = !traces_.empty() || unfinished() != 0;
  const size_t nameless = count(State::kNameless);
  const bool is_only_silent = !are_others && nameless == 0 && count(State::kSilent) == 1;
  const bool is_alone = (!are_others && nameless == 1) || is_only_silent;
  for (Process& process : processes_) {
    if (process.state == State::kNameless || (process.state == State::kSilent && is_only_silent)) {
      conclude(process, is_alone ? std::optional(0) : std::nullopt);
    } else if (process.state == State::kSilent) {
      drop(process);
    }
  }
  forget_what_is_over();
  for (const RankEnd& end : started.ends) {
    if (end.status.code() != 0 && !has_trace(end.rank))
      write_end_of(end, started.last_output(end.rank));
  }
}

std::vector<int> Recording::descriptors() const {
  std::vector<int> all;
  for (const Process& process : processes_) {
    // A pidfd stays ready: the recording wakes the owner when it is done.
    if (!process.is_running()) continue;
    if (process.pidfd.valid()) {
      all.push_back(process.pidfd.get());
    } else if (!process.hung_up) {
      all.push_back(process.socket.get());
    }
  }
  return all;
}

Recording::WriteGaps Recording::write_gaps() const {
  WriteGaps gaps{0, ended_unwritten_};
  for (const Process& process : processes_) {
    gaps.traces += process.recording->in_gap() ? 1 : 0;
    gaps.unwritten += process.recording->unwritten();
  }
  return gaps;
}

Recording::Totals Recording::totals() const {
  Totals totals = ended_;
  for (const Process& process : processes_) {
    totals.processes += 1;
    totals.events += process.recording->events();
    totals.lost += process.recording->lost();
  }
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
