// SPDX-License-Identifier: Apache-2.0
// Runs the synthetic half of the scoreboard: a line of JSON on stdout for each run. Before a run
// begins, {"begin": its name}, so that whoever reads knows what a crash was about.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <regex>
#include <string>

#include "base/exit_code.h"
#include "tests/diagnosis/run_case.h"
#include "tests/diagnosis/sensitivity.h"

namespace dprof::diagnosis {
namespace {

struct Wish {
  size_t part = 0, parts = 1;
  size_t every = 1;
  size_t skip = 0;
  size_t seed = 0;
  std::string only;
  std::string scratch = "/tmp";
  bool harder = false;
  bool list = false;
  bool vary = false;
  bool thresholds = false;
};

std::vector<Case> chosen(const Wish& wish) {
  std::vector<Case> cases;
  const std::regex only(wish.only);
  size_t number = 0;
  for (Case& one : wish.harder ? harder_cases(wish.seed) : all_cases(wish.seed)) {
    if (!wish.only.empty() && !std::regex_search(one.id, only)) continue;
    const size_t nth = number++;
    if (nth % wish.every != 0 || nth / wish.every % wish.parts != wish.part) continue;
    cases.push_back(std::move(one));
  }
  if (wish.skip > 0)
    cases.erase(cases.begin(),
                cases.begin() + static_cast<ptrdiff_t>(std::min(wish.skip, cases.size())));
  return cases;
}

void say(const nlohmann::ordered_json& line) {
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
}

int run(const Wish& wish) {
  if (wish.thresholds) return say(thresholds()), 0;
  size_t number = 0;
  for (Case& one : chosen(wish)) {
    if (wish.list) {
      fmt::print("{}\n", one.id);
      continue;
    }
    say({{"begin", one.id}});
    const std::filesystem::path scratch =
        std::filesystem::path(wish.scratch) /
        fmt::format("dprof-diagnosis-{}-{}", ::getpid(), number++);
    const Status settled = settle(one);
    Result<nlohmann::ordered_json> line =
        settled.ok() ? run_case(one, scratch, wish.vary) : fail(settled.error());
    if (line.ok()) {
      say(*line);
    } else {
      say({{"id", one.id}, {"kind", one.kind}, {"failed", line.error().what}});
    }
  }
  return 0;
}

}  // namespace
}  // namespace dprof::diagnosis

// NOLINTNEXTLINE(bugprone-exception-escape): what nobody expected may end it
int main(int argc, char** argv) {
  dprof::diagnosis::Wish wish;
  CLI::App app{"The synthetic half of the scoreboard (scripts/scoreboard runs it)."};
  app.add_option("--part", wish.part, "which of the parts, from 0");
  app.add_option("--parts", wish.parts, "into how many parts the runs are dealt")
      ->check(CLI::PositiveNumber);
  app.add_option("--every", wish.every, "only every Nth run")->check(CLI::PositiveNumber);
  app.add_option("--skip", wish.skip, "leave out the first N of them: they have been done");
  app.add_option("--seed", wish.seed, "another set of runs than the kept one, which is 0");
  app.add_option("--only", wish.only, "only runs whose name matches this expression");
  app.add_option("--scratch", wish.scratch, "folder in which a run may lie for a moment");
  app.add_flag("--harder", wish.harder, "the harder runs instead");
  app.add_flag("--list", wish.list, "names only");
  app.add_flag("--vary", wish.vary,
               "judge each run again with one threshold after the other varied");
  app.add_flag("--thresholds", wish.thresholds, "only the list of all thresholds, as JSON");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : static_cast<int>(dprof::ExitCode::kUsage);
  }
  return dprof::diagnosis::run(wish);
}
