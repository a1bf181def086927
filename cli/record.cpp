// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/record.h"

#include <fmt/format.h>

#include "base/format.h"
#include "cli/beside.h"
#include "cli/subcommand.h"
#include "schema/diagnostics.h"

namespace dprof::cli {
namespace {

namespace fs = std::filesystem;

// As env(1), nohup(1) and shells do.
constexpr int kCommandNotFound = 127;
constexpr int kCommandNotExecutable = 126;

constexpr char kDetails[] =
    "\nWithout -n the command runs once and its output is left alone: use it in front of torchrun "
    "or\n"
    "mpirun. With -n N it runs N times on this machine, as ranks 0 to N-1, with MASTER_ADDR,\n"
    "MASTER_PORT, RANK, LOCAL_RANK, WORLD_SIZE and LOCAL_WORLD_SIZE set; output lines begin with\n"
    "`[rank] `, and the first rank that fails ends the others.\n"
    "\n"
    "Examples:\n"
    "  dprof record -n 2 -- ./train --epochs 3\n"
    "  dprof record -o run1 -- torchrun --nproc-per-node=8 train.py\n"
    "  dprof record --detail full -- python train.py\n"
    "\n"
    "Exit codes: the command's own (128+N if signal N ended it), with -n that of the first rank "
    "that\n"
    "failed. 2 usage; 5 the command ended with 0, but something was lost; 126 and 127 the command\n"
    "cannot be executed, is not there; 125 dprof itself failed.\n";

Result<fs::path> find_library() {
#ifdef DPROF_SANITIZED
  return fs::path();  // a sanitizer's runtime cannot be preloaded into an ordinary program
#else
  const fs::path library = (program_folder() / "../lib/libdprof.so").lexically_normal();
  std::error_code error;
  if (fs::exists(library, error)) return library;
  return fail(
      Code::kInternal, fmt::format("{}: no such file", library.string()),
      "libdprof.so belongs into ../lib beside the dprof program: build or install it whole");
#endif
}

std::string plural(int64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", format_count(count), thing, count == 1 ? "" : "s");
}

void tell(const recorder::Recorded& recorded, Console& console) {
  for (const recorder::RunDiagnostic& diagnostic : recorded.diagnostics) {
    console.error({Code::kInternal, fmt::format("{}: {}", diagnostic.code, diagnostic.text),
                   std::string(schema::diagnostic_kind(diagnostic.code).hint)});
  }
  const int64_t others = recorded.traces - recorded.ranks;
  console.message(
      fmt::format("recorded {}{}, {}, {} lost, {} in {}", plural(recorded.ranks, "rank"),
                  others > 0 ? fmt::format(" and {} without a rank", others) : std::string(),
                  plural(recorded.events, "event"), format_count(recorded.lost),
                  format_bytes(recorded.bytes), recorded.folder.string()));
  if (recorded.traces > 0) {
    console.message(fmt::format("next: dprof report {}", recorded.folder.string()));
  }
}

class Record final : public Subcommand {
 public:
  std::string_view name() const override { return "record"; }
  std::string_view summary() const override { return "run a command and record its ranks"; }
  std::string_view details() const override { return kDetails; }

  void declare(CLI::App& app) override {
    app.add_option("-n", ranks_, "start the command N times, as N ranks on this machine")
        ->type_name("N")
        ->check(CLI::Range(1, kMaxRanks));
    app.add_option("-o", folder_, "run folder (default: ./dprof-YYYYMMDD-HHMMSS)")
        ->type_name("RUN");
    app.add_option(
           "--detail", options_.detail,
           "light: marked ranges, NVTX, autograd; standard: collectives too; full: every op")
        ->type_name("LEVEL")
        ->check(CLI::IsMember({"light", "standard", "full"}))
        ->capture_default_str();
    app.add_flag("--overwrite", options_.overwrite, "replace the run that RUN holds");
    app.add_option("COMMAND", options_.command, "what to run, with its arguments, after `--`")
        ->required();
    app.positionals_at_end();
  }

  Result<int> run(Console& console) override {
    const Result<fs::path> library = find_library();
    if (!library.ok()) return fail(library.error());
    options_.library = *library;
    options_.folder = folder_;
    if (ranks_ != 0) options_.ranks = ranks_;
    // Without -n the terminal is the command's alone.
    options_.show_progress = options_.ranks.has_value() && console.error_is_terminal();
    const Result<recorder::Recorded> recorded = recorder::record(options_);
    if (!recorded.ok()) return report_failure(recorded.error(), console);
    tell(*recorded, console);
    if (recorded->command_code != 0) return recorded->command_code;
    const bool missing =
        std::ranges::any_of(recorded->diagnostics, [](const recorder::RunDiagnostic& diagnostic) {
          return schema::diagnostic_kind(diagnostic.code).severity == schema::Severity::kDataLoss;
        });
    return code_of(recorded->lost > 0 || missing ? ExitCode::kSomethingLost : ExitCode::kGood);
  }

 private:
  static constexpr int kMaxRanks = 1024;

  static Result<int> report_failure(const Error& error, Console& console) {
    if (error.code != Code::kNotFound && error.code != Code::kUnsupported) return fail(error);
    console.error(error);
    return error.code == Code::kNotFound ? kCommandNotFound : kCommandNotExecutable;
  }

  recorder::RecordOptions options_;
  std::string folder_;
  int ranks_ = 0;
};

}  // namespace

std::unique_ptr<Subcommand> make_record() { return std::make_unique<Record>(); }

}  // namespace dprof::cli
