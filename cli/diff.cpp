// SPDX-License-Identifier: Apache-2.0
#include "analyzer/diff/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "analyzer/diff/render.h"
#include "cli/run_input.h"
#include "cli/subcommand.h"
#include "gui/html/comparison.h"

namespace dprof::cli {
namespace {

constexpr char kDiffDetails[] =
    "\nShows what changed from run A to run B: first whether they are comparable, then how much the step\n"
    "time changed and how certain that is, and which parts of a step, ranks, phases, collectives and\n"
    "names changed. Each run is a run folder, or a report saved with `dprof report RUN --format json`.\n"
    "Several runs per side separate a change from run-to-run noise; put `--` between the sides.\n\n"
    "Examples:\n"
    "  dprof diff before after\n"
    "  dprof diff before.json after --format markdown\n"
    "  dprof diff before after --format html -o diff.html    one file, for a browser\n"
    "  dprof diff a1 a2 a3 -- b1 b2 b3\n\n"
    "Exit codes: 0 good, whatever changed (`dprof check` judges); 2 usage; 3 a run cannot be read;\n"
    "125 dprof itself failed.\n";

class Diff final : public Subcommand {
 public:
  std::string_view name() const override { return "diff"; }
  std::string_view summary() const override { return "show what changed from one run to another"; }
  std::string_view details() const override { return kDiffDetails; }

  void declare(CLI::App& app) override {
    app.add_option("RUN", runs_, "A B, or A1 A2 … -- B1 B2 …: run folders, or reports as JSON")
        ->required();
    app.add_option("--format", format_,
                   "text, json, markdown for pull requests, html: one page with pictures")
        ->check(CLI::IsMember({"text", "json", "markdown", "html"}))
        ->capture_default_str();
    app.add_option("-o", file_, "write to FILE instead of stdout")->type_name("FILE");
    top_given_ =
        app.add_option("--top", top_,
                       "how many ranks, collectives and names to show (text, markdown, html)")
            ->type_name("K")
            ->check(CLI::Range(1, 1000))
            ->capture_default_str();
  }

  Result<int> run(Console& console) override {
    const Result<std::array<std::vector<std::string>, 2>> sides = sides_of(runs_);
    if (!sides.ok()) return fail(sides.error());
    std::array<std::vector<analyzer::RunFacts>, 2> facts;
    for (size_t side = 0; side < 2; ++side) {
      for (const std::string& path : (*sides)[side]) {
        Result<analyzer::RunFacts> run = read_run_facts(path, console);
        if (!run.ok()) return fail(run.error());
        facts[side].push_back(*std::move(run));
      }
    }
    const analyzer::Diff diff = analyzer::diff_of(facts[0], facts[1]);
    const Status shown = show_text(rendered(diff, console), file_, console);
    if (!shown.ok()) return fail(shown.error());
    return code_of(ExitCode::kGood);
  }

 private:
  static Result<std::array<std::vector<std::string>, 2>> sides_of(
      const std::vector<std::string>& words) {
    const auto mark = std::ranges::find(words, kBetweenSides);
    std::array<std::vector<std::string>, 2> sides;
    if (mark == words.end() && words.size() == 2) {
      sides = {{{words[0]}, {words[1]}}};
    } else if (mark != words.end()) {
      sides = {{{words.begin(), mark}, {mark + 1, words.end()}}};
    }
    if (sides[0].empty() || sides[1].empty()) {
      return fail(Code::kUsage, "give two runs, or several with -- between the sides",
                  "dprof diff A B, or dprof diff A1 A2 -- B1 B2");
    }
    return sides;
  }

  [[nodiscard]] std::string rendered(const analyzer::Diff& diff, const Console& console) const {
    if (format_ == "json") return analyzer::render_diff_json(diff);
    if (format_ == "markdown") return analyzer::render_diff_markdown(diff, {.top = top_});
    if (format_ == "html") {
      html::HtmlOptions options{.version = DPROF_VERSION};
      if (top_given_->count() > 0) options.top = top_;
      return html::render_diff_html(diff, options);
    }
    return analyzer::render_diff_text(diff,
                                      {.width = static_cast<size_t>(console.width()),
                                       .colour = file_.empty() && console.colour()},
                                      {.top = top_});
  }

  std::vector<std::string> runs_;
  std::string format_ = "text";
  std::string file_;
  int top_ = analyzer::DiffOptions{}.top;
  const CLI::Option* top_given_ = nullptr;
};

}  // namespace

std::unique_ptr<Subcommand> make_diff() { return std::make_unique<Diff>(); }

}  // namespace dprof::cli
