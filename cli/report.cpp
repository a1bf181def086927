// SPDX-License-Identifier: Apache-2.0
#include "gui/html/report.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "analyzer/analysis.h"
#include "analyzer/render/explain.h"
#include "analyzer/render/json.h"
#include "analyzer/render/layout.h"
#include "analyzer/render/markdown.h"
#include "analyzer/render/text.h"
#include "analyzer/replay/change.h"
#include "analyzer/report/focus.h"
#include "analyzer/run/run.h"
#include "base/format.h"
#include "base/lists.h"
#include "cli/beside.h"
#include "cli/mpi/digests.h"
#include "cli/mpi/launcher.h"
#include "cli/progress.h"
#include "cli/run_input.h"
#include "cli/subcommand.h"
#include "collector/recorder/run/run_folder.h"

namespace dprof::cli {
namespace {

constexpr char kReportDetails[] =
    "\nRUN is a folder written by `dprof record`, or a single trace in it (rank-00000.dprof). "
    "Several\n"
    "folders of one run (one per host) are read together.\n\n"
    "Examples:\n"
    "  dprof report run1\n"
    "  dprof report run1 --format json -o report.json\n"
    "  dprof report run1 --steps 20:120 --ranks 0,4-7\n"
    "  dprof report run1 --rank 5\n"
    "  dprof report run1 --explain 1          how finding 1 was decided, and what would refute it\n"
    "  dprof report run1 --sections overlap,links\n"
    "  dprof report run1 --what-if input=0 --what-if rank:1=peers\n"
    "  dprof report run1 --format markdown    for a pull request\n"
    "  dprof report run1 --format html -o report.html    one file with pictures, for a browser\n"
    "  mpirun -n 8 dprof report run1          eight processes read the traces, the first one reports\n\n"
    "The digest of a finished trace is cached in RUN/.digest, or if that cannot be written in\n"
    "$XDG_CACHE_HOME/dprof, and reused until the trace or dprof changes.\n\n"
    "Exit codes: 0 good; 2 usage; 3 a path is missing or cannot be read (the readable traces\n"
    "are reported anyway); 5 a process of the MPI job died, but the report is complete; 125 dprof\n"
    "itself failed.\n";

std::string words_of(const analyzer::FirstLook& look) {
  std::string words = "preliminary: " + analyzer::plural(look.ranks, "rank");
  if (look.steps) {
    words += fmt::format(", {} of {}", analyzer::plural(look.steps->count, "step"),
                         format_duration({look.steps->median_ns}));
  }
  if (!look.slow) return words;
  if (look.slow->empty()) return words + "; no rank's own work stands out";
  return words + fmt::format("; largest own delay: rank {}, {} per step", look.slow->front().rank,
                             format_ms({look.slow->front().own_delay_ns}));
}

class Report final : public Subcommand {
 public:
  std::string_view name() const override { return "report"; }
  std::string_view summary() const override {
    return "explain what happened, and what to do about it";
  }
  std::string_view details() const override { return kReportDetails; }

  void declare(CLI::App& app) override {
    app.add_option("RUN", paths_, "run folders, or traces")->required();
    app.add_option("--format", format_,
                   "text for people, json for programs, markdown for pull requests, html: one page "
                   "with pictures")
        ->check(CLI::IsMember({"text", "json", "markdown", "html"}))
        ->capture_default_str();
    app.add_option("-o", file_, "write to FILE instead of stdout")->type_name("FILE");
    app.add_option("--steps", steps_, "only steps A to B, B excluded")->type_name("A:B");
    app.add_option("--ranks", ranks_, "only these ranks: 0,4-7")->type_name("LIST");
    app.add_option("--rank", rank_, "show one rank; all are analysed and compared")->type_name("N");
    rows_given_ =
        app.add_option(
               "--rows", rows_,
               "which GPU rows the GPU table counts: all; linked, those with a launching call; "
               "steps-hta, as HTA does")
            ->check(CLI::IsMember({"all", "linked", "steps-hta"}))
            ->capture_default_str();
    app.add_flag("!--no-cache", cache_, "do not use or write cached digests");
    app.add_flag("--no-mpi", no_mpi_, "work alone, even if mpirun or srun started this process");
    app.add_option(
           "--mpi-timeout", mpi_timeout_s_,
           "give up on another process of the MPI job after this long without a sign of life")
        ->type_name("SECONDS")
        ->check(CLI::Range(1, 86'400))
        ->capture_default_str();
    top_given_ = app.add_option("--top", top_,
                                "how many findings and collectives to show (text, markdown, html)")
                     ->type_name("K")
                     ->check(CLI::Range(1, 1000))
                     ->capture_default_str();
    app.add_option("--explain", explain_,
                   "finding K alone: how it was decided, from which rows, what would refute it")
        ->type_name("K");
    app.add_option("--what-if", changes_,
                   "predict the step time with this change; repeat for a combination: " +
                       analyzer::change_examples())
        ->type_name("CHANGE")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
    app.add_option("--sections", sections_,
                   "sections to print in full after the findings (text): all, none, or some of " +
                       analyzer::section_words(", ") +
                       "; hang alone: what hung, without any figures")
        ->type_name("LIST");
  }

  Result<int> run(Console& console) override {
    analyzer::AnalysisOptions options;
    if (!steps_.empty()) {
      const Result<std::pair<int64_t, int64_t>> steps = parse_half_open(steps_);
      if (!steps.ok()) return fail(steps.error());
      options.steps = *steps;
    }
    if (!ranks_.empty()) {
      Result<std::vector<int>> ranks = parse_rank_list(ranks_);
      if (!ranks.ok()) return fail(ranks.error());
      options.ranks = *std::move(ranks);
    }
    options.rows = rows_ == "linked"      ? analyzer::RowFilter::kLinked
                   : rows_ == "steps-hta" ? analyzer::RowFilter::kStepsHta
                                          : analyzer::RowFilter::kAll;
    for (const std::string& text : changes_) {
      Result<analyzer::Change> change = analyzer::parse_change(text);
      if (!change.ok()) return fail(change.error());
      options.what_if.push_back(*std::move(change));
    }
    if (explain_ && (format_ == "json" || format_ == "html")) {
      return fail(Code::kUsage, "--explain needs --format text or markdown",
                  "JSON and HTML have it for every finding");
    }
    if (const Status good = choose_sections(); !good.ok()) return fail(good.error());
    // Vectors of millions grow and shrink: return their memory to the system at once.
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    options.cache = cache_;
    options.pieces = format_ == "html";  // for its pictures
    if (format_ == "json" || format_ == "html") options.names = analyzer::Names::kMostRanks;
    if (no_mpi_ || !found_launcher()) return report(options, console);
    return report_in_team(options, console);
  }

 private:
  static std::optional<Launched> found_launcher() {
    const std::optional<Launched> launched =
        find_launched([](const char* name) { return std::getenv(name); });
    return launched && launched->of > 1 ? launched : std::nullopt;
  }

  // One of several processes started by mpirun or srun: number 0 reports, the others help.
  Result<int> report_in_team(analyzer::AnalysisOptions& options, Console& console) {
    const std::filesystem::path library = library_folder() / "libdprof_mpi.so";
    std::error_code error;
    if (!std::filesystem::exists(library, error)) {
      if (found_launcher()->number != 0) return code_of(ExitCode::kGood);
      console.message("built without MPI: process 0 makes the report alone");
      return report(options, console);
    }
    const std::chrono::seconds patience(mpi_timeout_s_);
    Result<std::unique_ptr<Team>> team = Team::join(library, patience);
    if (!team.ok()) return fail(team.error());
    if ((*team)->size() == 1) {
      if (found_launcher()->number != 0) return code_of(ExitCode::kGood);
      console.message("MPI reports a single process (is it a different MPI from the launcher's?)");
    }
    const auto work = [&] {
      return TeamWork{.team = **team,
                      .patience = patience,
                      .host = recorder::host_name(),
                      .say = [&](const std::string& text) { console.message(text); }};
    };
    if ((*team)->number() != 0) {
      const Status helped = help(work());
      if (helped.ok()) return code_of(ExitCode::kGood);
      console.error(helped.error());
      return code_of(ExitCode::kInternal);
    }
    options.digests = [&](std::span<const analyzer::TraceFile> traces, bool cache,
                          const analyzer::Progress& progress) {
      auto digests = digests_of_all(work(), traces, cache, progress);
      // The others' nodes are free from now on.
      if (!(*team)->has_lost_one()) team->reset();
      return digests;
    };
    return report(options, console);
  }

  Result<int> report(const analyzer::AnalysisOptions& options, Console& console) {
    const Result<analyzer::Run> run = analyzer::open_run({paths_.begin(), paths_.end()});
    if (!run.ok()) return fail(run.error());
    ProgressLine progress(console);
    analyzer::AnalysisOptions asked = options;
    if (console.error_is_terminal()) {
      asked.first_look = [&](const analyzer::FirstLook& look) { progress.keep(words_of(look)); };
    }
    Result<analyzer::Analysis> analysis =
        analyzer::analyze(*run, asked, [&](std::string_view stage, double share) {
          progress.show(stage, share);
          return true;
        });
    progress.clear();
    if (!analysis.ok()) return fail(analysis.error());
    if (rank_ && std::ranges::count(analysis->ranks, *rank_, &analyzer::RankAnalysis::rank) == 0) {
      return fail(Code::kNotFound, fmt::format("{}: no trace of rank {}", run->name, *rank_),
                  "`dprof report` without --rank lists the ranks");
    }
    if (rank_) analysis->report = analyzer::seen_from(analysis->report, *rank_);
    const bool damaged = analysis->damaged;
    const Result<std::string> text =
        format_ == "html" ? html_of(*run, *std::move(analysis))
                          : rendered(analysis->report, run->traces, analysis->ranks, console);
    if (!text.ok()) return fail(text.error());
    const Status shown = show_text(*text, file_, console);
    if (!shown.ok()) return fail(shown.error());
    return code_of(damaged ? ExitCode::kUnreadable : ExitCode::kGood);
  }

  // What the text shows after the findings. GPU rows are counted for their table if it is asked for
  // by name. What is asked is answered, whatever else is shown.
  Status choose_sections() {
    if (!sections_.empty()) {
      Result<std::vector<analyzer::Section>> chosen = analyzer::parse_sections(sections_);
      if (!chosen.ok()) return fail(chosen.error());
      text_.sections = *std::move(chosen);
      if (!changes_.empty()) text_.besides = {analyzer::Section::kWhatIf};
    } else if (rows_given_ != nullptr && rows_given_->count() > 0) {
      text_.besides = {analyzer::Section::kGpu};
    }
    return Done{};
  }

  [[nodiscard]] Result<std::string> rendered(const analyzer::Report& report,
                                             std::span<const analyzer::TraceFile> traces,
                                             std::span<const analyzer::RankAnalysis> ranks,
                                             const Console& console) const {
    analyzer::TextOptions text = text_;
    text.width = console.width();
    text.colour = file_.empty() && console.colour();
    text.top = top_;
    if (explain_) {
      const Result<analyzer::Explanation> explanation =
          analyzer::explain(report, *explain_, {.traces = traces, .ranks = ranks});
      if (!explanation.ok()) return fail(explanation.error());
      return format_ == "markdown" ? analyzer::render_markdown(*explanation)
                                   : analyzer::render_text(*explanation, text);
    }
    if (format_ == "json") return analyzer::render_json(report);
    if (format_ == "markdown") return analyzer::render_markdown(report, {.top = top_});
    return analyzer::render_text(report, text);
  }

  [[nodiscard]] std::string html_of(analyzer::Run run, analyzer::Analysis analysis) const {
    html::HtmlOptions options{.version = DPROF_VERSION};
    if (top_given_->count() > 0) options.top = top_;
    return html::render_html(std::move(run), std::move(analysis), options);
  }

  std::vector<std::string> paths_;
  std::string format_ = "text";
  std::string file_;
  std::string steps_;
  std::string ranks_;
  std::optional<int> rank_;
  std::string rows_ = "all";
  bool cache_ = true;
  bool no_mpi_ = false;
  int mpi_timeout_s_ = 600;
  int top_ = analyzer::TextOptions{}.top;
  std::optional<int> explain_;
  std::string sections_;
  std::vector<std::string> changes_;
  const CLI::Option* rows_given_ = nullptr;
  const CLI::Option* top_given_ = nullptr;
  analyzer::TextOptions text_;
};

}  // namespace

std::unique_ptr<Subcommand> make_report() { return std::make_unique<Report>(); }

}  // namespace dprof::cli
