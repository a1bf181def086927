// SPDX-License-Identifier: Apache-2.0
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "analyzer/diff/change.h"
#include "base/format.h"
#include "cli/history.h"
#include "cli/run_input.h"
#include "cli/subcommand.h"

namespace dprof::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kBaselineDetails[] =
    "\nKeeps the reports of good runs in a folder, for `dprof check RUN --baseline DIR`. Reports are\n"
    "small; you need not keep the traces. From several of them the check learns how much runs vary.\n\n"
    "Examples:\n"
    "  dprof baseline add baselines run1        add the report of run1\n"
    "  dprof baseline list baselines            list them, oldest first\n"
    "  dprof baseline prune baselines --keep 10\n\n"
    "Exit codes: 0 good; 2 usage; 3 a run or a baseline cannot be read; 125 dprof itself failed.\n";

// Names that are valid in any file system.
std::string file_name_of(const std::string& name) {
  std::string clean;
  for (const char c : name.substr(0, 60)) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '_' || c == '.';
    clean += plain ? c : '_';
  }
  return clean.empty() ? "run" : clean;
}

class Baseline final : public Subcommand {
 public:
  std::string_view name() const override { return "baseline"; }
  std::string_view summary() const override { return "keep reports of good runs to check against"; }
  std::string_view details() const override { return kBaselineDetails; }

  void declare(CLI::App& app) override {
    app.add_option("ACTION", action_, "add, list or prune")
        ->required()
        ->check(CLI::IsMember({"add", "list", "prune"}));
    app.add_option("DIR", folder_, "folder of baselines; add creates it")->required();
    app.add_option("RUN", runs_, "run folders, or reports as JSON, to add");
    app.add_option("--keep", keep_, "prune keeps the N newest")
        ->type_name("N")
        ->check(CLI::Range(1, 10000))
        ->capture_default_str();
  }

  Result<int> run(Console& console) override {
    if ((action_ == "add") == runs_.empty()) {
      return fail(Code::kUsage,
                  action_ == "add" ? "add needs a run" : fmt::format("{} takes no run", action_),
                  "dprof baseline --help");
    }
    const Status done = action_ == "add"    ? add(console)
                        : action_ == "list" ? list(console)
                                            : prune(console);
    if (!done.ok()) return fail(done.error());
    return code_of(ExitCode::kGood);
  }

 private:
  Status add(Console& console) const {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) return fail(Code::kIo, fmt::format("{}: {}", folder_, error.message()));
    for (const std::string& path : runs_) {
      const Result<std::string> json = report_json_of(path, console);
      if (!json.ok()) return fail(json.error());
      const Result<analyzer::RunFacts> facts = analyzer::facts_of_json(*json, path);
      if (!facts.ok()) return fail(facts.error());
      if (!facts->ended.empty() && facts->ended != "ok") {
        return fail(Code::kUsage, fmt::format("{}: {}", path, facts->ended_title),
                    "a failed run cannot be a baseline");
      }
      if (facts->lengths_ns.size() < analyzer::kFewestLengths) {
        return fail(Code::kUsage,
                    fmt::format("{}: {} steady steps; a baseline needs at least {}", path,
                                facts->lengths_ns.size(), analyzer::kFewestLengths),
                    "record more steps");
      }
      const std::string file = free_name(file_name_of(facts->name));
      if (Status written = write_file(file, *json); !written.ok()) return written;
      console.message(fmt::format("{}: added as {}", path, file));
    }
    return Done{};
  }

  [[nodiscard]] std::string free_name(const std::string& run) const {
    const auto now =
        std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
    const std::string stem = fmt::format("{:%Y%m%dT%H%M%SZ}-{}", fmt::gmtime(now), run);
    std::error_code ignored;
    for (int n = 1;; ++n) {
      fs::path path =
          fs::path(folder_) / (n == 1 ? stem + ".json" : fmt::format("{}-{}.json", stem, n));
      if (!fs::exists(path, ignored)) return path.string();
    }
  }

  Status list(Console& console) const {
    const auto entries = history_entries(folder_);
    if (!entries.ok()) return fail(entries.error());
    std::string text;
    for (const fs::path& path : *entries) {
      const Result<analyzer::RunFacts> facts = read_run_facts(path.string(), console);
      if (!facts.ok()) return fail(facts.error());
      const analyzer::MedianStep step = analyzer::median_step_of(facts->lengths_ns);
      const auto host = facts->environment.find("host");
      text +=
          fmt::format("{}  {}  {} steps  {} ranks{}\n", path.filename().string(),
                      format_duration({static_cast<int64_t>(step.ns)}), step.steps, facts->ranks,
                      host == facts->environment.end() ? "" : "  " + host->second);
    }
    console.print(text);
    if (entries->empty()) console.message(fmt::format("{}: no baseline yet", folder_));
    return Done{};
  }

  Status prune(Console& console) const {
    const auto entries = history_entries(folder_);
    if (!entries.ok()) return fail(entries.error());
    const size_t keep = static_cast<size_t>(keep_);
    size_t removed = 0;
    for (size_t i = 0; i + keep < entries->size(); ++i) {
      const fs::path& path = (*entries)[i];
      std::error_code error;
      if (fs::is_directory(path, error)) continue;  // traces are not ours to remove
      if (fs::remove(path, error)) ++removed;
      if (error) return fail(Code::kIo, fmt::format("{}: {}", path.string(), error.message()));
    }
    console.message(
        fmt::format("{}: {} removed, {} left", folder_, removed, entries->size() - removed));
    return Done{};
  }

  std::string action_;
  std::string folder_;
  std::vector<std::string> runs_;
  int keep_ = 10;
};

}  // namespace

std::unique_ptr<Subcommand> make_baseline() { return std::make_unique<Baseline>(); }

}  // namespace dprof::cli
