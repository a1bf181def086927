// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/run/recover.h"

#include <fmt/format.h>

#include "cli/subcommand.h"

namespace dprof::cli {
namespace {

constexpr char kRecoverDetails[] =
    "\n"
    "Everything that the recorder had committed (five times a second) is kept; what came later is\n"
    "lost, and the trace says so. A complete run is left alone. Traces that `record --local` left on\n"
    "the disk of this node are moved into the run folder; for those on other nodes it says where they\n"
    "are.\n\n"
    "Examples:\n"
    "  dprof recover run1\n\n"
    "Exit codes: 0 the run is complete; 5 traces were completed without their end, or are on other\n"
    "nodes; 2 the run is still being recorded; 3 the folder does not exist, or a trace is damaged;\n"
    "125 dprof itself failed.\n";

class Recover final : public Subcommand {
 public:
  std::string_view name() const override { return "recover"; }
  std::string_view summary() const override { return "finish a run whose recorder was killed"; }
  std::string_view details() const override { return kRecoverDetails; }

  void declare(CLI::App& app) override { app.add_option("RUN", run_, "run folder")->required(); }

  Result<int> run(Console& console) override {
    const Result<recorder::Recovered> recovered = recorder::recover_run(run_);
    if (!recovered.ok()) return fail(recovered.error());
    for (const Error& damage : recovered->damaged) console.error(damage);
    for (const Error& away : recovered->elsewhere) console.error(away);
    console.message(fmt::format(
        "{}: {} finished, {} already complete, {} damaged{}", run_, recovered->finished,
        recovered->whole, recovered->damaged.size(),
        recovered->moved == 0
            ? std::string()
            : fmt::format("; {} moved here from this node's own disk", recovered->moved)));
    if (!recovered->damaged.empty()) return code_of(ExitCode::kUnreadable);
    const bool lacks = recovered->finished > 0 || !recovered->elsewhere.empty();
    return code_of(lacks ? ExitCode::kSomethingLost : ExitCode::kGood);
  }

 private:
  std::string run_;
};

}  // namespace

std::unique_ptr<Subcommand> make_recover() { return std::make_unique<Recover>(); }

}  // namespace dprof::cli
