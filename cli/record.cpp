// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/recording/record.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "analyzer/render/layout.h"
#include "base/format.h"
#include "base/lists.h"
#include "cli/beside.h"
#include "cli/digest_after.h"
#include "cli/folder_pattern.h"
#include "cli/option_variables.h"
#include "cli/subcommand.h"
#include "cli/why_failed.h"
#include "collector/recorder/run/spokesman.h"
#include "schema/diagnostics.h"

namespace dprof::cli {
namespace {

namespace fs = std::filesystem;

// As in env(1), nohup(1) and shells.
constexpr int kCommandNotFound = 127;
constexpr int kCommandNotExecutable = 126;
// Of a failed run; a larger one is analysed on request, so that the user's prompt is not delayed.
constexpr int64_t kMostEventsAtOnce = 5'000'000;

constexpr char kRecordDetails[] =
    "\n"
    "Without -n the command runs once and its output is left alone: use it in front of torchrun or\n"
    "mpirun. With -n N it runs N times on this machine, as ranks 0 to N-1, with MASTER_ADDR,\n"
    "MASTER_PORT, RANK, LOCAL_RANK, WORLD_SIZE and LOCAL_WORLD_SIZE set; output lines begin with\n"
    "`[rank] `, and the first rank that fails ends the others.\n\n"
    "Every option is also a variable, in capitals and with _ for -: DPROF_RECORD_DETAIL=full. The\n"
    "command line wins; a flag is set by 1.\n\n"
    "Examples:\n"
    "  dprof record -n 2 -- ./train --epochs 3\n"
    "  dprof record -o run1 -- torchrun --nproc-per-node=8 train.py\n"
    "  srun dprof record -o runs/%j --local /tmp -- python train.py\n"
    "  dprof record --detail full -- python train.py\n\n"
    "Exit codes: the command's own (128+N if signal N ended it), with -n that of the first rank that\n"
    "failed. "
    "2 usage; 5 the command ended with 0, but something was lost, or nothing recorded;\n"
    "126, 127 the command cannot be executed, or was not found; 125 dprof itself failed.\n";

Result<fs::path> find_library() {
#ifdef DPROF_SANITIZED
  return fs::path();  // a sanitizer's runtime cannot be preloaded into an ordinary program
#else
  const fs::path library = library_folder() / "libdprof.so";
  std::error_code error;
  if (fs::exists(library, error)) return library;
  return fail(
      Code::kInternal, fmt::format("{}: no such file", library.string()),
      "libdprof.so belongs in ../lib next to the dprof program: rebuild or reinstall dprof");
#endif
}

void print_diagnostic(const recorder::RunDiagnostic& diagnostic, Console& console) {
  console.error({Code::kInternal, fmt::format("{}: {}", diagnostic.code, diagnostic.text),
                 std::string(schema::diagnostic_kind(diagnostic.code).hint)});
}

void print_outcome(const recorder::RecordOutcome& recorded, Console& console) {
  const auto was_said = [](const std::string& code) {  // already reported when it happened
    return code == "hang" || code == "hang_killed" || code == "not_local";
  };
  for (const recorder::RunDiagnostic& diagnostic : recorded.diagnostics) {
    if (!was_said(diagnostic.code)) print_diagnostic(diagnostic, console);
  }
  for (const recorder::RunDiagnostic& diagnostic : recorded.troubles_of_traces) {
    const bool said = std::ranges::any_of(
        recorded.diagnostics, [&](const auto& one) { return one.code == diagnostic.code; });
    if (!said) print_diagnostic(diagnostic, console);
  }
  if (recorded.folder.empty()) return;  // the command ran unrecorded
  const int64_t others = recorded.traces - recorded.ranks;
  console.message(
      fmt::format("recorded {}{}, {}, {} lost, {} in {}", analyzer::plural(recorded.ranks, "rank"),
                  others > 0 ? fmt::format(" and {} without a rank", others) : std::string(),
                  analyzer::plural(recorded.events, "event"), format_count(recorded.lost),
                  format_bytes(recorded.bytes), recorded.folder.string()));
  if (recorded.traces > 0) {
    console.message(fmt::format("next: dprof report {}", recorded.folder.string()));
  }
}

void print_why(const recorder::RecordOutcome& recorded, Console& console) {
  if (recorded.traces == 0 || recorded.events > kMostEventsAtOnce) return;
  if (const auto other = recorder::take_word(recorded.folder, recorded.recorder)) {
    console.message(fmt::format(
        "FAILED: {} says why",
        other->empty() ? "another recorder of this run" : fmt::format("the recorder {}", *other)));
    return;
  }
  const std::optional<WhyFailed> why = why_it_failed(recorded.folder);
  if (!why) {
    recorder::give_back_word(recorded.folder);
    return;
  }
  console.message("FAILED: " + why->what);
  if (!why->advice.empty()) console.print_error(fmt::format("       → {}\n", why->advice));
}

class Record final : public Subcommand {
 public:
  std::string_view name() const override { return "record"; }
  std::string_view summary() const override { return "run a command and record its ranks"; }
  std::string_view details() const override { return kRecordDetails; }

  void declare(CLI::App& app) override {
    app_ = &app;
    app.add_option("-n,--ranks", ranks_, "start the command N times, as N ranks on this machine")
        ->type_name("N")
        ->check(CLI::Range(1, kMaxRanks));
    app.add_option("-o,--output", folder_,
                   "run folder (default: ./dprof-YYYYMMDD-HHMMSS); %h host, %p process, %j batch "
                   "job, %q{VAR} variable")
        ->type_name("RUN");
    app.add_option(
           "--local", local_,
           "record to this local disk of the node, then move finished traces into RUN; placeholders "
           "as in -o")
        ->type_name("DIR");
    app.add_option(
           "--detail", options_.detail,
           "light: marked ranges, NVTX, autograd; standard: also collectives; full: every op")
        ->type_name("LEVEL")
        ->check(CLI::IsMember({"light", "standard", "full"}))
        ->capture_default_str();
    app.add_option(
           "--cuda", options_.cuda,
           "cupti: record the GPU; yield: wait until no other tool uses CUPTI; off: no GPU records")
        ->type_name("MODE")
        ->check(CLI::IsMember({"cupti", "yield", "off"}))
        ->capture_default_str();
    app.add_option("--python", options_.python,
                   "gc=off: leave Python's garbage collections out; gc=on: record them as ranges")
        ->type_name("WHAT")
        ->check(CLI::IsMember({"gc=on", "gc=off"}))
        ->capture_default_str();
    app.add_option("--yield", yield_,
                   "keep another tool's hook if it is already set: nvtx, nccl, cuda")
        ->type_name("WHAT")
        ->delimiter(',')
        ->check(CLI::IsMember({"nvtx", "nccl", "cuda"}));
    CLI::Option* steps =
        app.add_option("--steps", steps_, "record only steps A to B-1; A: means from A on");
    steps->type_name("A:B");
    app.add_option("--every", every_, "with --steps: repeat every N steps")
        ->type_name("N")
        ->check(CLI::PositiveNumber)
        ->needs(steps);
    app.add_option("--seconds", seconds_, "record only from second A to second B")
        ->type_name("A:B")
        ->excludes(steps);
    app.add_flag("--armed", armed_, "record nothing until `dprof ctl RUN start`")->excludes(steps);
    app.add_option(
           "--keep", keep_s_,
           "flight recorder: keep the last S seconds, saved at a hang, a crash or on request")
        ->type_name("S")
        ->check(CLI::PositiveNumber);
    app.add_option("--max-overhead", max_overhead_,
                   "lower the detail before recording costs more than this share of the time")
        ->type_name("PCT");
    CLI::Option* meet =
        app.add_option("--meet", options_.meet,
                       "meet the run's other recorders there if they share no run folder");
    meet->type_name("HOST:PORT");
    app.add_option("--meet-key-file", meet_key_file_,
                   "with --meet: a secret shared by all of them; never sent")
        ->type_name("FILE")
        ->needs(meet);
    app.add_option("--fake-clock", fake_clock_,
                   "shift this recorder's clock by OFFSET seconds and PPM (for tests)")
        ->type_name("OFFSET,PPM");
    app.add_option("--linger", linger_s_,
                   "how long to wait for recorded processes that outlive the command")
        ->type_name("S")
        ->check(CLI::Range(0, 1'000'000))
        ->capture_default_str();
    app.add_option(
           "--keep-output", options_.kept_lines,
           "with -n: how many of a failed rank's last lines on standard error to keep (0: none)")
        ->type_name("LINES")
        ->check(CLI::Range(0, kMostKeptLines))
        ->capture_default_str();
    CLI::Option* on_hang = app.add_option(
        "--on-hang", on_hang_,
        "when the job makes no progress: report which rank is missing, also take stacks of all "
        "threads, or also kill the ranks");
    on_hang->type_name("WHAT")->check(CLI::IsMember({"report", "stacks", "kill"}));
    app.add_option("--hang-after", hang_after_,
                   "time without a completed step or collective (default: 20 median "
                   "steps, at least 60 s)")
        ->type_name("TIME")
        ->needs(on_hang);
    app.add_option("--digest", digest_,
                   "on: digest the traces at the end, so that a report need not read them")
        ->type_name("WHEN")
        ->check(CLI::IsMember({"on", "off"}))
        ->capture_default_str();
    app.add_flag("--overwrite", options_.overwrite, "replace the run in RUN");
    app.add_option("COMMAND", options_.command, "the command and its arguments, after `--`")
        ->required();
    app.positionals_at_end();
    set_from_variables(app, kVariables);
  }

  Result<int> run(Console& console) override {
    for (const std::string& strange : strange_variables(*app_, kVariables, environ))
      console.message(strange);
    if (const Status read = read_options(); !read.ok()) return fail(read.error());
    const Result<fs::path> library = find_library();
    if (!library.ok()) return fail(library.error());
    options_.library = *library;
    const auto yields = [this](const char* what) { return std::ranges::count(yield_, what) != 0; };
    options_.yield_nvtx = yields("nvtx");
    options_.yield_nccl = yields("nccl");
    if (yields("cuda")) options_.cuda = "yield";
    options_.meet_key_file = meet_key_file_;
    if (ranks_ != 0) options_.ranks = ranks_;
    options_.linger = std::chrono::seconds(linger_s_);
    // Without -n only the command uses the terminal.
    options_.show_progress = options_.ranks.has_value() && console.error_is_terminal();
    options_.say = [&](const std::string& text) { console.message(text); };
    Result<int> code = recorder::record(options_, [&](const recorder::RecordOutcome& recorded) {
      print_outcome(recorded, console);
      if (digest_ == "on") digest_after(recorded, console);
      if (recorded.command_code != 0) print_why(recorded, console);
      return exit_code_of(recorded);
    });
    if (!code.ok()) return report_failure(code.error(), console);
    return code;
  }

 private:
  static constexpr int kMaxRanks = 1024;
  static constexpr int kMostKeptLines = 1000;
  static constexpr char kVariables[] = "DPROF_RECORD_";
  static constexpr int64_t kLongestSeconds = int64_t{366} * 24 * 3600;

  static int exit_code_of(const recorder::RecordOutcome& recorded) {
    if (recorded.command_code != 0) return recorded.command_code;
    const bool missing =
        std::ranges::any_of(recorded.diagnostics, [](const recorder::RunDiagnostic& diagnostic) {
          return diagnostic.code == "not_recorded" || diagnostic.code == "no_process" ||
                 schema::diagnostic_kind(diagnostic.code).severity == schema::Severity::kDataLoss;
        });
    // No library of dprof fits the process's torch: its operators and collectives are missing.
    const bool unfit = std::ranges::any_of(recorded.troubles_of_traces,
                                           [](const recorder::RunDiagnostic& trouble) {
                                             return trouble.code == "torch_version_mismatch" ||
                                                    trouble.code == "torch_library_missing";
                                           });
    return code_of(recorded.lost > 0 || recorded.left_behind > 0 || missing || unfit
                       ? ExitCode::kSomethingLost
                       : ExitCode::kGood);
  }

  Result<recorder::Window> read_window() const {
    using Kind = recorder::Window::Kind;
    recorder::Window window;
    if (armed_) window.kind = Kind::kArmed;
    if (steps_.empty() && seconds_.empty()) return window;
    if (armed_) {
      return fail(Code::kUsage, "--armed and --seconds cannot be combined",
                  "--armed waits for `dprof ctl RUN start`");
    }
    window.kind = steps_.empty() ? Kind::kSeconds : Kind::kSteps;
    const auto pair = parse_half_open(steps_.empty() ? seconds_ : steps_);
    if (!pair.ok()) return fail(pair.error());
    window.begin = pair->first;
    if (pair->second != INT64_MAX) window.end = pair->second;
    if (every_ != 0) window.every = every_;
    if (window.kind == Kind::kSeconds &&
        std::max(window.begin, window.end.value_or(0)) > kLongestSeconds) {
      return fail(Code::kUsage, fmt::format("--seconds {}: too late", seconds_));
    }
    return window;
  }

  Status read_options() {
    const PatternFacts facts{recorder::host_name(), getpid(),
                             [](const char* name) { return std::getenv(name); }};
    for (const auto& [pattern, path] :
         {std::pair{&folder_, &options_.folder}, std::pair{&local_, &options_.local}}) {
      const Result<std::string> expanded = expand_pattern(*pattern, facts);
      if (!expanded.ok()) return fail(expanded.error());
      *path = *expanded;
    }
    const Result<recorder::Window> window = read_window();
    if (!window.ok()) return fail(window.error());
    options_.window = *window;
    if (keep_s_ > kLongestSeconds) return fail(Code::kUsage, "--keep: a year at most");
    if (!on_hang_.empty()) {
      options_.on_hang = on_hang_ == "kill"     ? recorder::OnHang::kKill
                         : on_hang_ == "stacks" ? recorder::OnHang::kStacks
                                                : recorder::OnHang::kReport;
    }
    if (!hang_after_.empty()) {
      const Result<std::chrono::seconds> after = parse_seconds(hang_after_);
      if (!after.ok()) return fail(after.error());
      options_.hang_after = *after;
    }
    if (keep_s_ != 0) options_.keep_s = keep_s_;
    if (!max_overhead_.empty()) {
      const Result<double> share = parse_percent(max_overhead_);
      if (!share.ok()) return fail(share.error());
      options_.max_overhead = *share;
    }
    if (fake_clock_.empty()) return Done{};
    const Result<std::pair<double, double>> clock = parse_pair(fake_clock_);
    if (!clock.ok()) return fail(clock.error());
    constexpr double kMostSeconds = 1e6;
    constexpr double kMostPpm = 1000;
    if (!(std::abs(clock->first) <= kMostSeconds && std::abs(clock->second) <= kMostPpm)) {
      return fail(Code::kUsage, fmt::format("--fake-clock {}: out of range", fake_clock_),
                  "at most 1e6 seconds and 1000 ppm");
    }
    options_.fake_clock = recorder::FakeClock{.offset_ns = std::llround(clock->first * 1e9),
                                              .drift_ppb = std::llround(clock->second * 1e3)};
    return Done{};
  }

  static Result<int> report_failure(const Error& error, Console& console) {
    if (error.code != Code::kNotFound && error.code != Code::kUnsupported) return fail(error);
    console.error(error);
    return error.code == Code::kNotFound ? kCommandNotFound : kCommandNotExecutable;
  }

  recorder::RecordOptions options_;
  std::vector<std::string> yield_;
  CLI::App* app_ = nullptr;
  std::string folder_, local_, meet_key_file_, steps_, seconds_, max_overhead_, fake_clock_;
  std::string on_hang_, hang_after_;
  std::string digest_ = "on";
  bool armed_ = false;
  int64_t every_ = 0;
  int64_t keep_s_ = 0;
  int ranks_ = 0;
  int64_t linger_s_ = 60;
};

}  // namespace

std::unique_ptr<Subcommand> make_record() { return std::make_unique<Record>(); }

}  // namespace dprof::cli
