// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/render/layout.h"
#include "base/format.h"
#include "base/lists.h"
#include "cli/progress.h"
#include "cli/subcommand.h"

namespace dprof::cli {
namespace {

constexpr size_t kMostFilesNamed = 100;  // beyond that only those with remarks

constexpr char kImportDetails[] =
    "\n"
    "Turns other tools' recordings into a run, which `dprof report` and `dprof gui` read like any\n"
    "other: Kineto and Chrome JSON (plain or .gz), PyTorch's flight-recorder dumps, NCCL Inspector,\n"
    "PyTorch's CUDA memory snapshots, SQLite exports of Nsight Systems (`nsys export --type sqlite`),\n"
    "rocprofv3's JSON. Formats and ranks are detected by content, not by file name. A folder means\n"
    "all files in it. Unusable rows are counted, and the report says so.\n\n"
    "--into adds memory snapshots, flight-recorder dumps and NCCL Inspector files to a recorded run\n"
    "of the same job, aligned by wall clock; all of them are added or, with a reason, none.\n\n"
    "Examples:\n"
    "  dprof import traces/*.pt.trace.json.gz -o run1\n"
    "  dprof import node0.sqlite node1.sqlite -o run2 --ranks 0-15\n"
    "  dprof import snapshot_rank0.pickle snapshot_rank1.pickle --into run3\n"
    "  dprof report run1 --rows steps-hta\n\n"
    "Exit codes: 0 good; 2 usage, or RUN holds another run; 3 a file is missing, damaged or of no\n"
    "known format (the readable files are imported anyway); 125 dprof itself failed.\n";

// What several files or ranks have in common: a text without their names and numbers.
std::string kind_of(const analyzer::Diagnostic& remark,
                    const std::set<std::string, std::less<>>& names) {
  std::string kind = remark.code;
  for (std::string_view text = remark.text; !text.empty();) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const std::string_view name = word.substr(word.rfind('/') + 1);
    const std::string_view bare = name.substr(0, name.find_last_not_of(":,;.") + 1);
    kind += ' ';
    if (!names.contains(bare)) kind += word;
  }
  std::erase_if(kind, [](char c) { return c >= '0' && c <= '9'; });
  return kind;
}

// One line for each kind of remark: the worst one, and their number. The traces contain all.
std::vector<std::string> lines_of(const analyzer::ImportSummary& summary) {
  struct Kind {
    const analyzer::Diagnostic* worst;
    int64_t remarks = 0;
    int64_t count = 0;
  };
  std::vector<Kind> kinds;
  std::map<std::string, size_t> known;
  std::set<std::string, std::less<>> names;
  for (const analyzer::ImportedFile& file : summary.files)
    names.insert(file.path.filename().string());
  for (const analyzer::Diagnostic& remark : summary.diagnostics) {
    const auto [entry, is_new] = known.try_emplace(kind_of(remark, names), kinds.size());
    if (is_new) kinds.push_back({&remark});
    Kind& kind = kinds[entry->second];
    if (remark.count > kind.worst->count) kind.worst = &remark;
    ++kind.remarks;
    kind.count += remark.count;
  }
  std::vector<std::string> lines;
  for (const Kind& kind : kinds) {
    std::string line = fmt::format("{}: {}", kind.worst->code, kind.worst->text);
    if (kind.remarks > 1) {
      line += fmt::format(" (and {} more of this kind", kind.remarks - 1);
      if (kind.count > kind.remarks) line += fmt::format(", {} in all", format_count(kind.count));
      line += ")";
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

class Import final : public Subcommand {
 public:
  std::string_view name() const override { return "import"; }
  std::string_view summary() const override { return "turn another tool's recordings into a run"; }
  std::string_view details() const override { return kImportDetails; }

  void declare(CLI::App& app) override {
    app.add_option("FILES", files_, "files, or folders of files")->required();
    CLI::Option* make = app.add_option("-o", run_, "run folder to create")->type_name("RUN");
    app.add_option("--into", into_, "recorded run to add the files to")
        ->type_name("RUN")
        ->excludes(make);
    app.add_option("--ranks", ranks_,
                   "ranks of the files (or of each process in them), in order: 0-7 or 1,0")
        ->type_name("LIST");
    app.add_flag("--overwrite", options_.overwrite, "replace the run in RUN");
  }

  Result<int> run(Console& console) override {
    if (!ranks_.empty()) {
      Result<std::vector<int>> ranks = parse_ranks_in_order(ranks_);
      if (!ranks.ok()) return fail(ranks.error());
      options_.ranks = *std::move(ranks);
    }
    if (run_.empty() && into_.empty())
      return fail(Code::kUsage, "no run given", "-o RUN makes one, --into RUN adds to one");
    ProgressLine progress(console);
    const analyzer::ImportProgress report_progress = [&](const std::filesystem::path& file,
                                                         double share) {
      progress.show(file.filename().string(), share);
      return true;
    };
    const std::vector<std::filesystem::path> files(files_.begin(), files_.end());
    const Result<analyzer::ImportSummary> summary =
        into_.empty() ? analyzer::import_files(files, run_, options_, report_progress)
                      : analyzer::add_files(files, into_, options_, report_progress);
    progress.clear();
    if (!summary.ok()) return fail(summary.error());
    std::map<std::string, size_t> of_format;
    for (const analyzer::ImportedFile& file : summary->files) {
      if (summary->files.size() > kMostFilesNamed && file.skipped == 0) {
        ++of_format[file.format];
        continue;
      }
      console.message(fmt::format(
          "{}: {}, {}, {}{}", file.path.string(), file.format,
          file.ranks.empty() ? "rank unknown" : analyzer::ranks_text(file.ranks),
          analyzer::plural(file.rows, "row"),
          file.skipped > 0 ? fmt::format(", {} not used", format_count(file.skipped)) : ""));
    }
    for (const auto& [format, files_of_it] : of_format)
      console.message(
          fmt::format("{} files: {}", format_count(static_cast<int64_t>(files_of_it)), format));
    for (const std::string& line : lines_of(*summary)) console.message(line);
    return code_of(summary->damaged ? ExitCode::kUnreadable : ExitCode::kGood);
  }

 private:
  std::vector<std::string> files_;
  std::string run_;
  std::string into_;
  std::string ranks_;
  analyzer::ImportOptions options_;
};

}  // namespace

std::unique_ptr<Subcommand> make_import() { return std::make_unique<Import>(); }

}  // namespace dprof::cli
