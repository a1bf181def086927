// SPDX-License-Identifier: Apache-2.0
// Memory that grows from step to step, and when it will be exhausted.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyzer/rules/families.h"
#include "analyzer/rules/support.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {

constexpr double kNsPerHour = 3.6e12;

// Ranks with one clock share a host, as in stragglers/machines.h.
const std::string& host_of(const TraceFile& trace) {
  return trace.clock_id.empty() ? trace.host : trace.clock_id;
}

std::string steps_words(double steps) {
  return format_count(std::llround(std::floor(std::min(steps, 1e15))));
}

// When the memory of a host whose processes grow from step to step will be exhausted.
struct HostForecast {
  std::vector<int> ranks;     // those that grow on that host
  int64_t left_bytes = 0;     // at its last sample, see HostMemoryLeft
  double bytes_per_step = 0;  // all of them together
  double bound = 0;           // half-width of its 95 % interval, if all err alike
  double steps = 0;           // from the end of the recording
  double earliest = 0;        // by that interval
  double latest = 0;
};

// For the host of `rank`, whose host memory grows. nullopt: no trace of that host records how much
// memory was left, or it is unknown which ranks share the host.
std::optional<HostForecast> host_forecast(const RuleInput& input, int rank) {
  const auto own = std::ranges::find(input.traces, rank, &TraceFile::rank);
  if (own == input.traces.end() || host_of(*own).empty()) return std::nullopt;
  const auto shares = [&](int other) {
    const auto trace = std::ranges::find(input.traces, other, &TraceFile::rank);
    return trace != input.traces.end() && host_of(*trace) == host_of(*own);
  };
  std::optional<int64_t> left;
  for (const RankDigest& digest : input.digests) {
    const std::optional<int64_t> bytes = digest.facts.host_memory.bytes();
    if (bytes && shares(digest.rank)) left = std::min(left.value_or(*bytes), *bytes);
  }
  if (!left) return std::nullopt;
  HostForecast forecast{.ranks = {}, .left_bytes = *left};
  for (const Leak& leak : *input.report.memory->leaks) {
    if (leak.device >= 0 || leak.bytes_per_step <= leak.bound || !shares(leak.rank)) continue;
    forecast.ranks.push_back(leak.rank);
    forecast.bytes_per_step += static_cast<double>(leak.bytes_per_step);
    forecast.bound += static_cast<double>(leak.bound);
  }
  if (forecast.bytes_per_step <= forecast.bound) return std::nullopt;
  std::ranges::sort(forecast.ranks);
  const auto bytes = static_cast<double>(*left);
  forecast.steps = bytes / forecast.bytes_per_step;
  forecast.earliest = bytes / (forecast.bytes_per_step + forecast.bound);
  forecast.latest = bytes / (forecast.bytes_per_step - forecast.bound);
  return forecast;
}

// "12,000 (11,000 to 13,400) more steps, about 3.2 h".
std::string words_of(const RuleInput& input, const HostForecast& forecast) {
  std::string words = fmt::format("{} ({} to {}) more steps", steps_words(forecast.steps),
                                  steps_words(forecast.earliest), steps_words(forecast.latest));
  const double step_ns = static_cast<double>(median_step(input));
  if (step_ns > 0) words += fmt::format(", about {:.2g} h", forecast.steps * step_ns / kNsPerHour);
  return words;
}

constexpr double kSoon = 1000;  // steps until memory is exhausted, to be critical

// When the growing memory is full, and whether that is soon.
struct Outlook {
  std::string words;
  bool soon = false;
};

Outlook outlook_of(const RuleInput& input, const Leak& leak) {
  if (leak.device >= 0) {
    if (!leak.steps_to_oom) return {"the device's size was not recorded"};
    return {fmt::format("at that rate it is full in {} more steps",
                        format_count(std::llround(*leak.steps_to_oom))),
            *leak.steps_to_oom < kSoon};
  }
  const std::optional<HostForecast> forecast = host_forecast(input, leak.rank);
  if (!forecast) {
    return {
        "it is unknown when the host runs out: no trace of that host shows how much was free "
        "(dprof record samples host.memory_available_bytes)"};
  }
  return {
      fmt::format("at that rate the host runs out after {}: {} were free, and {} take {} per step",
                  words_of(input, *forecast), format_bytes(forecast->left_bytes),
                  list_of(forecast->ranks), format_bytes(std::llround(forecast->bytes_per_step))),
      forecast->earliest < kSoon};
}

// In the report's order: steepest first.
std::optional<Measured> leak(const RuleInput& input) {
  if (!input.report.memory || !input.report.memory->leaks) return {};
  Measured measured;
  const Leak* steepest = nullptr;
  for (const Leak& one : *input.report.memory->leaks) {
    if (one.bytes_per_step <= one.bound) continue;
    if (steepest == nullptr) steepest = &one;
    if (std::ranges::count(measured.ranks, one.rank) == 0) measured.ranks.push_back(one.rank);
    if (measured.decided_by.size() >= kEvidenceRanks) continue;
    measured.decided_by.push_back(fmt::format("rank {}: {} per step ± {}, over {} steps, {} in all",
                                              one.rank, format_bytes(one.bytes_per_step),
                                              format_bytes(one.bound), one.steps,
                                              format_bytes(one.risen_bytes)));
  }
  if (steepest == nullptr) return {};
  std::ranges::sort(measured.ranks);
  const Outlook outlook = outlook_of(input, *steepest);
  if (outlook.soon) measured.severity = kCritical;
  std::string site;
  if (!steepest->sites.empty()) {
    const LeakSite& most = steepest->sites.front();
    site =
        fmt::format("; most of it was allocated in {}", most.site.empty() ? most.phase : most.site);
  }
  measured.figures = {{"memory", steepest->device < 0 ? "host memory" : "device memory"},
                      {"growth", format_bytes(steepest->bytes_per_step)},
                      {"outlook", outlook.words},
                      {"site", site}};
  return measured;
}

}  // namespace

constexpr Rule kLeak = {
    .name = "memory.leak",
    .finds = "memory grows from step to step",
    .costs =
        "steps until the device is full; "
        "for host memory, steps and hours until all ranks of the host run out, if a trace of the host shows how much was free",
    .guard = "growth within its own uncertainty, or growth that stops",
    .advice = "detach() losses and metrics that you keep; clear lists and caches",
    .judged = {.cause = "allocator", .confidence = 0.8, .mildest = kWarn},
    .title = "{memory} of {who} grows by {growth} per step",
    .detail = "{outlook}{site}",
    .refuted_by = {"a longer run in which growth stops: a cache that fills up"},
    .measure = leak};

}  // namespace dprof::analyzer
