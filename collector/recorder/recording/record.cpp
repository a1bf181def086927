// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/recording/record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/format.h"
#include "collector/recorder/clocks/peers.h"
#include "collector/recorder/common/file_system.h"
#include "collector/recorder/common/open_files.h"
#include "collector/recorder/common/secrets.h"
#include "collector/recorder/control/control.h"
#include "collector/recorder/ranks/environment.h"
#include "collector/recorder/ranks/job.h"
#include "collector/recorder/ranks/server.h"
#include "collector/recorder/ranks/supervisor.h"
#include "collector/recorder/ranks/torch_verdict.h"
#include "collector/recorder/recording/hang_guard_internal.h"
#include "collector/recorder/recording/progress.h"
#include "collector/recorder/recording/recording_internal.h"
#include "collector/recorder/recording/why_silent.h"
#include "collector/recorder/rows/trace_output.h"
#include "collector/wire/hello.h"

namespace dprof::recorder {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::seconds;

constexpr seconds kClockInterval{1};  // of clock_sample, and of the progress line

// After the command's end, while its caller waits, too.
constexpr seconds kLongestWaitForRoom{10};

std::string traces_text(size_t traces) {
  return traces == 1 ? "a trace" : fmt::format("{} traces", traces);
}

std::string joined_words(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

bool wants_the_end(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

// Whether such a signal has arrived.
bool is_called_away(Command& command) {
  command.receive();
  bool called = false;
  while (const std::optional<SignalSeen> seen = command.next_signal())
    called |= wants_the_end(seen->signal);
  return called;
}

// Waits until the command has ended.
void wait_unrecorded(Command& command) {
  constexpr std::chrono::milliseconds kLook{200};  // for the end of an orphan's command
  for (command.receive(); command.running(); command.receive()) {
    while (command.next_signal()) {
    }
    command.wait(kLook);
  }
}

// The loop of one recording, in the main thread.
class Loop {
 public:
  Loop(const RecordOptions& options, Command& command, const RunClock& clock, RunFolder& folder,
       Server& server, Peers& peers, RunFacts facts)
      : options_(options),
        command_(command),
        clock_(clock),
        folder_(folder),
        server_(server),
        peers_(peers),
        progress_(options.show_progress),
        wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        sampler_(clock),
        recording_(clock, std::move(facts), folder, [this] { eventfd_write(wake_fd_.get(), 1); }) {}

  Recording& recording() { return recording_; }
  void be_controlled(ControlServer control) { control_.emplace(std::move(control)); }

  void run() {
    if (options_.on_hang)
      guard_.emplace(
          HangOptions{*options_.on_hang, options_.hang_after, options_.grace, server_.folder()},
          clock_, recording_, [this](const std::string& text) { say(text); });
    Steady::time_point next_sample = Steady::now() + kClockInterval;
    Steady::time_point next_system_sample = Steady::now() + sampler_.interval();
    Steady::time_point next_look = Steady::now() + sampler_.look_interval();
    // Ends when the command and every recorded process of it have ended, whoever their parent is by
    // then. A short-lived process can say hello and exit before it is noticed.
    for (;;) {
      while (!leaving_ && (command_.running() || recording_.busy())) {
        guarded([&] {
          turn(next_sample, next_system_sample, next_look);
          leave_those_that_stay();
        });
      }
      hear_signals();  // the signals can include the command's end
      welcome_all();
      recording_.watch([this](int pid) { return command_.ending_of(pid); });
      if (leaving_ || !recording_.busy()) break;
    }
    if (leaving_) recording_.leave();
    if (is_broken_) wait_unrecorded(command_);
    if (command_.is_orphan()) {
      recording_.diagnostics().push_back({"orphaned", "it is unknown how the command ended"});
    }
    command_.finish_output();
    recording_.finish({.ends = command_.rank_ends(),
                       .last_output = [this](int rank) { return command_.last_output(rank); }});
    wait_for_room();
    hear_signals();
    if (const int times = command_.revivals(); times > 0) {
      recording_.diagnostics().push_back(
          {"output_carrier", fmt::format("{} time{}", times, times == 1 ? "" : "s")});
    }
    progress_.clear();
  }

  // With --local: moves finished traces to the run folder, and updates `traces` with their names
  // there. SIGTERM does not stop it: Slurm sends one, and kills later.
  void move_home(std::vector<TraceEntry>& traces) {
    if (!folder_.local()) return;
    const seconds at_most = std::min(options_.linger, kLongestWaitForRoom);
    const Steady::time_point until = Steady::now() + at_most;
    std::vector<TraceEntry> moved;
    std::optional<Error> why;
    if (interrupts_ == 1) interrupts_ = 0;  // it was meant for the command
    for (bool again = true; again;) {
      why.reset();
      for (TraceEntry& trace : std::exchange(traces, {})) {
        const auto home = recorder::move_home(*folder_.local(), folder_.work_path() / trace.file,
                                              [this] { return goes_on(); });
        if (home.ok()) trace.file = home->filename().string();
        if (!home.ok() && !why) why = home.error();
        (home.ok() ? moved : traces).push_back(std::move(trace));
      }
      again = why && why->code == Code::kIo && Steady::now() < until && goes_on();
      if (again) command_.wait(TraceOutput::kRetry);
    }
    if (why) {
      note_left(*folder_.local(), traces.size(), why->what);
      say(fmt::format("{} left in {} of {}: {}\nhint: `dprof recover {}`, on that host, moves {}",
                      traces_text(traces.size()), folder_.work_path().string(), folder_.self().host,
                      why->what, folder_.path().string(), traces.size() == 1 ? "it" : "them"));
    }
    left_behind_ = traces.size();
    traces = std::move(moved);
  }

 private:
  bool goes_on() {
    folder_.beat();
    hear_signals();
    return interrupts_ == 0;
  }

  // An exception from a library (usually out of memory) costs one turn. If it happens again and
  // again, recording ends in order; the command does not.
  template <typename Work>
  void guarded(Work&& work) {
    constexpr int kMostFaults = 100;
    try {
      work();
    } catch (const std::exception& error) {
      if (faults_++ == 0)
        recording_.diagnostics().push_back(
            {"records_lost", fmt::format("within the recorder: {}", error.what())});
      if (faults_ < kMostFaults) return;
      leaving_ = true;
      is_broken_ = true;
    }
  }

  void turn(Steady::time_point& next_sample, Steady::time_point& next_system_sample,
            Steady::time_point& next_look) {
    wait(std::min({next_sample, next_system_sample, next_look}));
    hear_signals();
    welcome_all();
    serve_control();
    if (recording_.somebody_goes()) peers_.before_end();
    recording_.add_probes(peers_.take_probes());
    recording_.watch([this](int pid) { return command_.ending_of(pid); });
    report_write_gaps();
    recording_.conclude_done();
    if (guard_) guard_->look();
    if (Steady::now() >= next_system_sample) {
      sampler_.sample(recording_.sampled());
      next_system_sample = Steady::now() + sampler_.interval();
    }
    if (Steady::now() >= next_look) {
      sampler_.look(recording_.sampled());
      next_look = Steady::now() + sampler_.look_interval();
    }
    if (Steady::now() < next_sample) return;
    next_sample += kClockInterval;
    recording_.sample_clock();
    peers_.tick(folder_);
    show_progress();
    give_back_memory();
  }

  // After a burst (the recorder was stopped, a ring flooded) the allocator keeps the memory used
  // for it, in one arena per recording.
  static void give_back_memory() {
    constexpr size_t kMostUnused = size_t{32} << 20;
    if (mallinfo2().fordblks > kMostUnused) malloc_trim(0);
  }

  // A daemon started by the command must not keep the recorder running for ever.
  void leave_those_that_stay() {
    if (command_.running()) return;
    if (!linger_until_) linger_until_ = Steady::now() + options_.linger;
    if (Steady::now() < *linger_until_ || !recording_.busy()) return;
    const std::vector<int> pids = recording_.live_pids();
    if (pids.empty()) return;
    recording_.diagnostics().push_back(
        {"outlived",
         fmt::format("{} s after the command: {} {}", options_.linger.count(),
                     pids.size() == 1 ? "process" : "processes", fmt::join(pids, ", "))});
    leaving_ = true;
  }

  // Waits for room for traces whose end does not fit on a full disk.
  void wait_for_room() {
    const seconds at_most = std::min(options_.linger, kLongestWaitForRoom);
    if (recording_.unfinished() != 0 && !leaving_) {
      say(fmt::format("{}: {} cannot be finished; is the disk full? Waiting {} s for space",
                      folder_.work_path().string(), traces_text(recording_.unfinished()),
                      at_most.count()));
    }
    const Steady::time_point until = Steady::now() + at_most;
    while (recording_.unfinished() != 0 && !leaving_ && Steady::now() < until) {
      constexpr std::chrono::milliseconds kLook{200};
      command_.wait(kLook);
      command_.receive();
      while (const std::optional<SignalSeen> seen = command_.next_signal()) {
        report_signal(*seen);
        leaving_ |= wants_the_end(seen->signal);
      }
      recording_.conclude_done();
    }
    report_write_gaps();
    recording_.give_up_unfinished();
  }

  void wait(Steady::time_point until) {
    std::vector<pollfd> polled{{wake_fd_.get(), POLLIN, 0}};
    for (const int fd : command_.descriptors()) polled.push_back({fd, POLLIN, 0});
    for (const int fd : server_.descriptors()) polled.push_back({fd, POLLIN, 0});
    if (guard_ && guard_->descriptor() >= 0) polled.push_back({guard_->descriptor(), POLLIN, 0});
    for (const int fd : recording_.descriptors()) polled.push_back({fd, POLLIN, 0});
    for (const int fd : control_ ? control_->descriptors() : std::vector<int>()) {
      polled.push_back({fd, POLLIN, 0});
    }
    const auto pause = std::chrono::duration_cast<std::chrono::milliseconds>(until - Steady::now());
    poll(polled.data(), polled.size(), static_cast<int>(std::max<int64_t>(0, pause.count() + 1)));
    eventfd_t wakes = 0;
    eventfd_read(wake_fd_.get(), &wakes);
  }

  void serve_control() {
    if (!control_) return;
    control_->serve([this](const ControlRequest& request) { return answer(request); },
                    Steady::now());
  }

  // The answer to `dprof ctl`.
  std::string answer(const ControlRequest& request) {
    if (request.action == ControlAction::kTrigger && !recording_.capture().keep_s) {
      return render_refusal("there is no flight recorder: record with --keep S");
    }
    if (const auto capture = capture_request_of(request)) recording_.request(*capture);
    const Recording::Totals totals = recording_.totals();
    const RecorderFile& self = folder_.self();
    return render_status({self.id, self.host, self.pid, recording_.capture(),
                          recording_.process_status(), totals.events, totals.lost});
  }

  void welcome_all() {
    for (Guest& guest : server_.accept_all()) {
      command_.meet(guest.pid);
      recording_.welcome(std::move(guest));
    }
  }

  void hear_signals() {
    command_.receive();
    while (const std::optional<SignalSeen> seen = command_.next_signal()) on_signal(*seen);
  }

  void on_signal(const SignalSeen& seen) {
    report_signal(seen);
    const bool ends_orphan =
        seen.to_the_recorder && (seen.signal == SIGINT || seen.signal == SIGTERM);
    if (!ends_orphan && (seen.signal != SIGINT || ++interrupts_ < 2)) return;
    leaving_ = true;
    leaving_signal_ = seen.signal;
  }

  void report_signal(const SignalSeen& seen) {
    constexpr int kMostReported = 16;
    if (seen.signal == SIGWINCH || ++signals_reported_ > kMostReported) return;
    const double seconds = std::chrono::duration<double>(seen.when - started_).count();
    recording_.diagnostics().push_back(
        {"signal",
         fmt::format("{} after {:.1f} s, {}", name_of_signal(seen.signal), std::max(0.0, seconds),
                     seen.from_terminal ? std::string("by the terminal")
                                        : fmt::format("by process {}", seen.sender))});
  }

  void say(const std::string& text) {
    progress_.clear();
    options_.say(text);
  }

  // Reports write failures at once: at the end of the job it would be days too late.
  void report_write_gaps() {
    constexpr int kMostSaid = 16;
    const Recording::WriteGaps gaps = recording_.write_gaps();
    if ((gaps.traces != 0) == gap_since_.has_value()) return;
    if (gaps.traces != 0) {
      gap_since_ = Steady::now();
      if (++gaps_said_ > kMostSaid) return;
      say(fmt::format(
          "{}: {} cannot be written; is the disk full? The command continues, and recording "
          "resumes as soon as there is space",
          folder_.work_path().string(), traces_text(static_cast<size_t>(gaps.traces))));
      return;
    }
    const std::chrono::duration<double> lasted = Steady::now() - *gap_since_;
    gap_since_.reset();
    if (gaps_said_ > kMostSaid) return;
    say(fmt::format("{}: written again after {:.1f} s; {} rows are missing so far",
                    folder_.work_path().string(), lasted.count(), format_count(gaps.unwritten)));
  }

  void show_progress() {
    if (!options_.show_progress) return;
    const Recording::Totals totals = recording_.totals();
    const ProgressState state{totals.processes, totals.events, totals.lost, folder_.bytes(),
                              std::chrono::duration_cast<seconds>(Steady::now() - started_)};
    progress_.show(state);
  }

 public:
  [[nodiscard]] std::optional<int> leaving_signal() const { return leaving_signal_; }
  // Traces that move_home() could not move.
  [[nodiscard]] size_t left_behind() const { return left_behind_; }

 private:
  const RecordOptions& options_;
  Command& command_;
  const RunClock& clock_;
  RunFolder& folder_;
  Server& server_;
  Peers& peers_;
  ProgressLine progress_;
  Descriptor wake_fd_;
  SystemSampler sampler_;
  Recording recording_;
  std::optional<HangGuard> guard_;
  std::optional<ControlServer> control_;
  Steady::time_point started_ = Steady::now();
  int interrupts_ = 0;
  int signals_reported_ = 0;
  std::optional<Steady::time_point> gap_since_;
  int gaps_said_ = 0;
  std::optional<Steady::time_point> linger_until_;
  bool leaving_ = false;
  bool is_broken_ = false;
  int faults_ = 0;
  size_t left_behind_ = 0;
  std::optional<int> leaving_signal_;
};

CaptureSettings capture_of(const RecordOptions& options) {
  CaptureSettings capture;
  capture.detail = detail_level(options.detail);
  capture.window = options.window;
  capture.keep_s = options.keep_s;
  capture.max_overhead = options.max_overhead;
  return capture;
}

// What processes do before the recorder sets the control page: DPROF_DETAIL.
std::string first_detail(const CaptureSettings& capture) {
  const CapturePlan plan(capture, 0);
  const bool armed = plan.order().state != wire::CaptureState::kRecording;
  return fmt::format("{}{}", armed ? wire::kArmedPrefix : "", word_of(plan.order().detail));
}

// `dprof ctl` finds the recorder by its file. A recording without it is better than none.
void open_control(Loop& loop, const std::filesystem::path& socket, RecorderFile& self) {
  Result<ControlServer> control = ControlServer::open(socket);
  if (!control.ok()) {
    loop.recording().diagnostics().push_back({"no_control", control.error().what});
    return;
  }
  self.control_socket = control->path();
  loop.be_controlled(*std::move(control));
}

bool wants_stacks(const RecordOptions& options) {
  return options.on_hang && *options.on_hang != OnHang::kReport;
}

Variables own_variables() {
  Variables own;
  for (const std::string& entry : Environment::current().entries()) {
    const size_t equals = entry.find('=');
    own.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return own;
}

void report_missing_ranks(const RecordOptions& options, Recording& recording) {
  if (recording.traces().empty()) {
    std::string why = why_unreached(options.command);
    if (why.empty())
      why =
          why_silent(options.command.front(), Environment::current().get("PATH"), options.library);
    recording.diagnostics().push_back({"no_process", "no process of the command recorded anything" +
                                                         (why.empty() ? why : ": " + why)});
    return;
  }
  // Under `srun dprof record -- CMD` there is one recorder for each rank: the others are not ours.
  if (!options.ranks && find_rank(own_variables()).rank) return;
  const std::vector<int> missing = recording.missing_local_ranks(options.ranks);
  if (missing.empty()) return;
  recording.diagnostics().push_back(
      {"missing_rank",
       fmt::format("of this host's ranks, {} {} never seen", fmt::join(missing, ", "),
                   missing.size() == 1 ? "was" : "were")});
}

RunFacts facts_of(const RecordOptions& options, const RunFolder& folder, const RunClock& clock) {
  RunFacts facts;
  facts.run_id = folder.self().run_id;
  facts.recorder_id = folder.self().id;
  facts.host = host_name();
  facts.capture = capture_of(options);
  facts.ranks = options.ranks;
  facts.record_cost_ns = measure_record_cost(clock);
  facts.cuda = options.cuda;
  facts.watch_hangs = options.on_hang.has_value();
  if (std::error_code error; !options.library.empty()) {
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    facts.torch = std::make_shared<TorchVerdicts>(
        program, options.library.parent_path() / "libdprof_torch.so");
  }
  return facts;
}

void report_strange_peers(const RecordOptions& options, const Peers& peers, const Server& server,
                          Recording& recording) {
  const bool others = !options.ranks && recording.has_ranks_elsewhere();
  if (const std::optional<std::string> complaint = peers.complaint(others))
    recording.diagnostics().push_back({"no_peers", *complaint});
  if (const int64_t strangers = server.strangers(); strangers != 0) {
    recording.diagnostics().push_back(
        {"turned_away", fmt::format("{} connections that said no hello", strangers)});
  }
  if (const int64_t times = server.out_of_descriptors(); times != 0) {
    recording.diagnostics().push_back(
        {"no_descriptors", fmt::format("{} time{}", times, times == 1 ? "" : "s")});
  }
}

RecordOutcome outcome_of(const RunIndex& index, const RunFolder& folder, const Command& command,
                         Loop& loop) {
  RecordOutcome recorded;
  recorded.folder = folder.path();
  recorded.recorder = folder.self().name;
  recorded.command_code =
      loop.leaving_signal() ? 128 + *loop.leaving_signal() : command.exit_code();
  recorded.traces = static_cast<int64_t>(index.traces.size());
  for (const TraceEntry& trace : index.traces) {
    recorded.ranks += trace.rank ? 1 : 0;
    recorded.finished.push_back(folder.path() / trace.file);
  }
  Recording& recording = loop.recording();
  recorded.events = recording.totals().events;
  recorded.lost = recording.totals().lost;
  recorded.left_behind = static_cast<int64_t>(loop.left_behind());
  recorded.bytes = folder.bytes();
  recorded.diagnostics = recording.diagnostics();
  recorded.troubles_of_traces = recording.troubles_of_traces();
  return recorded;
}

// Reports once, at the start, which tools' settings dprof replaces.
void report_replaced(const RecordOptions& options, const Replaced& replaced) {
  std::vector<std::string> who, words;
  const auto add = [&](const char* variable, const std::string& before, const char* word) {
    if (before.empty()) return;
    who.push_back(fmt::format("{}={}", variable, before));
    words.emplace_back(word);
  };
  add("NVTX_INJECTION64_PATH", replaced.nvtx, "nvtx");
  add("NCCL_PROFILER_PLUGIN", replaced.nccl, "nccl");
  add("CUDA_INJECTION64_PATH", replaced.cuda, "cuda");
  if (who.empty()) return;
  options.say(fmt::format("replaces another tool ({}); `--yield {}` leaves it in place",
                          fmt::join(who, ", "), fmt::join(words, ",")));
}

// Prepared before the command starts.
struct Ready {
  RunClock clock;
  Peers peers;
  RunFolder folder;
  Server server;
};

Result<Ready> get_ready(const RecordOptions& options, const Job& job) {
  RunClock clock = RunClock::start(options.fake_clock.value_or(FakeClock{}));
  Result<Peers> peers = Peers::meet(options.meet, options.meet_key_file, job);
  if (!peers.ok()) return fail(peers.error());
  Result<RunFolder> folder = RunFolder::create(
      options.folder.empty() ? std::filesystem::path(default_run_name()) : options.folder,
      options.overwrite,
      {job, host_name(), clock.id(), peers->run_id(), clock.scale(), options.local});
  if (!folder.ok()) return fail(folder.error());
  if (folder->host_scale()) clock.take_rate_of(*folder->host_scale());
  Result<Server> server = Server::open();
  if (!server.ok()) return fail(server.error());
  return Ready{clock, *std::move(peers), *std::move(folder), *std::move(server)};
}

// Recording must not harm the job.
Result<RecordOutcome> run_unrecorded(const RecordOptions& options, Command& command,
                                     const Error& why) {
  options.say(fmt::format("{}; the command runs unrecorded{}{}", why.what,
                          why.hint.empty() ? "" : "\nhint: ", why.hint));
  if (const Status started = command.start(Environment::current()); !started.ok()) {
    return fail(started.error());
  }
  wait_unrecorded(command);
  command.finish_output();
  RecordOutcome recorded;
  recorded.command_code = command.exit_code();
  recorded.diagnostics.push_back({"not_recorded", why.what});
  return recorded;
}

// "No such file or directory" is also the error for a missing loader of the program.
Error with_reason(Error error, const std::string& command) {
  const std::string missing = error.code == Code::kNotFound
                                  ? missing_loader(command, Environment::current().get("PATH"))
                                  : std::string();
  if (!missing.empty()) {
    error.what += fmt::format(": its loader {} is not here", missing);
    error.hint = "it is a program for another C library (musl?) or another machine";
  }
  return error;
}

Result<RecordOutcome> record_job(const RecordOptions& options, Command& command) {
  const RaisedFileLimit many_files;
  const Variables variables = own_variables();
  Result<Ready> ready = get_ready(options, find_job(variables));
  if (!ready.ok() && ready.error().code == Code::kUsage) return fail(ready.error());
  if (!ready.ok()) return run_unrecorded(options, command, ready.error());
  auto& [clock, peers, folder, server] = *ready;

  const Result<std::filesystem::path> library = server.preloadable(options.library);
  if (!library.ok()) return run_unrecorded(options, command, library.error());
  Environment environment = Environment::current();
  RunFacts facts = facts_of(options, folder, clock);
  const std::optional<std::string> network = network_file_system(folder.work_path());
  if (network) facts.journal = schema::TraceWriter::Journal::kRollback;
  const bool nsight_compute = meets_nsight_compute(environment, options.command.front());
  facts.replaced = add_collector(
      environment,
      {*library, server.path(), clock.scale(), first_detail(facts.capture), options.cuda,
       options.python,
       wants_stacks(options) ? fmt::format("{} {}", getpid(), server.folder().string()) : "",
       options.yield_nvtx, options.yield_nccl, nsight_compute});
  if (nsight_compute && options.cuda != "off")
    options.say("Nsight Compute has CUDA to itself: kernels are not recorded");
  report_replaced(options, facts.replaced);
  if (const std::optional<Error>& why = folder.not_local()) {
    options.say(fmt::format("--local: {}; recording into {}\nhint: {}", why->what,
                            folder.path().string(), why->hint));
  }

  peers.start(clock, folder, variables);
  peers.tick(folder);
  Loop loop(options, command, clock, folder, server, peers, facts);
  Recording& recording = loop.recording();
  RunIndex index{facts.run_id,
                 mask_secrets(joined_words(options.command)),
                 options.ranks,
                 {facts.host},
                 {},
                 {}};
  const auto remark = [&](const char* code, const Status& done) {
    if (!done.ok()) recording.diagnostics().push_back({code, done.error().what});
  };
  // Joined recorders add themselves at their end: hundreds at once would wait for each other.
  if (!folder.joined()) remark("no_index", folder.write_index(index));
  open_control(loop, server.folder() / "ctl", peers.self());
  remark("no_control", peers.announce());
  if (const Status started = command.start(environment); !started.ok()) {
    folder.discard();
    return fail(with_reason(started.error(), options.command.front()));
  }
  loop.run();

  report_missing_ranks(options, recording);
  if (const std::optional<Error>& why = folder.not_local()) {
    recording.diagnostics().push_back(
        {"not_local",
         fmt::format("recorder {} did not use --local: {}", folder.self().name, why->what)});
  }
  if (network) {
    recording.diagnostics().push_back(
        {"slow_file_system", fmt::format("{} is on {}", folder.work_path().string(), *network)});
  }
  report_strange_peers(options, peers, server, recording);
  if (!index.world_size) index.world_size = recording.world_size();
  index.traces = recording.traces();
  loop.move_home(index.traces);
  index.diagnostics = recording.diagnostics();
  remark("no_index", folder.write_index(index));
  return outcome_of(index, folder, command, loop);
}

// An exception from a library (out of memory or descriptors) is an error; the command goes on.
Result<RecordOutcome> record_guarded(const RecordOptions& options, Command& command) try {
  return record_job(options, command);
} catch (const std::exception& error) {
  return fail(Code::kInternal, fmt::format("the recorder ended: {}", error.what()),
              "`dprof recover RUN` finishes its traces");
}

}  // namespace

Result<int> record(const RecordOptions& options,
                   const std::function<int(const RecordOutcome&)>& account) {
  const Supervision how{{options.command, options.ranks, options.grace},
                        options.show_progress ? kClearLine : "",
                        options.kept_lines,
                        options.say};
  return supervise(how, [&](Command& command) -> Result<int> {
    Result<RecordOutcome> recorded = record_guarded(options, command);
    if (!recorded.ok()) return fail(recorded.error());
    recorded->is_interrupted = [&command] { return is_called_away(command); };
    return account(*recorded);
  });
}

}  // namespace dprof::recorder
