// SPDX-License-Identifier: Apache-2.0
#include "analyzer/check/check.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "analyzer/check/formats.h"
#include "analyzer/check/settings.h"
#include "base/lists.h"
#include "cli/history.h"
#include "cli/run_input.h"
#include "cli/subcommand.h"
#include "gui/html/comparison.h"

namespace dprof::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kSettingsFile[] = "dprof-check.toml";
constexpr size_t kNewestBaselines = 10;  // of a history: older ones are from other code

constexpr char kCheckDetails[] =
    "\nPasses a run if it ended well, its steps take no longer than the baselines', it stays within the\n"
    "budgets of dprof-check.toml (in the working folder, if there is one), and it has no finding at or\n"
    "above --fail-on that the baselines lack. A baseline is a run folder, a JSON report, or a folder\n"
    "kept by `dprof baseline`.\n\n"
    "If the noise is too large to decide, the exit code is 4, and the output says what would help.\n\n"
    "Examples:\n"
    "  dprof check run1 --baseline baselines            against the ten newest in a folder\n"
    "  dprof check run1 --baseline before.json --max-slowdown 3%\n"
    "  dprof check run1 --ci auto                       budgets and findings, in the CI system's format\n"
    "  dprof check run1 --baseline baselines --format junit -o dprof.xml\n"
    "  dprof check run1 --baseline baselines --format html -o check.html\n"
    "  dprof check run1 --baseline baselines --max-runs 4 \\\n"
    "    --confirm 'dprof record -n 2 -o \"$DPROF_RUN\" -- ./train'\n\n"
    "Exit codes: 0 good; 1 slower, over a budget, a finding, or a run that failed; 4 cannot tell;\n"
    "2 usage, also of dprof-check.toml; 3 a run or baseline cannot be read; 125 dprof itself failed.\n";

// "" = not set.
std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}
bool is_set(const char* name) { return !variable(name).empty(); }

class CheckVerb final : public Subcommand {
 public:
  std::string_view name() const override { return "check"; }
  std::string_view summary() const override { return "pass or fail a run, for CI"; }
  std::string_view details() const override { return kCheckDetails; }

  void declare(CLI::App& app) override {
    app.add_option("RUN", run_, "a run folder, or a report as JSON")->required();
    app.add_option("--baseline", baselines_,
                   "what to compare with: runs, reports or a folder of them")
        ->type_name("BASE");
    app.add_option(
           "--max-slowdown", max_slowdown_,
           "how much longer steps may take, such as 3%; default: what noise allows, at least 2 %")
        ->type_name("PCT");
    app.add_option("--fail-on", fail_on_,
                   "lowest severity that fails: info, warn, critical (default)")
        ->check(CLI::IsMember({"info", "warn", "critical"}));
    app.add_option("--rules", settings_file_, "settings file instead of dprof-check.toml")
        ->type_name("FILE");
    app.add_option("--format", format_,
                   "text, json, html, junit, markdown, github, gitlab, openmetrics, benchmark")
        ->check(CLI::IsMember({"text", "json", "html", "junit", "markdown", "github", "gitlab",
                               "openmetrics", "benchmark"}))
        ->capture_default_str();
    app.add_option("-o", file_, "write to FILE instead of stdout")->type_name("FILE");
    app.add_option("--ci", ci_, "auto: also write what the CI system expects")
        ->check(CLI::IsMember({"auto"}));
    app.add_option("--confirm", confirm_,
                   "while undecided, run CMD, which records into the folder $DPROF_RUN")
        ->type_name("CMD");
    app.add_option("--max-runs", max_runs_,
                   "maximum number of runs, including those from --confirm")
        ->type_name("N")
        ->check(CLI::Range(1, 100))
        ->capture_default_str();
  }

  Result<int> run(Console& console) override {
    Result<analyzer::CheckSettings> settings = read_settings();
    if (!settings.ok()) return fail(settings.error());
    if (const Status read = read_baselines(console); !read.ok()) return fail(read.error());
    if (const Status read = read_run(run_, console); !read.ok()) return fail(read.error());
    analyzer::CheckResult result = judge(*settings);
    if (!confirm_.empty()) {
      while (wants_another(result) && runs_.size() < static_cast<size_t>(max_runs_)) {
        if (const Status more = record_another(console); !more.ok()) return fail(more.error());
        result = judge(*settings);
      }
    }
    if (const Status shown = show_text(rendered(result, console), file_, console); !shown.ok())
      return fail(shown.error());
    if (ci_ == "auto") {
      if (const Status reported = report_to_ci(result, console); !reported.ok())
        return fail(reported.error());
    }
    return code_of(result.code());
  }

 private:
  Result<analyzer::CheckSettings> read_settings() const {
    analyzer::CheckSettings settings;
    const std::string path = settings_file_.empty() ? kSettingsFile : settings_file_;
    std::error_code error;
    if (fs::exists(path, error)) {
      std::ifstream file(path, std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      Result<analyzer::CheckSettings> read = analyzer::parse_check_settings(text, path);
      if (!read.ok()) return fail(read.error());
      settings = *std::move(read);
    } else if (!settings_file_.empty()) {
      return fail(Code::kUsage, fmt::format("{}: no such file", path), "see --rules");
    }
    if (!max_slowdown_.empty()) {
      const Result<double> share = parse_percent(max_slowdown_);
      if (!share.ok()) return fail(share.error());
      settings.max_slowdown = *share;
    }
    if (!fail_on_.empty()) settings.fail_on = *analyzer::severity_of_word(fail_on_);
    return settings;
  }

  Status read_baselines(Console& console) {
    for (const std::string& path : baselines_) {
      std::vector<std::string> entries{path};
      if (is_history(path)) {
        Result<std::vector<fs::path>> found = history_entries(path);
        if (!found.ok()) return fail(found.error());
        const size_t first = found->size() - std::min(found->size(), kNewestBaselines);
        entries.assign(found->begin() + static_cast<ptrdiff_t>(first), found->end());
        from_history_ = true;
      }
      for (const std::string& entry : entries) {
        Result<analyzer::RunFacts> facts = read_run_facts(entry, console);
        if (!facts.ok()) return fail(facts.error());
        baseline_facts_.push_back(*std::move(facts));
      }
    }
    return Done{};
  }

  Status read_run(const std::string& path, Console& console) {
    Result<analyzer::RunFacts> facts = read_run_facts(path, console);
    if (!facts.ok()) return fail(facts.error());
    runs_.push_back(*std::move(facts));
    return Done{};
  }

  [[nodiscard]] analyzer::CheckResult judge(const analyzer::CheckSettings& settings) const {
    const auto now = std::chrono::system_clock::now();
    return analyzer::check({.runs = runs_,
                            .baselines = baseline_facts_,
                            .is_history = from_history_,
                            .today = std::chrono::floor<std::chrono::days>(now)},
                           settings);
  }

  // Undecided, or slower by one run alone: confirmed before an alarm is raised.
  [[nodiscard]] static bool wants_another(const analyzer::CheckResult& result) {
    const auto step = std::ranges::find(result.cases, "step_time", &analyzer::CheckCase::name);
    if (step == result.cases.end()) return false;
    return step->outcome == analyzer::Outcome::kUndecided ||
           (step->outcome == analyzer::Outcome::kFailed && result.diff && result.diff->step &&
            result.diff->step->runs_b == 1);
  }

  Status record_another(Console& console) {
    const std::string folder = fmt::format("{}.confirm-{}", run_, runs_.size() + 1);
    console.message(fmt::format("run {} of {} at most: {}", runs_.size() + 1, max_runs_, confirm_));
    if (setenv("DPROF_RUN", folder.c_str(), 1) != 0) return fail(Code::kNoMemory, "setenv");
    const std::string command = fmt::format("( {}\n) 1>&2", confirm_);  // stdout is for the result
    const int status = std::system(command.c_str());
    if (status == -1 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      return fail(Code::kUsage,
                  fmt::format("--confirm: the command ended with {}",
                              WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)),
                  "it must record a run into the folder $DPROF_RUN");
    }
    return read_run(folder, console);
  }

  [[nodiscard]] std::string rendered(const analyzer::CheckResult& result,
                                     const Console& console) const {
    if (format_ == "json") return analyzer::render_check_json(result);
    if (format_ == "html") return html::render_check_html(result, {.version = DPROF_VERSION});
    if (format_ == "junit") return analyzer::render_check_junit(result);
    if (format_ == "markdown") return analyzer::render_check_markdown(result);
    if (format_ == "github") return analyzer::render_check_github(result);
    if (format_ == "gitlab") return analyzer::render_check_gitlab(result);
    if (format_ == "openmetrics") return analyzer::render_check_openmetrics(result);
    if (format_ == "benchmark") return analyzer::render_check_benchmark(result);
    return analyzer::render_check_text(result, {.width = static_cast<size_t>(console.width()),
                                                .colour = file_.empty() && console.colour()});
  }

  static Status report_to_ci(const analyzer::CheckResult& result, Console& console) {
    if (is_set("GITHUB_ACTIONS")) {
      console.print(analyzer::render_check_github(result));
      const std::string path = variable("GITHUB_STEP_SUMMARY");
      if (path.empty()) return Done{};
      std::ofstream file(path, std::ios::app);
      file << analyzer::render_check_markdown(result) << '\n';
      file.close();
      if (!file) return fail(Code::kIo, fmt::format("{}: cannot be written", path));
      return Done{};
    }
    if (!is_set("GITLAB_CI") && !is_set("JENKINS_URL")) return Done{};
    if (Status good = write_file("dprof-junit.xml", analyzer::render_check_junit(result));
        !good.ok())
      return good;
    if (!is_set("GITLAB_CI")) return Done{};
    return write_file("dprof-metrics.txt", analyzer::render_check_gitlab(result));
  }

  std::string run_;
  std::vector<std::string> baselines_;
  std::string max_slowdown_;
  std::string fail_on_;
  std::string settings_file_;
  std::string format_ = "text";
  std::string file_;
  std::string ci_;
  std::string confirm_;
  int max_runs_ = 3;

  std::vector<analyzer::RunFacts> runs_;
  std::vector<analyzer::RunFacts> baseline_facts_;
  bool from_history_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> make_check() { return std::make_unique<CheckVerb>(); }

}  // namespace dprof::cli
