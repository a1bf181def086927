// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/host_forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

}  // namespace

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

std::string words_of(const RuleInput& input, const HostForecast& forecast) {
  std::string words = fmt::format("{} ({} to {}) more steps", steps_words(forecast.steps),
                                  steps_words(forecast.earliest), steps_words(forecast.latest));
  const double step_ns = static_cast<double>(median_step(input));
  if (step_ns > 0) words += fmt::format(", about {:.2g} h", forecast.steps * step_ns / kNsPerHour);
  return words;
}

}  // namespace dprof::analyzer
