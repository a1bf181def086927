// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <malloc.h>

#include <string>
#include <vector>

#include "analyzer/exporting.h"
#include "base/lists.h"
#include "cli/progress.h"
#include "cli/subcommand.h"

namespace dprof::cli {
namespace {

constexpr char kExportDetails[] =
    "\nWrites a run for another tool:\n"
    "  perfetto    one file for ui.perfetto.dev: all ranks on one time axis, collectives as arrows\n"
    "              between them, findings as marks\n"
    "  chrome      a folder with one JSON file per rank, like PyTorch's profiler: for HTA,\n"
    "              TensorBoard and `dprof import`\n"
    "  csv         a folder with one file per table\n"
    "  parquet     the same tables as Parquet; needs a Python with pyarrow (python3, or DPROF_PYTHON)\n"
    "  speedscope  one file for speedscope.app: each thread and stream over time\n"
    "  folded      one line per stack with its own time in ns: for flame graphs\n\n"
    "A file whose name ends in .gz is compressed. What a format cannot hold is counted and reported;\n"
    "docs/export.md lists it.\n\n"
    "Examples:\n"
    "  dprof export run1 --format perfetto            writes run1.perfetto.gz\n"
    "  dprof export run1 --format chrome -o traces\n"
    "  dprof export run1 --format csv --ranks 0,4-7 --steps 20:30\n"
    "  dprof export run1 --format folded -o - | flamegraph.pl > run1.svg\n\n"
    "Exit codes: 0 good; 2 usage, or the folder is not empty; 3 a path is missing or cannot be read\n"
    "(the readable traces are written anyway); 125 dprof itself failed, or no pyarrow was found.\n";

class Export final : public Subcommand {
 public:
  std::string_view name() const override { return "export"; }
  std::string_view summary() const override { return "write a run for another tool"; }
  std::string_view details() const override { return kExportDetails; }

  void declare(CLI::App& app) override {
    app.add_option("RUN", paths_, "run folders, or traces")->required();
    app.add_option("--format", format_, "perfetto, chrome, csv, parquet, speedscope or folded")
        ->check(CLI::IsMember({"perfetto", "chrome", "csv", "parquet", "speedscope", "folded"}))
        ->required();
    app.add_option("-o", out_, "file or folder to create; default: named after the run")
        ->type_name("OUT");
    app.add_option("--ranks", ranks_, "only these ranks: 0,4-7")->type_name("LIST");
    app.add_option("--steps", steps_, "only what overlaps steps A to B, B excluded")
        ->type_name("A:B");
    app.add_flag("--raw", options_.raw, "csv, parquet: stored numbers instead of words");
  }

  Result<int> run(Console& console) override {
    if (const Status good = read_options(); !good.ok()) return fail(good.error());
    mallopt(M_MMAP_THRESHOLD, 1 << 20);  // as in `dprof report`
    const Result<analyzer::Run> run = analyzer::open_run({paths_.begin(), paths_.end()});
    if (!run.ok()) return fail(run.error());
    ProgressLine progress(console);
    const auto show = [&](std::string_view stage, double share) {
      progress.show(stage, share);
      return true;
    };
    const std::filesystem::path out =
        out_.empty() ? analyzer::default_export_path(options_.format, run->name)
                     : std::filesystem::path(out_);
    const Result<analyzer::Exported> exported =
        analyzer::export_analysed(*run, options_, out, show);
    progress.clear();
    if (!exported.ok()) return fail(exported.error());
    for (const std::string& line : analyzer::describe_export(exported->summary, out))
      console.message(line);
    return code_of(exported->damaged ? ExitCode::kUnreadable : ExitCode::kGood);
  }

 private:
  Status read_options() {
    options_.format = *analyzer::export_format_of_word(format_);
    if (options_.raw && options_.format != analyzer::ExportFormat::kCsv &&
        options_.format != analyzer::ExportFormat::kParquet)
      return fail(Code::kUsage, "--raw needs --format csv or parquet");
    if (!steps_.empty()) {
      const Result<std::pair<int64_t, int64_t>> steps = parse_half_open(steps_);
      if (!steps.ok()) return fail(steps.error());
      options_.steps = *steps;
    }
    if (!ranks_.empty()) {
      Result<std::vector<int>> ranks = parse_rank_list(ranks_);
      if (!ranks.ok()) return fail(ranks.error());
      options_.ranks = *std::move(ranks);
    }
    return Done{};
  }

  std::vector<std::string> paths_;
  std::string format_;
  std::string out_;
  std::string ranks_;
  std::string steps_;
  analyzer::ExportOptions options_;
};

}  // namespace

std::unique_ptr<Subcommand> make_export() { return std::make_unique<Export>(); }

}  // namespace dprof::cli
