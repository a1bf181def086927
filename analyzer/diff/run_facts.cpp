// SPDX-License-Identifier: Apache-2.0
#include "analyzer/diff/run_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analyzer/vocabulary/category.h"

namespace dprof::analyzer {
namespace {

using Json = nlohmann::ordered_json;

// Reports can come from anywhere: a missing value, or one of another type, is unknown.
const Json& at(const Json& object, const char* key) {
  static const Json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}
std::string text_at(const Json& object, const char* key) {
  const Json& value = at(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}
std::optional<int64_t> int_at(const Json& object, const char* key) {
  const Json& value = at(object, key);
  return value.is_number() ? std::optional(value.get<int64_t>()) : std::nullopt;
}
std::optional<double> number_at(const Json& object, const char* key) {
  const Json& value = at(object, key);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}
std::vector<int> ints_at(const Json& object, const char* key) {
  std::vector<int> ints;
  for (const Json& value : at(object, key)) {
    if (value.is_number_integer()) ints.push_back(value.get<int>());
  }
  return ints;
}

void read_run(const Json& run, RunFacts& facts) {
  facts.name = text_at(run, "name");
  facts.command = text_at(run, "command");
  facts.ranks = int_at(run, "ranks").value_or(0);
  facts.hosts = int_at(run, "hosts").value_or(0);
  facts.world_size = int_at(run, "world_size");
  const Json& environment = at(run, "environment");
  if (environment.is_object()) {
    for (const auto& [key, value] : environment.items()) {
      if (value.is_string()) facts.environment[key] = value.get<std::string>();
    }
  }
  const Json& steps = at(run, "steps");
  facts.steady = int_at(steps, "steady").value_or(0);
  facts.step_source = text_at(steps, "source");
  facts.micro_steps = int_at(steps, "micro_steps");
  for (const Json& length : at(steps, "lengths_ns")) {
    if (length.is_number() && length.get<int64_t>() > 0)
      facts.lengths_ns.push_back(length.get<int64_t>());
  }
}

void read_recording(const Json& recording, RunFacts& facts) {
  facts.events = int_at(recording, "events").value_or(0);
  for (const Json& loss : at(recording, "lost")) {
    if (text_at(loss, "reason") != word_of(schema::LossReason::kSkippedRow))  // vocabulary/loss.h
      facts.lost += int_at(loss, "count").value_or(0);
  }
  facts.overhead_share = number_at(at(recording, "overhead"), "share");
}

// A phase's hidden computation counts for the phase, as in the report's picture of a step:
// communication beside it does not change the phase's time.
void count_hidden_for_phases(const Json& details, double steps, CategoryMeans& means) {
  const auto of = [&](std::string_view key) {
    return std::ranges::find(means, key, &CategoryMeans::value_type::first);
  };
  const std::string hidden(key_of(Category::kOverlapped));
  if (!details.is_object() || of(hidden) == means.end()) return;
  for (const auto& [key, ns] : details.items()) {
    if (!key.starts_with(hidden + ".") || !ns.is_number()) continue;
    const auto phase = of(std::string_view(key).substr(hidden.size() + 1));
    if (phase == means.end()) continue;
    phase->second += ns.get<double>() / steps;
    of(hidden)->second -= ns.get<double>() / steps;
  }
}

// "compute.runnable", "host.preempted"; nullopt: not recorded.
std::optional<double> waited_for_core(const Json& details) {
  std::optional<double> sum;
  if (!details.is_object()) return sum;
  for (const auto& [key, ns] : details.items()) {
    const std::string_view name = key;
    if ((name.ends_with(".runnable") || name.ends_with(".preempted")) && ns.is_number())
      sum = sum.value_or(0) + ns.get<double>();
  }
  return sum;
}

void read_breakdown(const Json& breakdown, RunFacts& facts) {
  if (facts.steady <= 0) return;
  const auto steps = static_cast<double>(facts.steady);
  double waited = 0;
  bool waits_known = false;
  for (const Json& one : at(breakdown, "per_rank")) {
    RankFacts rank{.rank = static_cast<int>(int_at(one, "rank").value_or(0)),
                   .wall_ns = number_at(one, "wall_ns").value_or(0) / steps,
                   .category_ns = {}};
    const Json& categories = at(one, "category_ns");
    if (!categories.is_object() || rank.wall_ns <= 0) continue;
    for (const auto& [key, ns] : categories.items())
      rank.category_ns.emplace_back(key, ns.is_number() ? ns.get<double>() / steps : 0);
    if (const auto ns = waited_for_core(at(one, "detail_ns"))) {
      waited += *ns / steps;
      waits_known = true;
    }
    count_hidden_for_phases(at(one, "detail_ns"), steps, rank.category_ns);
    facts.per_rank.push_back(std::move(rank));
  }
  if (waits_known)
    facts.waited_for_core_ns =
        waited / static_cast<double>(std::max<size_t>(facts.per_rank.size(), 1));
  double wall = 0;
  double exposed = 0;
  double input = 0;
  for (const RankFacts& rank : facts.per_rank) {
    wall += rank.wall_ns;
    for (const auto& [key, ns] : rank.category_ns) {
      if (key == key_of(Category::kExposedWait) || key == key_of(Category::kExposedTransfer))
        exposed += ns;
      if (key == key_of(Category::kInputWait)) input += ns;
    }
  }
  if (wall <= 0) return;
  facts.exposed_share = exposed / wall;
  facts.input_share = input / wall;
}

void read_phases(const Json& phases, RunFacts& facts) {
  for (const Json& phase : phases) {
    PhaseFacts mean{.name = text_at(phase, "name")};
    double ranks = 0;
    for (const Json& rank : at(phase, "per_rank")) {
      mean.per_step += number_at(rank, "per_step").value_or(0);
      mean.ns += number_at(rank, "mean_ns").value_or(0);
      ++ranks;
    }
    if (ranks == 0) continue;
    mean.per_step /= ranks;
    mean.ns /= ranks;
    facts.phases.push_back(std::move(mean));
  }
}

void read_collectives(const Json& collectives, RunFacts& facts) {
  for (const Json& one : collectives) {
    const std::optional<double> per_step = number_at(one, "per_step");
    if (!per_step || *per_step <= 0) continue;  // not in steady steps
    facts.collectives.push_back({.communicator = text_at(one, "communicator"),
                                 .function = text_at(one, "function"),
                                 .bytes = int_at(one, "bytes"),
                                 .per_step = *per_step,
                                 .transfer_ns = int_at(one, "transfer_ns").value_or(0),
                                 .wait_ns = int_at(one, "wait_ns").value_or(0)});
  }
}

void read_stragglers(const Json& stragglers, RunFacts& facts) {
  if (!stragglers.is_array()) return;
  facts.stragglers.emplace();
  for (const Json& one : stragglers) {
    StragglerFacts straggler{.rank = std::nullopt,
                             .shape = text_at(one, "shape"),
                             .cause = text_at(one, "cause"),
                             .cost_ns = int_at(one, "cost_ns").value_or(0)};
    if (const auto rank = int_at(one, "rank")) straggler.rank = static_cast<int>(*rank);
    facts.stragglers->push_back(std::move(straggler));
  }
}

void read_findings(const Json& findings, RunFacts& facts) {
  for (const Json& one : findings) {
    facts.findings.push_back(
        {.rule = text_at(one, "rule"),
         .severity = severity_of_word(text_at(one, "severity")).value_or(FindingSeverity::kInfo),
         .title = text_at(one, "title"),
         .detail = text_at(one, "detail"),
         .advice = text_at(one, "advice"),
         .cause = text_at(one, "cause"),
         .ranks = ints_at(one, "ranks"),
         .cost_ns = int_at(one, "cost_ns"),
         .symptom = at(one, "caused_by").is_number()});
  }
}

void read_names(const Json& json, RunFacts& facts) {
  if (!json.is_object()) return;
  facts.names.emplace();
  facts.names->ranks = ints_at(json, "ranks");
  facts.names->left_out = int_at(json, "left_out").value_or(0);
  for (const Json& one : at(json, "list")) {
    facts.names->list.push_back(
        {.name = text_at(one, "name"),
         .on_device = at(one, "on_device").is_boolean() && at(one, "on_device").get<bool>(),
         .count = number_at(one, "count").value_or(0),
         .total_ns = int_at(one, "total_ns").value_or(0),
         .self_ns = int_at(one, "self_ns").value_or(0)});
  }
}

void read_memory(const Json& memory, RunFacts& facts) {
  const auto raise = [](auto& most, auto value) {
    if (value) most = std::max(most.value_or(0), *value);
  };
  for (const Json& rank : at(memory, "per_rank"))
    raise(facts.peak_allocated, int_at(rank, "peak_allocated"));
  for (const Json& rank : at(memory, "host")) {
    raise(facts.peak_resident, int_at(rank, "peak_resident"));
    raise(facts.page_faults_per_step, number_at(rank, "page_faults_per_step"));
    raise(facts.kernel_cpu_ns_per_step, number_at(rank, "kernel_cpu_ns_per_step"));
  }
}

RunFacts facts_of(const Json& report, const std::string& source) {
  RunFacts facts{.source = source};
  read_run(at(report, "run"), facts);
  read_recording(at(report, "recording"), facts);
  facts.has_clock = facts.hosts <= 1 || at(report, "clock").is_object();
  read_breakdown(at(report, "breakdown"), facts);
  read_phases(at(report, "phases"), facts);
  read_collectives(at(report, "collectives"), facts);
  read_stragglers(at(report, "stragglers"), facts);
  read_findings(at(report, "findings"), facts);
  read_names(at(report, "names"), facts);
  read_memory(at(report, "memory"), facts);
  const Json& verdict = at(at(report, "ending"), "verdict");
  facts.ended = text_at(verdict, "kind");
  facts.ended_title = text_at(verdict, "title");
  return facts;
}

}  // namespace

Result<RunFacts> facts_of_json(std::string_view json, const std::string& source) {
  constexpr std::string_view kSchema = "dprof.report/";
  constexpr char kHint[] = "make it with `dprof report RUN --format json -o FILE`";
  if (json.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return fail(Code::kDamaged, fmt::format("{}: the file is empty", source), kHint);
  const Json report = Json::parse(json, nullptr, false);
  if (report.is_discarded()) {
    return fail(Code::kDamaged,
                fmt::format("{}: damaged, or cut off: it cannot be read as JSON", source), kHint);
  }
  const std::string schema = text_at(report, "schema");
  if (!schema.starts_with(kSchema)) {
    return fail(Code::kNotATrace, fmt::format("{}: JSON, but no report of dprof", source), kHint);
  }
  if (schema != "dprof.report/1") {
    return fail(Code::kTraceTooNew,
                fmt::format("{}: written by a newer dprof ({}; this one reads dprof.report/1)",
                            source, schema),
                "update dprof, or create the report again with this one");
  }
  try {
    return facts_of(report, source);
  } catch (const Json::exception& error) {  // a number out of range
    return fail(Code::kDamaged, fmt::format("{}: damaged: {}", source, error.what()), kHint);
  }
}

}  // namespace dprof::analyzer
