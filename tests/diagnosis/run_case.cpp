// SPDX-License-Identifier: Apache-2.0
#include "tests/diagnosis/run_case.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "analyzer/analysis.h"
#include "analyzer/run/run.h"
#include "analyzer/stragglers/stragglers.h"
#include "synth/generate.h"
#include "tests/diagnosis/sensitivity.h"

namespace dprof::diagnosis {
namespace {

using nlohmann::ordered_json;

constexpr int kTries = 14;
constexpr double kNear = 0.1;
constexpr double kMostFactor = 64;  // between two tries
constexpr int kEnoughPerStage = 4;  // micro-batches, as parallel.bubble advises

Result<int64_t> step_of(const synth::Spec& spec) {
  const Result<synth::Truth> truth = synth::execute(spec);
  if (!truth.ok()) return fail(truth.error());
  return truth->step_ns;
}

// Step indices, both included: those that the report is about, and so the truth.
struct Span {
  int64_t first = 3;
  int64_t last = 0;
};

// The mean period of these steps: from when all ranks had ended the one before to when they had
// ended the last. Nothing if it is not all there.
std::optional<double> period(const synth::Truth& truth, const Span& span) {
  int64_t begin = 0;
  int64_t end = 0;
  for (const synth::RankTruth& rank : truth.ranks) {
    for (const synth::StepTruth& step : rank.steps) {
      if (step.index == span.first - 1) begin = std::max(begin, step.end);
      if (step.index == span.last) end = std::max(end, step.end);
    }
  }
  if (begin <= 0 || end <= begin) return std::nullopt;
  return static_cast<double>(end - begin) / static_cast<double>(span.last - span.first + 1);
}

// Some faults of a run, side by side.
struct Faults {
  size_t first = 0;
  size_t count = 0;
};

synth::Spec without_faults(synth::Spec spec, const Faults& faults) {
  const auto begin = spec.faults.begin() + static_cast<ptrdiff_t>(faults.first);
  spec.faults.erase(begin, begin + static_cast<ptrdiff_t>(faults.count));
  return spec;
}

// What these faults cost per step of the span: the run as it is, less the same run without them.
Result<std::optional<int64_t>> cost_of(const synth::Spec& spec, const synth::Truth& truth,
                                       const Faults& faults, const Span& span) {
  const synth::Spec without = without_faults(spec, faults);
  const Result<synth::Truth> plain = synth::execute(without);
  if (!plain.ok()) return fail(plain.error());
  const std::optional<double> with = period(truth, span);
  const std::optional<double> usual = period(*plain, span);
  if (!with || !usual) return std::optional<int64_t>();
  return std::optional<int64_t>(std::llround(*with - *usual));
}

// What they cost without the others.
Result<std::optional<int64_t>> cost_alone(const synth::Spec& spec, const Faults& faults,
                                          const Span& span) {
  synth::Spec only = spec;
  const auto begin = spec.faults.begin() + static_cast<ptrdiff_t>(faults.first);
  only.faults.assign(begin, begin + static_cast<ptrdiff_t>(faults.count));
  const Result<synth::Truth> truth = synth::execute(only);
  if (!truth.ok()) return fail(truth.error());
  return cost_of(only, *truth, {0, faults.count}, span);
}

// The run as somebody would start it next who follows the finding, where the generator can: more
// micro-batches, gradients of half as many bytes, twice as many buckets, an all-reduce in place of
// a server.
std::optional<synth::Spec> as_advised(std::string_view rule, synth::Spec spec) {
  if (rule == "parallel.bubble") {
    spec.micro_steps = kEnoughPerStage * spec.ranks / spec.replicas;
    return spec;
  }
  if (rule == "comm.exposed-tail") {
    spec.buckets *= 2;
    return spec;
  }
  if (rule == "comm.server-bottleneck") {
    spec.technique = synth::Technique::kDdp;
    return spec;
  }
  if ((rule == "comm.link-saturated" || rule == "comm.exposed-transfer") &&
      spec.bytes_per_step > 0) {
    spec.bytes_per_step /= 2;
    return spec;
  }
  return std::nullopt;
}

// What that gains per step, with the faults as they are.
std::optional<int64_t> gain_of_advice(std::string_view rule, const synth::Spec& spec,
                                      const synth::Truth& truth, const Span& span) {
  const std::optional<synth::Spec> advised = as_advised(rule, spec);
  if (!advised) return std::nullopt;
  const Result<synth::Truth> changed = synth::execute(*advised);
  if (!changed.ok()) return std::nullopt;
  const std::optional<double> now = period(truth, span);
  const std::optional<double> then = period(*changed, span);
  if (!now || !then) return std::nullopt;
  return std::llround(*now - *then);
}

void turn(Case& one, double by) {
  for (synth::FaultSpec& fault : one.spec.faults) {
    if (one.knob == Knob::kMs || (one.knob == Knob::kEach && fault.ms)) fault.ms = *fault.ms * by;
    if (one.knob == Knob::kFactor || (one.knob == Knob::kEach && fault.factor))
      fault.factor = 1 + (*fault.factor - 1) * by;
  }
}

ordered_json json_of(const synth::Spec& spec) {
  ordered_json faults = ordered_json::array();
  for (const synth::FaultSpec& fault : spec.faults) {
    ordered_json one = {{"name", fault.name}};
    if (fault.rank) one["rank"] = *fault.rank;
    if (fault.host) one["host"] = *fault.host;
    if (fault.ms) one["ms"] = *fault.ms;
    if (fault.factor) one["factor"] = *fault.factor;
    if (fault.probability) one["probability"] = *fault.probability;
    if (fault.from) one["from"] = *fault.from;
    if (fault.every) one["every"] = *fault.every;
    if (fault.count) one["count"] = *fault.count;
    if (fault.shape) one["shape"] = *fault.shape;
    if (fault.of) one["of"] = *fault.of;
    if (fault.at) one["at"] = *fault.at;
    faults.push_back(std::move(one));
  }
  return {{"shape", word_of(spec.shape)},
          {"technique", word_of(spec.technique)},
          {"ranks", spec.ranks},
          {"hosts", spec.hosts},
          {"steps", spec.steps},
          {"step_ms", spec.step_ms},
          {"noise", {spec.noise, spec.rank_noise, spec.step_noise}},
          {"noise_of", {spec.noise_tail, spec.noise_memory, spec.noise_decades}},
          {"contention", {spec.contention, spec.transfer_contention}},
          {"drift", spec.drift},
          {"group", {spec.tensor_ranks, spec.replicas}},
          {"marks", word_of(spec.marks)},
          {"fake_clocks", !spec.clocks.empty()},
          {"seed", spec.seed},
          {"faults", std::move(faults)}};
}

ordered_json json_of(const Expected& expected, std::optional<int64_t> cost_ns) {
  return {{"ranks", expected.ranks},
          {"host", expected.host < 0 ? ordered_json(nullptr)
                                     : ordered_json("node-" + std::to_string(expected.host))},
          {"causes", expected.causes},
          {"shape", expected.shape},
          {"cost_ns", cost_ns ? ordered_json(*cost_ns) : ordered_json(nullptr)}};
}

ordered_json json_of(const analyzer::SlowLinks& links) {
  std::vector<int> ranks;
  for (const analyzer::SlowGroupInfo& group : links.groups)
    ranks.insert(ranks.end(), group.ranks.begin(), group.ranks.end());
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return {{"suspects", links.suspects}, {"ranks", ranks}};
}

ordered_json json_of(const analyzer::Finding& finding) {
  return {{"rule", finding.rule},
          {"title", finding.title},
          {"cause", finding.cause},
          {"ranks", finding.ranks},
          {"cost_ns", finding.cost_ns ? ordered_json(*finding.cost_ns) : ordered_json(nullptr)}};
}

void add_report(const analyzer::Report& report, ordered_json& line) {
  line["stragglers"] = nullptr;
  if (report.stragglers) {
    line["stragglers"] = ordered_json::array();
    for (const analyzer::Straggler& s : *report.stragglers)
      line["stragglers"].push_back(straggler_json(s));
  }
  if (report.slow_links && !report.slow_links->groups.empty())
    line["slow_links"] = json_of(*report.slow_links);
  if (report.detection) line["floor_ns"] = report.detection->floor_ns;
  line["finding"] = nullptr;
  if (report.findings && !report.findings->empty())
    line["finding"] = json_of(report.findings->front());
  // Why ranks were not compared, if the report says so.
  for (const analyzer::Diagnostic& diagnostic : report.recording.diagnostics) {
    if (!report.stragglers && diagnostic.text.find("straggler") != std::string::npos)
      line["unknown"] = diagnostic.text;
  }
  line["told_step_ns"] = report.run.steps ? ordered_json(report.run.steps->median_ns) : nullptr;
}

Status add_truth(const Case& one, const synth::Truth& truth, const analyzer::Report& report,
                 ordered_json& line) {
  Span span{.last = one.spec.steps - 1};
  if (report.run.steps) {
    span = {std::max<int64_t>(1, report.run.steps->first_steady),
            std::min(one.spec.steps - 1, report.run.steps->last_steady)};
  }
  const double step = period(truth, span).value_or(static_cast<double>(truth.step_ns));
  line["step_ns"] = std::llround(step);
  if (!one.expected.empty() && report.findings && !report.findings->empty()) {
    if (const auto gain = gain_of_advice(report.findings->front().rule, one.spec, truth, span))
      line["finding"]["gain_ns"] = *gain;
  }
  line["impact"] = 0.0;
  line["expected"] = ordered_json::array();
  size_t known = 0;
  for (const Expected& expected : one.expected) {
    const Faults own{known, expected.faults};
    known += expected.faults;
    const auto cost = cost_of(one.spec, truth, own, span);
    if (!cost.ok()) return fail(cost.error());
    line["expected"].push_back(json_of(expected, *cost));
    if (!one.harder || one.expected.size() < 2) continue;
    const auto alone = cost_alone(one.spec, own, span);
    if (!alone.ok()) return fail(alone.error());
    line["expected"].back()["alone_ns"] = alone->value_or(0);
  }
  if (known == 0) return Done{};
  const auto together = cost_of(one.spec, truth, {0, known}, span);
  if (!together.ok()) return fail(together.error());
  line["impact"] = static_cast<double>(together->value_or(0)) / std::max(1.0, step);
  return Done{};
}

class Removed {
 public:
  explicit Removed(std::filesystem::path path) : path_(std::move(path)) {}
  ~Removed() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Removed(const Removed&) = delete;
  Removed& operator=(const Removed&) = delete;

 private:
  std::filesystem::path path_;
};

}  // namespace

ordered_json straggler_json(const analyzer::Straggler& s) {
  return {{"rank", s.rank ? ordered_json(*s.rank) : ordered_json(nullptr)},
          {"shape", s.shape},
          {"cause", s.cause},
          {"own_delay_ns", s.own_delay_ns},
          {"cost_ns", s.cost_ns},
          {"bound_ns", s.bound_ns},
          {"host", s.host},
          {"host_ranks", s.host_ranks}};
}

Status settle(Case& one) {
  if (one.knob == Knob::kNone) return Done{};
  synth::Spec without = one.spec;
  without.faults.clear();
  const Result<int64_t> plain = step_of(without);
  if (!plain.ok()) return fail(plain.error());
  // Within these the right turn lies; a cost that has a threshold needs the bracket.
  double turned = 1;
  double low = 0;
  double high = 0;
  for (int i = 0; i < kTries; ++i) {
    const Result<int64_t> step = step_of(one.spec);
    if (!step.ok()) return fail(step.error());
    const double impact = static_cast<double>(*step - *plain) / static_cast<double>(*step);
    if (std::abs(impact - one.size) <= kNear * one.size) return Done{};
    (impact < one.size ? low : high) = turned;
    // By proportion of what is added to the step without it.
    const double wanted = one.size / (1 - one.size);
    const double got = impact / (1 - impact);
    double next = turned * std::clamp(got > 0 ? wanted / got : kMostFactor, 1 / kMostFactor, 4.0);
    if (low > 0 && high > 0 && (next <= low || next >= high)) next = (low + high) / 2;
    turn(one, next / turned);
    turned = next;
  }
  return Done{};
}

Result<ordered_json> run_case(const Case& one, const std::filesystem::path& scratch, bool vary) {
  using Clock = std::chrono::steady_clock;
  const Removed removed(scratch);
  const Clock::time_point begin = Clock::now();
  const Result<synth::Truth> truth = synth::generate(one.spec, scratch);
  if (!truth.ok()) return fail(truth.error());
  const Clock::time_point generated = Clock::now();
  const Result<analyzer::Run> run = analyzer::open_run({scratch});
  if (!run.ok()) return fail(run.error());
  ordered_json varied;
  if (vary)
    analyzer::observe_judging([&](const analyzer::Comparison& c) { varied = judge_again(c); });
  const Result<analyzer::Analysis> analysis = analyzer::analyze(*run, {.pieces = false});
  analyzer::observe_judging(nullptr);
  if (!analysis.ok()) return fail(analysis.error());
  const Clock::time_point end = Clock::now();

  ordered_json line = {{"id", one.id},
                       {"part", one.harder ? "harder" : "synthetic"},
                       {"kind", one.kind},
                       {"size", one.size},
                       {"spec", json_of(one.spec)}};
  add_report(analysis->report, line);
  const Status judged = add_truth(one, *truth, analysis->report, line);
  if (!judged.ok()) return fail(judged.error());
  if (vary) line["varied"] = std::move(varied);
  line["rows"] = truth->rows;
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  line["seconds"] = {seconds(generated - begin), seconds(end - generated)};
  return line;
}

}  // namespace dprof::diagnosis
