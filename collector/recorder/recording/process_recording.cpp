// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/recording/process_recording.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "base/check.h"
#include "collector/recorder/common/secrets.h"
#include "collector/recorder/common/text.h"
#include "collector/recorder/ranks/torch_verdict.h"
#include "collector/wire/arena.h"
#include "schema/diagnostics.h"

namespace dprof::recorder {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

namespace {

// A ring of 16,384 records holds 16 ms of a million records a second; besides, a half-full ring
// wakes the recorder.
constexpr milliseconds kShortestSleep{5};
constexpr milliseconds kLongestSleep{100};
// The loss if recorder and process die together.
constexpr milliseconds kCommitInterval{200};
// Below the training threads, which matters when cores are scarce.
constexpr int kNice = 5;

std::string fact_text(const wire::Mapping& mapping, wire::Fact fact) {
  const auto index = static_cast<uint32_t>(fact);
  const uint32_t id = mapping.header()->facts[index].load(std::memory_order_acquire);
  const wire::ArenaText text = wire::arena_text(mapping, id);
  return text.text == nullptr ? std::string() : std::string(text.text, text.length);
}

// The diagnostic for a remark, and the fact with the details.
struct RemarkKind {
  wire::Remark remark;
  std::string_view code;
  wire::Fact fact;
};
constexpr RemarkKind kRemarks[] = {
    {wire::Remark::kTorchVersionMismatch, "torch_version_mismatch", wire::Fact::kTorchSource},
    {wire::Remark::kTorchLibraryMissing, "torch_library_missing", wire::Fact::kTorchSource},
    {wire::Remark::kCuptiTaken, "cupti_taken", wire::Fact::kCuptiSource},
    {wire::Remark::kCuptiRefused, "cupti_refused", wire::Fact::kCuptiSource},
    {wire::Remark::kCuptiMissing, "cupti_missing", wire::Fact::kCuptiSource},
    {wire::Remark::kNcclTooOld, "nccl_too_old", wire::Fact::kNcclSource},
    {wire::Remark::kNcclEventsRefused, "nccl_events_refused", wire::Fact::kNcclSource},
};
static_assert(std::size(kRemarks) == static_cast<size_t>(wire::Remark::kCount));

}  // namespace

Result<std::unique_ptr<ProcessRecording>> ProcessRecording::start(
    const RunClock& clock, const RunFacts& run, const ProcessFacts& process, SharedMemory memory,
    const std::filesystem::path& path, std::function<void()> on_change) {
  Result<std::unique_ptr<TraceOutput>> output =
      TraceOutput::create_when_possible(path, run.journal);
  if (!output.ok()) return fail(output.error());
  std::unique_ptr<ProcessRecording> recording(
      new ProcessRecording(clock, run, process, std::move(memory), path, *std::move(output)));
  recording->on_change_ = std::move(on_change);
  recording->write_identity();
  const std::pair<std::string_view, const std::string&> replaced[] = {
      {"nvtx_taken", run.replaced.nvtx},
      {"nccl_plugin_taken", run.replaced.nccl},
      {"cuda_injection_taken", run.replaced.cuda},
  };
  for (const auto& [code, before] : replaced) {
    if (before.empty()) continue;
    recording->add(RecorderDiagnostic{code, 1, fmt::format("it was {}", clean_text(before))});
  }
  recording->add(clock.origin());
  recording->inbox_.write_to(*recording->output_);
  ProcessRecording* self = recording.get();
  try {
    recording->thread_ = std::thread([self] { self->run(); });
  } catch (const std::system_error& error) {
    return fail(Code::kIo, fmt::format("no thread to record it: {}", error.what()),
                "raise the limit of processes (ulimit -u, the container's pids limit)");
  }
  return recording;
}

ProcessRecording::ProcessRecording(const RunClock& clock, const RunFacts& run,
                                   const ProcessFacts& process, SharedMemory memory,
                                   std::filesystem::path path, std::unique_ptr<TraceOutput> output)
    : clock_(clock),
      run_(run),
      process_(process),
      memory_(std::move(memory)),
      path_(std::move(path)),
      output_(std::move(output)),
      drain_(memory_->mapping(), clock_, process_.own_pid, *output_),
      capture_(run.capture, memory_->mapping(), clock_, drain_, *output_,
               {process.pid, first_event_ns(clock, process), run.record_cost_ns},
               [this](Measured measured) { add(std::move(measured)); }) {}

ProcessRecording::~ProcessRecording() {
  if (!thread_.joinable()) return;
  end(ProcessEnd::kLeft, std::nullopt);
  thread_.join();
}

int64_t ProcessRecording::first_event_ns(const RunClock& clock, const ProcessFacts& process) {
  return std::clamp<int64_t>(clock.to_host(process.first_event_ticks).ns, 0, clock.now().ns);
}

void ProcessRecording::request(const CaptureRequest& request) {
  capture_.request(request);
  wake();
}

void ProcessRecording::commit_soon() {
  commit_asked_.store(true, std::memory_order_release);
  wake();
}

// The process checks ten times a second.
void ProcessRecording::ask_for_unfinished() {
  memory_->mapping().control()->hangs.fetch_add(1, std::memory_order_release);
}

void ProcessRecording::wake() {
  wire::ControlPage& control = *memory_->mapping().control();
  control.wake.fetch_add(1, std::memory_order_release);
  wire::futex_wake(control.wake);
}

void ProcessRecording::end(ProcessEnd how, std::optional<std::string> exit_status) {
  {
    const std::lock_guard lock(mutex_);
    if (ending_.load(std::memory_order_relaxed)) return;
    how_ = how;
    exit_status_ = std::move(exit_status);
  }
  ending_.store(true, std::memory_order_release);
  wake();
}

// An exception from a library ends only this process's recording.
void ProcessRecording::run() {
  try {
    record_process();
  } catch (const std::exception& error) {
    output_->give_up(Error{Code::kInternal, fmt::format("recording ended: {}", error.what()), {}});
    give_order(memory_->mapping(), {.state = wire::CaptureState::kStop});
    ended_ = "complete";
  }
  cpu_ns_ = thread_cpu_ns();
  done_.store(true, std::memory_order_release);
  on_change_();
}

void ProcessRecording::record_process() {
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNice);
  write_loop();
  bool killed = false;
  bool left = false;
  {
    const std::lock_guard lock(mutex_);
    const uint32_t end = memory_->mapping().header()->clean_end.load(std::memory_order_acquire);
    const bool clean = end != 0;
    declared_code_ = wire::code_of_clean_end(end);
    killed = how_ == ProcessEnd::kEnded && !clean;
    left = how_ == ProcessEnd::kLeft && !clean;
    if (how_ == ProcessEnd::kLeft) {  // the process may live on, unrecorded
      give_order(memory_->mapping(), {.state = wire::CaptureState::kStop});
    }
  }
  ended_ = killed ? "process_killed" : left ? "left" : "complete";
  inbox_.write_to(*output_);
  drain_.finish(killed);
  capture_.finish(killed);
  publish_totals();
}

void ProcessRecording::write_loop() {
  steady_clock::time_point next_commit = steady_clock::now() + kCommitInterval;
  milliseconds pause = kShortestSleep;
  bool dirty = true;  // the first meta
  while (!ending_.load(std::memory_order_acquire)) {
    capture_.before_pass();
    const bool found = drain_.pass() != 0;
    capture_.after_pass();
    if (!torch_judged_) judge_torch();
    dirty |= found || capture_.waiting() || output_->in_gap() ||
             commit_asked_.exchange(false, std::memory_order_acquire);
    if (steady_clock::now() >= next_commit && dirty) {
      inbox_.write_to(*output_);
      write_facts();
      capture_.before_commit(thread_cpu_ns());
      drain_.flush();
      publish_totals();
      next_commit = steady_clock::now() + kCommitInterval;
      // Ordered records are one pass behind: a quiet process's last ones need one more flush.
      dirty = found;
    }
    pause = found ? kShortestSleep : std::min(pause * 2, kLongestSleep);
    sleep(pause);
  }
}

// Reports to a process with an unknown LibTorch whether it can be read.
void ProcessRecording::judge_torch() {
  const wire::Mapping& mapping = memory_->mapping();
  const std::string path = fact_text(mapping, wire::Fact::kTorchPath);
  if (path.empty() || !run_.torch) return;
  const std::optional<TorchVerdict> verdict =
      run_.torch->ask(path, fact_text(mapping, wire::Fact::kTorchBuildId));
  if (!verdict) return;
  torch_judged_ = true;
  wire::ControlPage& control = *mapping.control();
  const std::string version = clean_text(fact_text(mapping, wire::Fact::kTorchVersion));
  std::string sentence = fmt::format("LibTorch{}{} cannot be read: {}", version.empty() ? "" : " ",
                                     version, verdict->why_not);
  sentence.resize(std::min(sentence.size(), size_t{wire::kVerdictBytes - 1}));
  std::memcpy(control.torch_sentence, sentence.c_str(), sentence.size() + 1);
  const auto answer = verdict->fits ? wire::TorchVerdict::kFits : wire::TorchVerdict::kDiffers;
  control.torch_verdict.store(static_cast<uint32_t>(answer), std::memory_order_release);
}

// A half-full ring of the process ends the sleep. The control page is shared with the process: a
// wrong value there costs wake-ups, never more.
void ProcessRecording::sleep(nanoseconds at_most) {
  wire::ControlPage& control = *memory_->mapping().control();
  const uint32_t seen = control.wake.load(std::memory_order_acquire);
  control.recorder_asleep.store(1, std::memory_order_seq_cst);
  if (!ending_.load(std::memory_order_acquire)) {
    const timespec time{0, static_cast<long>(at_most.count())};
    syscall(SYS_futex, &control.wake, FUTEX_WAIT, seen, &time, nullptr, 0);
  }
  control.recorder_asleep.store(0, std::memory_order_relaxed);
}

HowFar ProcessRecording::how_far() const {
  const std::lock_guard lock(mutex_);
  return how_far_;
}

void ProcessRecording::publish_totals() {
  if (run_.watch_hangs) {
    HowFar far = drain_.how_far();
    far.recording = capture_.status().order.state == wire::CaptureState::kRecording;
    const std::lock_guard lock(mutex_);
    how_far_ = std::move(far);
  }
  const DrainTotals totals = drain_.totals();
  events_.store(totals.events, std::memory_order_relaxed);
  lost_.store(totals.lost + output_->unwritten(), std::memory_order_relaxed);
  unwritten_.store(output_->unwritten(), std::memory_order_relaxed);
  if (in_gap_.exchange(output_->in_gap(), std::memory_order_relaxed) != output_->in_gap()) {
    on_change_();
  }
}

void write_recording_meta(TraceOutput& out, const RunClock& clock, const RunFacts& run) {
  const bool tsc = clock.scale().source == wire::ClockSource::kTsc;
  out.set_meta("dprof_version", DPROF_VERSION);
  out.set_meta("run_id", run.run_id);
  out.set_meta("host", run.host);
  out.set_meta("boot_id", boot_id());
  if (const std::string model = cpu_model(); !model.empty()) out.set_meta("cpu_model", model);
  out.set_meta("cpus", std::to_string(std::thread::hardware_concurrency()));
  out.set_meta("recorder_id", run.recorder_id);
  out.set_meta("clock_id", clock.id());
  if (const FakeClock& fake = clock.fake(); fake != FakeClock{}) {
    out.set_meta("fake_clock", fmt::format("{} ns, {} ppm", fake.offset_ns,
                                           static_cast<double>(fake.drift_ppb) / 1e3));
  }
  out.set_meta("cuda_mode", run.cuda);
  out.set_meta("clock_source", tsc ? "tsc" : "monotonic");
  out.set_meta("ticks_per_second", std::to_string(std::llround(clock.ticks_per_second())));
  out.set_meta("origin_realtime_ns", std::to_string(clock.origin().realtime_ns));
  out.set_meta("origin_monotonic_raw_ns", std::to_string(clock.origin().monotonic_raw_ns));
}

void ProcessRecording::write_identity() {
  TraceOutput& out = *output_;
  write_recording_meta(out, clock_, run_);
  out.set_meta("pid", std::to_string(process_.pid));
  out.set_meta("command", process_.command);
  out.set_meta("detail", word_of(capture_.status().kept_detail));
  write_facts();
}

void ProcessRecording::keep_output(std::string_view lines) {
  output_->set_meta("output", mask_secrets(clean_text(lines)));
}

// A process's facts can arrive, and change, while it runs: a program can choose its own rank
// (mp.spawn).
void ProcessRecording::write_facts() {
  TraceOutput& out = *output_;
  const wire::Mapping& mapping = memory_->mapping();
  const Variables later = parse_variables(fact_text(mapping, wire::Fact::kRankVariables), '\n');
  if (!later.empty()) {
    const RankInfo found = find_rank(later);
    if (found.rank) process_.rank = found;
  }
  write_rank();
  constexpr std::pair<wire::Fact, std::string_view> kFacts[] = {
      {wire::Fact::kTorchVersion, "torch_version"}, {wire::Fact::kTorchBuildId, "torch_build_id"},
      {wire::Fact::kTorchSource, "torch_source"},   {wire::Fact::kNvtxSource, "nvtx_source"},
      {wire::Fact::kNcclSource, "nccl_source"},     {wire::Fact::kNcclVersion, "nccl_version"},
      {wire::Fact::kCuptiSource, "cuda_source"},    {wire::Fact::kCuptiVersion, "cupti_version"},
      {wire::Fact::kCudaDriver, "cuda_driver"},     {wire::Fact::kMemorySource, "memory_source"},
  };
  for (const auto& [fact, key] : kFacts) {
    const std::string text = fact_text(mapping, fact);
    if (!text.empty()) out.set_meta(key, clean_text(text));
  }
  // Exception messages can quote secrets from their input.
  const std::string raised = fact_text(mapping, wire::Fact::kException);
  raised_ = !raised.empty();
  if (raised_) out.set_meta("exception", mask_secrets(clean_text(raised)));
}

void ProcessRecording::write_rank() {
  const RankInfo& rank = process_.rank;
  TraceOutput& out = *output_;
  const auto set_number = [&](std::string_view key, std::optional<int> value) {
    if (value) out.set_meta(key, std::to_string(*value));
  };
  set_number("rank", rank.rank);
  set_number("local_rank", rank.local_rank);
  set_number("world_size", rank.world_size);
  set_number("node_rank", rank.node_rank);
  set_number("restart_count", rank.restart_count);
  out.set_meta("launcher", run_.ranks && rank.rank ? "dprof" : rank.launcher);
}

void ProcessRecording::write_remarks() {
  const wire::Mapping& mapping = memory_->mapping();
  for (const RemarkKind& kind : kRemarks) {
    const auto index = static_cast<uint32_t>(kind.remark);
    const uint32_t count = mapping.header()->remarks[index].load(std::memory_order_relaxed);
    if (count == 0) continue;
    const std::string more = fact_text(mapping, kind.fact);
    append_diagnostic(
        *output_, kind.code, count,
        more.empty() ? std::string(schema::diagnostic_kind(kind.code).sentence) : clean_text(more));
  }
}

void ProcessRecording::close() {
  DPROF_CHECK(done());
  thread_.join();
  write_facts();
  write_remarks();
  hooks_ = capture_.hooks();
  memory_.reset();
}

void ProcessRecording::rest() {
  output_->rest();
  in_gap_.store(output_->in_gap(), std::memory_order_relaxed);
  unwritten_.store(output_->unwritten(), std::memory_order_relaxed);
}

Result<bool> ProcessRecording::conclude(std::optional<int> rank) {
  DPROF_CHECK(!memory_);
  // Unwritable rows must be counted before the end of the trace states their number.
  if (!output_->settle()) return fail(output_->gap_cause());
  if (rank) process_.rank.rank = rank;
  if (!std::exchange(end_written_, true)) write_end();
  return output_->finish();
}

void ProcessRecording::write_end() {
  TraceOutput& out = *output_;
  write_rank();
  const DrainTotals totals = drain_.totals();
  const int64_t lost = totals.lost + out.unwritten();
  if (lost != 0) {
    append_diagnostic(out, "records_lost", lost, fmt::format("{} records were lost", lost));
  }
  if (ended_ == "process_killed") {
    append_diagnostic(out, "process_killed", 1,
                      exit_status_ ? fmt::format("it ended with {}", *exit_status_)
                                   : std::string("how it ended is unknown"));
  }
  if (totals.first_ns) out.set_meta("first_event_ns", std::to_string(*totals.first_ns));
  if (totals.last_ns) out.set_meta("last_event_ns", std::to_string(*totals.last_ns));
  out.set_meta("records", std::to_string(totals.records));
  if (hooks_.timed != 0) {
    out.set_meta("hook_ns", std::to_string(hooks_.ns));
    out.set_meta("hook_calls", std::to_string(hooks_.calls));
  }
  out.set_meta("in_process_ns", std::to_string(hooks_.ns));
  out.set_meta("recorder_cpu_ns", std::to_string(cpu_ns_));
  if (exit_status_) out.set_meta("exit_status", *exit_status_);
  if (declared_code_ >= 0) out.set_meta("exit_declared", std::to_string(declared_code_));
  out.set_meta("ended", ended_);
}

ProcessTotals ProcessRecording::totals() const {
  return {drain_.totals(), output_->unwritten(), ended_, process_.rank};
}

double measure_record_cost(const RunClock& clock) {
  constexpr int kRecords = 4096;  // a quarter of a ring: no wake-up
  std::vector<wire::Record> slots(wire::kRingSlots);
  wire::RingShared shared{};
  wire::ControlPage control{};
  wire::RingWriter writer(&shared, slots.data(), &control);
  wire::Record record{};
  record.kind = wire::Kind::kRangeBegin;
  record.slots = 1;
  const int64_t begin_ns = clock.now().ns;
  for (int i = 0; i < kRecords; ++i) {
    record.ticks = clock.now_ticks();
    writer.push(record);
  }
  return static_cast<double>(clock.now().ns - begin_ns) / kRecords;
}

}  // namespace dprof::recorder
