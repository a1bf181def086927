// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>

namespace dprof::trainer_harness {
namespace {

double median_ms(const std::vector<StepTime>& steps) {
  std::vector<int64_t> times;
  for (const StepTime& step : steps) times.push_back(step.duration_ns);
  if (times.empty()) return 0;
  const auto middle = times.begin() + static_cast<int64_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return static_cast<double>(*middle) * 1e-6;
}

// Step durations less their input wait.
std::vector<StepTime> without_input(const RankTruth& truth) {
  std::vector<StepTime> steps = truth.steps;
  for (size_t i = 0; i < std::min(steps.size(), truth.input_ns.size()); ++i) {
    steps[i].duration_ns -= truth.input_ns[i];
  }
  return steps;
}

}  // namespace

std::string SamplesTaken::text() const { return fmt::format("{} {}", part, samples); }

SamplesTaken SamplesTaken::read(const std::string& text) {
  SamplesTaken taken;
  std::istringstream(text) >> taken.part >> taken.samples;
  return taken;
}

SamplesTaken samples_taken(const RankTruth& truth, int part) {
  return {part, std::accumulate(truth.samples.begin(), truth.samples.end(), int64_t{0})};
}

int64_t samples_of_job(const std::vector<SamplesTaken>& ranks) {
  std::map<int, int64_t> parts;
  for (const SamplesTaken& rank : ranks) {
    if (rank.part >= 0) parts[rank.part] = std::max(parts[rank.part], rank.samples);
  }
  int64_t all = 0;
  for (const auto& [part, samples] : parts) all += samples;
  return all;
}

std::string throughput_text(const RankTruth& truth, int64_t samples) {
  const double seconds =
      static_cast<double>(truth.end.monotonic_raw_ns - truth.begin.monotonic_raw_ns) * 1e-9;
  const double rate = seconds > 0 ? static_cast<double>(samples) / seconds : 0;
  return fmt::format(
      "done: "
      "{} steps in {:.2f} s, median {:.2f} ms per step, {:.2f} without input, {:.0f} samples/s, loss {:.4f} -> {:.4f}",
      truth.steps.size(), seconds, median_ms(truth.steps), median_ms(without_input(truth)), rate,
      truth.first_loss, truth.last_loss);
}

std::string state_text(const RankTruth& truth) {
  return fmt::format("state per rank: parameters {} B, gradients {} B, optimizer {} B",
                     truth.parameter_bytes, truth.gradient_bytes, truth.optimizer_bytes);
}

}  // namespace dprof::trainer_harness
