// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "synth/truth/truth.h"

namespace dprof::synth {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMostSteps = 200'000;  // of all ranks, listed one by one
constexpr int64_t kClockEveryNs = 1'000'000'000;
constexpr int kMostClockTimes = 600;

ordered_json time_or_null(int64_t time) {
  return time >= kNever ? ordered_json(nullptr) : ordered_json(time);
}

ordered_json json_of(const CategorySums& sums) {
  ordered_json json = ordered_json::object();
  for (size_t c = 0; c < kCategories; ++c)
    json[std::string(key_of(static_cast<Category>(c)))] = sums[c];
  return json;
}

ordered_json json_of(const HostTruth& host) {
  ordered_json times = ordered_json::array();
  const int64_t span = host.end - host.clock.recorder_start();
  const int64_t every = std::max(kClockEveryNs, span / kMostClockTimes);
  for (int64_t at = host.clock.recorder_start(); at <= host.end; at += every) {
    times.push_back({{"true_ns", at},
                     {"trace_ns", host.clock.trace(at)},
                     {"realtime_ns", host.clock.realtime(at)},
                     {"monotonic_raw_ns", host.clock.monotonic_raw(at)}});
  }
  return {{"host", host.name},
          {"clock_id", host.clock_id},
          {"recorder_start_ns", host.clock.recorder_start()},
          {"origin_realtime_ns", host.clock.origin_realtime()},
          {"origin_monotonic_raw_ns", host.clock.origin_raw()},
          {"at", std::move(times)}};
}

ordered_json json_of(const RankTruth& rank, int number, bool every_step) {
  CategorySums sums{};
  int64_t wall = 0;
  ordered_json steps = ordered_json::array();
  for (const StepTruth& step : rank.steps) {
    for (size_t c = 0; c < kCategories; ++c) sums[c] += step.category_ns[c];
    wall += step.window_end - step.window_begin;
    if (!every_step) continue;
    steps.push_back({{"index", step.index},
                     {"begin_ns", step.begin},
                     {"end_ns", step.end},
                     {"window_begin_ns", step.window_begin},
                     {"window_end_ns", step.window_end},
                     {"category_ns", json_of(step.category_ns)}});
  }
  return {{"rank", number},
          {"host", rank.host},
          {"has_trace", rank.has_trace},
          {"end_ns", rank.ending.at},
          {"signal", rank.ending.signal},
          {"exit_code", rank.ending.exit_code},
          {"lost", rank.ending.lost},
          {"peak_allocated_bytes", rank.peak_allocated_bytes},
          {"peak_reserved_bytes", rank.peak_reserved_bytes},
          {"wall_ns", wall},
          {"category_ns", json_of(sums)},
          {"steps", std::move(steps)}};
}

ordered_json json_of(const CollectiveTruth& collective, const std::vector<Group>& groups) {
  const Instance& i = collective.instance;
  const bool message = i.peer >= 0;
  ordered_json json = {
      {"communicator", groups[static_cast<size_t>(i.group)].name},
      {"function", message ? "message" : std::string(schema::word_of(i.function))},
      {"sequence", i.sequence},
      {"step", collective.step},
      {"bytes", i.bytes},
      {"first_start_ns", time_or_null(i.first_start)},
      {"last_start_ns", i.last_rank < 0 ? ordered_json(nullptr) : ordered_json(i.last_start)},
      {"last_rank", i.last_rank},
      {"begin_ns", time_or_null(i.begin)},
      {"end_ns", time_or_null(i.end)},
      {"mismatch", i.mismatch}};
  if (message) {
    json["from"] = i.root;
    json["to"] = i.peer;
  }
  ordered_json members = ordered_json::array();
  for (const MemberTruth& m : collective.members) {
    members.push_back({{"rank", m.rank},
                       {"start_ns", time_or_null(m.start)},
                       {"end_ns", time_or_null(m.end)},
                       {"wait_ns", m.wait}});
  }
  json["members"] = std::move(members);
  return json;
}

ordered_json json_of(const FaultTruth& truth) {
  const Fault& fault = truth.fault;
  const bool names_rank =
      fault.pattern != Pattern::kRotating && fault.host < 0 && truth.ranks.size() == 1;
  return {{"name", fault.kind->name},
          {"cause", fault.kind->cause},
          {"shape", word_of(fault.pattern)},
          {"rank", names_rank ? ordered_json(fault.rank) : ordered_json(nullptr)},
          {"ranks", truth.ranks},
          {"host", fault.host >= 0 ? ordered_json(fault.host) : ordered_json(nullptr)},
          {"from", fault.from},
          {"to", fault.to == INT64_MAX ? ordered_json(nullptr) : ordered_json(fault.to)},
          {"every", fault.every},
          {"probability", fault.probability},
          {"ms", fault.ms},
          {"factor", fault.factor},
          {"cost_ns", truth.cost_ns ? ordered_json(*truth.cost_ns) : ordered_json(nullptr)}};
}

}  // namespace

// One entry per line, so that big runs can be read piece by piece.
Status write_truth(const std::filesystem::path& path, const Spec& spec, const Truth& truth) {
  std::ofstream file(path);
  const auto list = [&](const char* key, const auto& items, const auto& json) {
    file << fmt::format(",\n\"{}\": [", key);
    size_t number = 0;
    for (const auto& item : items) {
      file << (number == 0 ? "\n" : ",\n") << json(item, static_cast<int>(number)).dump();
      ++number;
    }
    file << "]";
  };
  size_t steps = 0;
  for (const RankTruth& rank : truth.ranks) steps += rank.steps.size();
  ordered_json hang = nullptr;
  if (truth.hang) hang = {{"template", *truth.hang}, {"culprits", truth.culprits}};
  file << fmt::format(
      "{{\"schema\": \"dprof.truth/1\",\n\"shape\": \"{}\", \"technique\": \"{}\", \"seed\": {},\n"
      "\"healthy\": {},\n\"ranks_count\": {}, \"step_ns\": {}, \"rows\": {}, \"dropped_records\": "
      "{},\n\"hang\": {}",
      word_of(spec.shape), word_of(spec.technique), spec.seed,
      spec.healthy.empty() ? "null" : ordered_json(spec.healthy).dump(), spec.ranks, truth.step_ns,
      truth.rows, truth.dropped_records, hang.dump());
  list("faults", truth.faults, [](const FaultTruth& f, int) { return json_of(f); });
  list("hosts", truth.hosts, [](const HostTruth& h, int) { return json_of(h); });
  list("ranks", truth.ranks,
       [&](const RankTruth& r, int number) { return json_of(r, number, steps <= kMostSteps); });
  list("collectives", truth.collectives,
       [&](const CollectiveTruth& c, int) { return json_of(c, truth.groups); });
  file << "}\n";
  if (!file) return fail(Code::kIo, fmt::format("{}: cannot be written", path.string()));
  return Done{};
}

}  // namespace dprof::synth
