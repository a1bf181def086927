// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/import.h"

#include <fmt/format.h>

#include "analyzer/render/layout.h"
#include "base/format.h"
#include "cli/progress.h"
#include "cli/subcommand.h"

namespace dprof::cli {
namespace {

constexpr char kImportDetails[] =
    "\n"
    "Reads recordings of other tools and makes a run of them, which `dprof report` and `dprof gui`\n"
    "take like any other: Kineto and Chrome JSON (plain or .gz), PyTorch's flight-recorder dumps, NCCL\n"
    "Inspector. Formats and ranks are found by content, not by file name. "
    "A folder stands for all files\n"
    "in it. What cannot be used is counted, and the report says so.\n\n"
    "Examples:\n"
    "  dprof import traces/*.pt.trace.json.gz -o run1\n"
    "  dprof report run1 --rows steps-hta\n\n"
    "Exit codes: 0 good; 2 usage, or RUN holds another run; 3 a file is missing, damaged or of no\n"
    "known format (what could be read is imported all the same); 125 dprof itself failed.\n";

class Import final : public Subcommand {
 public:
  std::string_view name() const override { return "import"; }
  std::string_view summary() const override { return "make a run of another tool's recordings"; }
  std::string_view details() const override { return kImportDetails; }

  void declare(CLI::App& app) override {
    app.add_option("FILES", files_, "files, or folders of files")->required();
    app.add_option("-o", run_, "run folder to make")->type_name("RUN")->required();
    app.add_flag("--overwrite", options_.overwrite, "replace the run that is in RUN");
  }

  Result<int> run(Console& console) override {
    ProgressLine progress(console);
    const Result<analyzer::ImportSummary> summary =
        analyzer::import_files({files_.begin(), files_.end()}, run_, options_,
                               [&](const std::filesystem::path& file, double share) {
                                 progress.show(file.filename().string(), share);
                                 return true;
                               });
    progress.clear();
    if (!summary.ok()) return fail(summary.error());
    for (const analyzer::ImportedFile& file : summary->files) {
      console.message(fmt::format(
          "{}: {}, rank {}, {}{}", file.path.string(), file.format,
          file.ranks.empty() ? "unknown" : analyzer::rank_list(file.ranks),
          analyzer::plural(file.rows, "row"),
          file.skipped > 0 ? fmt::format(", {} not used", format_count(file.skipped)) : ""));
    }
    for (const analyzer::Diagnostic& remark : summary->diagnostics)
      console.message(fmt::format("{}: {}", remark.code, remark.text));
    return code_of(summary->damaged ? ExitCode::kUnreadable : ExitCode::kGood);
  }

 private:
  std::vector<std::string> files_;
  std::string run_;
  analyzer::ImportOptions options_;
};

}  // namespace

std::unique_ptr<Subcommand> make_import() { return std::make_unique<Import>(); }

}  // namespace dprof::cli
