// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/machines.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string_view>

#include "analyzer/digest/gpu_readings.h"
#include "analyzer/stragglers/own_work.h"
#include "analyzer/vocabulary/thresholds.h"

namespace dprof::analyzer {
namespace {

void add_readings(const GpuReadings& gpu, Machine& machine) {
  if (gpu.sm_clock_mhz) machine.sm_clock_mhz = static_cast<double>(*gpu.sm_clock_mhz);
  if (gpu.memory_clock_mhz) machine.memory_clock_mhz = static_cast<double>(*gpu.memory_clock_mhz);
  if (gpu.reason_samples > 0)
    machine.throttled =
        static_cast<double>(gpu.throttled) / static_cast<double>(gpu.reason_samples);
  machine.throttle_reasons = gpu.throttle_reasons;
  machine.ecc_errors = gpu.new_ecc_errors;
}

std::optional<double> mean_elements(const Facts& facts, Interval span) {
  std::vector<std::optional<double>> of_shape;
  for (const std::string& shape : facts.shapes) of_shape.push_back(elements_of(shape));
  double sum = 0;
  int64_t count = 0;
  for (const BatchFact& batch : facts.batches) {
    if (batch.at < span.begin || batch.at >= span.end || batch.shape < 0) continue;
    const std::optional<double>& elements = of_shape[static_cast<size_t>(batch.shape)];
    if (!elements) continue;
    sum += *elements;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

std::optional<double> mean_length(const Facts& facts, std::initializer_list<KernelClass> classes) {
  KernelSum sum;
  for (const KernelClass one : classes) {
    sum.count += facts.of(one).count;
    sum.total_ns += facts.of(one).total_ns;
  }
  if (sum.count == 0) return std::nullopt;
  return static_cast<double>(sum.total_ns) / static_cast<double>(sum.count);
}

// The steady step of a rank's moment: until the next one begins.
std::optional<size_t> steady_step_at(const Steps& steps, size_t rank, TraceNs at) {
  const auto steady = steps.steady();
  const auto position = [&](const AlignedStep& step) {
    return steps.until_next(static_cast<size_t>(&step - steps.steps.data()), rank);
  };
  const std::optional<size_t> step = holder_of(steady, at, position);
  return step ? std::optional(steps.first_steady + *step) : std::nullopt;
}

}  // namespace

Looks looks_of(std::span<const WaitSample> samples, const Steps& steps, size_t rank,
               const Lattice& pieces) {
  Looks looks;
  Looks::ByWait in_step{};
  std::optional<size_t> current;
  const auto close_step = [&] {
    const double all = std::accumulate(in_step.begin(), in_step.end(), 0.0);
    for (size_t k = 0; k < in_step.size(); ++k) {
      looks.counts[k] += in_step[k];
      if (all > 0) looks.observations[k] += in_step[k] / all;
    }
    in_step = {};
  };
  for (const WaitSample& sample : samples) {
    const std::optional<size_t> piece = holder_of(pieces, sample.at, &LatticePiece::span);
    if (!piece || own_kind_of(pieces[*piece]) != OwnKind::kUnattributed) continue;
    const std::optional<size_t> step = steady_step_at(steps, rank, sample.at);
    if (!step) continue;
    if (step != current) close_step();
    current = step;
    in_step[static_cast<size_t>(sample.wait)] += 1;
  }
  close_step();
  return looks;
}

std::optional<double> cpu_in(std::span<const CounterSample> samples, Interval span) {
  const auto first = std::ranges::lower_bound(samples, span.begin, {}, &CounterSample::at);
  const auto last = std::ranges::upper_bound(samples, span.end, {}, &CounterSample::at);
  if (first >= last) return std::nullopt;
  const CounterSample& end = *std::prev(last);
  const auto all = static_cast<double>(span.length().ns);
  const auto sampled = static_cast<double>((end.at - first->at).ns);
  if (sampled <= 0 || sampled < limit::kSampled * all) return std::nullopt;
  return static_cast<double>(end.value - first->value) / sampled * all;
}

std::optional<double> elements_of(std::string_view shape) {
  double product = 1;
  const char* next = shape.data();
  const char* const end = next + shape.size();
  while (true) {
    int64_t number = 0;
    const auto [after, error] = std::from_chars(next, end, number);
    if (error != std::errc() || number < 0) return std::nullopt;
    product *= static_cast<double>(number);
    if (after == end) return product;
    if (*after != 'x') return std::nullopt;
    next = after + 1;
  }
}

std::vector<Machine> machines_of(std::span<const RankDigest> digests,
                                 std::span<const TraceFile> traces, const Steps& steps,
                                 std::span<const Lattice> pieces) {
  std::vector<Machine> machines;
  const ReadingsOfGpus readings(digests);
  const auto count = static_cast<double>(steps.steady().size());
  for (size_t r = 0; r < steps.ranks.size(); ++r) {
    const RankDigest& digest = digests[steps.ranks[r]];
    const Interval span{steps.steady().front().windows[r].begin,
                        steps.steady().back().windows[r].end};
    Machine machine;
    if (steps.ranks[r] < traces.size()) machine.host = traces[steps.ranks[r]].clock_id;
    const DeviceFact* device = busiest_device(digest);
    if (device != nullptr) machine.model = device->model;
    if (const GpuReadings* gpu = readings.of(digest, device)) add_readings(*gpu, machine);
    machine.memory_kernel_ns = mean_length(digest.facts, {KernelClass::kElementwise});
    machine.matrix_kernel_ns = mean_length(
        digest.facts,
        {KernelClass::kMatrixFp32, KernelClass::kMatrixTensor, KernelClass::kMatrixUnaligned});
    machine.batch_elements = mean_elements(digest.facts, span);
    machine.batch_elements_are_samples = std::ranges::none_of(
        digest.facts.shapes,
        [](const std::string& shape) { return shape.find('x') != std::string::npos; });
    machine.cpu_per_step_ns = cpu_in(digest.system.cpu, span);
    if (machine.cpu_per_step_ns) *machine.cpu_per_step_ns /= count;
    machine.kernel_cpu_per_step_ns = rise_per_step(digest.system.kernel_cpu, span, count);
    machine.faults_per_step = rise_per_step(digest.system.faults, span, count);
    // Over the whole recording: ranks that meet in each step have equally many steps.
    const auto begun = static_cast<double>(std::max<int64_t>(1, digest.steps_begun));
    machine.kernels_per_step =
        static_cast<double>(digest.gpu.empty() ? digest.facts.autograd_nodes : digest.gpu.rows) /
        begun;
    machine.looks = looks_of(digest.system.waits, steps, r, pieces[steps.ranks[r]]);
    machines.push_back(std::move(machine));
  }
  return machines;
}

}  // namespace dprof::analyzer
