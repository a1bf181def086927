// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/subcommand.h"
#include "collector/recorder/control/control_client.h"

namespace dprof::cli {
namespace {

using nlohmann::json;

constexpr char kCtlDetails[] =
    "\nActions:\n"
    "  status      what is being recorded, and its cost\n"
    "  start       record now, and end any --steps or --seconds window\n"
    "  stop        record nothing until the next start\n"
    "  level L     light, standard or full from now on; also resets the overhead governor\n"
    "  trigger     flight recorder (record --keep S): save permanently what it holds now\n\n"
    "A request reaches the ranks within 0.1 s, and table `capture` of each trace says when it did. "
    "It\n"
    "goes to the run's recorders on this host; run it on each host of a job.\n\n"
    "Examples:\n"
    "  dprof record --armed -o run1 -- python train.py &\n"
    "  dprof ctl run1 start; sleep 10; dprof ctl run1 stop\n"
    "  dprof ctl run1 level full\n"
    "  dprof ctl run1 status --format json\n\n"
    "Exit codes: 0 done; 2 usage, recorder on another host, or request refused; 3 no such run, or no\n"
    "recorder writes to it; 125 dprof itself failed.\n";

// The answer of a recorder of another release can lack a field, or use another type for it.
json field(const json& of, const char* key) {
  return of.is_object() && of.contains(key) ? of.at(key) : json();
}
std::string word(const json& of, const char* key) {
  const json found = field(of, key);
  return found.is_string() ? found.get<std::string>() : std::string();
}
int64_t whole(const json& of, const char* key) {
  const json found = field(of, key);
  return found.is_number() ? found.get<int64_t>() : 0;
}
double share(const json& of, const char* key) {
  const json found = field(of, key);
  return found.is_number() ? found.get<double>() : 0;
}

std::string text_of(const json& reply) {
  std::string text =
      fmt::format("{} (process {}): {} at {}, {} events, {} lost, {} of the time\n",
                  word(reply, "host"), whole(reply, "pid"), word(reply, "state"),
                  word(reply, "detail"), format_count(whole(reply, "events")),
                  format_count(whole(reply, "lost")), format_share(share(reply, "overhead")));
  if (const std::string window = word(reply, "window"); !window.empty()) {
    text += fmt::format("  window: {}\n", window);
  }
  if (const int64_t seconds = whole(reply, "keep_seconds"); seconds != 0) {
    text += fmt::format("  flight recorder: keeps {} s\n", seconds);
  }
  if (field(reply, "max_overhead").is_number()) {
    text += fmt::format("  overhead: at most {}\n", format_share(share(reply, "max_overhead")));
  }
  for (const json& process : field(reply, "processes")) {
    text += fmt::format(
        "  {}: process {}, {} at {}, {} events, {} lost, {} of the time{}\n",
        field(process, "rank").is_number() ? fmt::format("rank {}", whole(process, "rank"))
                                           : std::string("no rank"),
        whole(process, "pid"), word(process, "state"), word(process, "detail"),
        format_count(whole(process, "events")), format_count(whole(process, "lost")),
        format_share(share(process, "overhead")), whole(process, "hangs") > 0 ? ", HANGS" : "");
  }
  return text;
}

class Ctl final : public Subcommand {
 public:
  std::string_view name() const override { return "ctl"; }
  std::string_view summary() const override { return "control a recording while it runs"; }
  std::string_view details() const override { return kCtlDetails; }

  void declare(CLI::App& app) override {
    app.add_option("RUN", run_, "run folder")->required();
    app.add_option("ACTION", action_, "start, stop, status, level or trigger")
        ->required()
        ->check(CLI::IsMember({"start", "stop", "status", "level", "trigger"}));
    app.add_option("LEVEL", level_, "for `level`: light, standard or full")
        ->check(CLI::IsMember({"light", "standard", "full"}));
    app.add_option("--format", format_, "text or json")
        ->type_name("FORMAT")
        ->check(CLI::IsMember({"text", "json"}))
        ->capture_default_str();
  }

  Result<int> run(Console& console) override {
    if ((action_ == "level") == level_.empty()) {
      return fail(Code::kUsage,
                  level_.empty() ? "level is missing" : fmt::format("{} takes no level", action_),
                  "dprof ctl RUN level light|standard|full");
    }
    const std::string request = level_.empty() ? action_ : action_ + " " + level_;
    const Result<recorder::ControlReplies> asked = recorder::ask_recorders(run_, request);
    if (!asked.ok()) return fail(asked.error());
    json all = json::array();
    for (const std::string& reply : asked->replies) all.push_back(json::parse(reply));
    if (format_ == "json") {
      console.print(
          json{{"schema", "dprof.control/1"}, {"recorders", all}, {"elsewhere", asked->elsewhere}}
              .dump(2) +
          "\n");
    } else if (action_ == "status") {
      for (const json& reply : all) console.print(text_of(reply));
    } else {
      console.message(fmt::format("{}: {}", run_, request));
    }
    if (!asked->elsewhere.empty()) {
      console.message(fmt::format("recorders on {} were not contacted; run `dprof ctl` there",
                                  fmt::join(asked->elsewhere, ", ")));
    }
    return code_of(ExitCode::kGood);
  }

 private:
  std::string run_, action_, level_;
  std::string format_ = "text";
};

}  // namespace

std::unique_ptr<Subcommand> make_ctl() { return std::make_unique<Ctl>(); }

}  // namespace dprof::cli
