// SPDX-License-Identifier: Apache-2.0
#include "gui/view/figures/what_if_controls.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "analyzer/render/layout.h"
#include "gui/view/drawing/texts.h"

namespace dprof::view {
namespace {

using analyzer::Category;

constexpr size_t kNamesOffered = 4;  // those that take the most time
constexpr size_t kHostsOffered = 4;

class ControlMaker {
 public:
  explicit ControlMaker(const analyzer::WhatIfModel& model) : run_(model.run()) {}

  std::vector<WhatIfControl> make(const std::vector<int>& ranks) && {
    begin(WhatIfGroup::kRanks);
    words(say("stragglers"), {{say("none"), "stragglers=none"}});
    for (const int rank : ranks) like_peers(say("rank {}", rank), fmt::format("rank:{}", rank));
    const std::set<std::string> hosts(run_.hosts.begin(), run_.hosts.end());
    if (hosts.size() > 1) {
      size_t offered = 0;
      for (const std::string& host : hosts) {
        if (host.empty() || offered++ == kHostsOffered) continue;
        like_peers(analyzer::printable(host), "host:" + host);
      }
    }
    begin(WhatIfGroup::kHost);
    less(say("wait for data"), "input", "input=0");
    less(say("host work"), "host-work", "host-work=0");
    less(say("checkpoints"), "checkpoint", "checkpoint=0");
    words(say("garbage collection"), {{say("together"), "gc=together"}, {say("none"), "gc=0"}});
    begin(WhatIfGroup::kCommunication);
    less(say("transfers"), "transfer", "transfer=0");
    bandwidth();
    less(say("latency"), "latency", "latency=0");
    bucket_cap();
    words(say("overlap"), {{say("full"), "overlap=full"}});
    begin(WhatIfGroup::kDevice);
    words(say("synchronisation"), {{say("none"), "sync=none"}});
    words(say("launches"), {{say("as graphs"), "launch=graphs"}});
    longest(run_.kernels, say("kernels"), "kernel",
            [](const analyzer::KernelShare& kernel) { return kernel.share; });
    begin(WhatIfGroup::kComputation);
    for (const Category phase : {Category::kForward, Category::kBackward, Category::kOptimizer}) {
      if (has_phase(phase))
        less(std::string(title_of(phase)), fmt::format("phase:{}", key_of(phase)), {});
    }
    longest(run_.ops, say("operators"), "op",
            [](const analyzer::OpShare& op) { return std::max(op.of_backward, op.of_other); });
    begin(WhatIfGroup::kScale);
    counts(say("passes per update"), "accumulate={}", {2, 4, 8, 16}, 1);
    counts(say("ranks"), "world={}x", {2, 4, 8}, 0);
    return std::move(controls_);
  }

 private:
  void begin(WhatIfGroup group) { group_ = group; }

  WhatIfControl& add(std::string label) {
    return controls_.emplace_back(WhatIfControl{
        .group = group_, .label = std::move(label), .stops = {{say("as recorded"), ""}}});
  }

  void words(std::string label, const std::vector<WhatIfStop>& others) {
    WhatIfControl& control = add(std::move(label));
    control.stops.insert(control.stops.end(), others.begin(), others.end());
    control.tried = 1;
  }

  void like_peers(std::string label, const std::string& who) {
    words(std::move(label), {{say("as its peers"), who + "=peers"},
                             {"× 0.9", who + "*0.9"},
                             {"× 0.8", who + "*0.8"},
                             {"× 0.5", who + "*0.5"}});
  }

  // From as recorded down to half or, if there is a word for it, to nothing.
  void less(std::string label, const std::string& what, const std::string& nothing) {
    WhatIfControl& control = add(std::move(label));
    control.slides = true;
    for (int tenths = 9; tenths > (nothing.empty() ? 4 : 0); --tenths)
      control.stops.push_back(
          {fmt::format("× 0.{}", tenths), fmt::format("{}*0.{}", what, tenths)});
    if (!nothing.empty()) control.stops.push_back({say("nothing"), nothing});
    control.tried = control.stops.size() - 1;
  }

  void bandwidth() {
    WhatIfControl& control = add(say("bandwidth"));
    control.slides = true;
    control.stops.insert(control.stops.begin(), {"× 0.5", "bandwidth*0.5"});
    for (const char* times : {"1.25", "1.5", "2", "3", "4", "8", "16"})
      control.stops.push_back({fmt::format("× {}", times), fmt::format("bandwidth*{}", times)});
    control.tried = control.stops.size() - 1;
  }

  void bucket_cap() {
    WhatIfControl& control = add(say("bucket cap"));
    control.slides = true;
    for (const int mib : {1, 5, 10, 25, 50, 100, 200})
      control.stops.push_back({fmt::format("{} MiB", mib),  // untranslated: a unit
                               fmt::format("bucket_cap={}MiB", mib)});
    control.tried = 4;  // DDP's default: if buckets are known, so are all caps
  }

  // Those with the largest shares over all ranks; without shares, the question in its general form.
  void longest(const auto& of_ranks, std::string label, std::string_view subject, auto share_of) {
    std::map<std::string, double> shares;
    for (const auto& of_rank : of_ranks) {
      for (const auto& one : of_rank) shares[one.name] += share_of(one);
    }
    std::vector<std::pair<double, std::string>> ordered;
    for (const auto& [name, share] : shares) ordered.emplace_back(share, name);
    std::ranges::sort(ordered, std::greater{});
    ordered.resize(std::min(ordered.size(), kNamesOffered));
    if (ordered.empty()) less(std::move(label), fmt::format("{}:NAME", subject), {});
    for (const auto& [share, name] : ordered)
      less(analyzer::printable(name), fmt::format("{}:{}", subject, name), {});
  }

  void counts(std::string label, fmt::string_view form, const std::vector<int>& numbers,
              int as_recorded) {
    WhatIfControl& control = add(std::move(label));
    if (as_recorded > 0) control.stops.front().label = std::to_string(as_recorded);
    for (const int number : numbers)
      control.stops.push_back(
          {as_recorded > 0 ? std::to_string(number) : fmt::format("× {}", number),
           fmt::vformat(form, fmt::make_format_args(number))});
    control.tried = 1;
  }

  [[nodiscard]] bool has_phase(Category phase) const {
    return std::ranges::any_of(run_.work_kinds, [&](const analyzer::WorkKind& kind) {
      return kind.computes() && kind.phase_of() == phase;
    });
  }

  const analyzer::PlayedRun& run_;
  WhatIfGroup group_{};
  std::vector<WhatIfControl> controls_;
};

// Quoted for a shell.
std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_=.:/,@%+-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char letter : word) {
    if (letter == '\'') {
      out += "'\\''";
    } else {
      out += letter;
    }
  }
  return out + "'";
}

}  // namespace

size_t WhatIfControl::stop_in(const std::vector<std::string>& changes) const {
  size_t recorded = 0;
  for (size_t i = 0; i < stops.size(); ++i) {
    if (stops[i].change.empty()) recorded = i;
    if (!stops[i].change.empty() && std::ranges::count(changes, stops[i].change) > 0) return i;
  }
  return recorded;
}

std::vector<WhatIfControl> what_if_controls(const analyzer::WhatIfModel& model,
                                            const std::vector<int>& ranks) {
  std::vector<int> offered;
  const auto offer = [&](int rank) {
    const bool known = std::ranges::count(model.run().ranks, rank) > 0;
    if (known && std::ranges::count(offered, rank) == 0) offered.push_back(rank);
  };
  for (const int rank : ranks) offer(rank);
  for (const analyzer::Change& change : model.catalogue()) {
    if (change.subject == analyzer::Subject::kRank) offer(change.rank);
  }
  return ControlMaker(model).make(offered);
}

WhatIfAnswer answer_of(const analyzer::WhatIfModel& model,
                       const std::vector<std::string>& changes) {
  std::vector<analyzer::Change> parsed;
  for (const std::string& text : changes) {
    Result<analyzer::Change> change = analyzer::parse_change(text);
    if (!change.ok()) return {.answer = {}, .error = change.error()};
    parsed.push_back(*std::move(change));
  }
  Result<analyzer::WhatIf> answer = model.answer(parsed);
  if (!answer.ok()) return {.answer = {}, .error = answer.error()};
  return {.answer = *std::move(answer), .error = {}};
}

WhatIfTrials trials_of(const analyzer::WhatIfModel& model,
                       const std::vector<std::string>& changes) {
  WhatIfTrials trials;
  for (const std::string& change : changes) trials.emplace_back(change, answer_of(model, {change}));
  return trials;
}

const WhatIfAnswer* trial_of(const WhatIfTrials& trials, std::string_view change) {
  const auto trial =
      std::ranges::find(trials, change, &std::pair<std::string, WhatIfAnswer>::first);
  return trial == trials.end() ? nullptr : &trial->second;
}

std::string what_if_command(const std::string& run, const std::vector<std::string>& changes) {
  std::string command = "dprof report " + quoted(run);  // untranslated: a command line
  for (const std::string& change : changes)
    command += " --what-if " + quoted(change);  // untranslated: an option
  return command + " --sections what-if";       // untranslated: an option
}

}  // namespace dprof::view
