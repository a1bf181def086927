// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/activities/side_work.h"

#include <ATen/DeviceAccelerator.h>
#include <malloc.h>
#include <unistd.h>

#include <fstream>
#include <iomanip>
#include <sstream>
#include <string>

#include "trainer_harness/activities/metrics.h"
#include "trainer_harness/techniques/markers.h"

namespace dprof::trainer_harness {
namespace {

constexpr double kMiB = 1 << 20;
constexpr double kSecondsPerNs = 1e-9;
constexpr double kMsPerNs = 1e-6;
constexpr int64_t kMistakenStep = 2;  // with steps before and after it

double resident_mib() {
  std::ifstream file("/proc/self/statm");
  int64_t all_pages = 0;
  int64_t resident_pages = 0;
  file >> all_pages >> resident_pages;
  return static_cast<double>(resident_pages * sysconf(_SC_PAGESIZE)) / kMiB;
}

}  // namespace

SideWork::SideWork(Context& context, RankTruth& truth) : context_(context), truth_(truth) {
  check_metrics(context);
}

bool SideWork::due(int64_t every) const {
  return every > 0 && (context_.progress.step + 1) % every == 0;
}

void SideWork::wait_for_all() {
  const Mark mark(context_.options.output.marks, kBarrierMark);
  context_.job->group()->barrier()->wait();
}

void SideWork::begin_epoch() {
  if (watched_since_ns_ == 0) watched_since_ns_ = now().monotonic_raw_ns;
  if (context_.options.distribution.barrier == BarrierKind::kEpoch) wait_for_all();
}

void SideWork::end_update(Strategy& strategy, const torch::Tensor& loss, const Batch& batch,
                          bool last_of_run) {
  const OutputOptions& output = context_.options.output;
  const DistributionOptions& distribution = context_.options.distribution;
  watched_samples_ += batch.samples() * context_.options.training.accumulate;
  note_loss(strategy, loss, last_of_run);
  if (distribution.metrics != Metrics::kNone && due(distribution.metrics_every)) {
    const Mark mark(output.marks, kMetricsMark);
    exchange_metrics(context_, strategy, loss, batch);
  }
  if (due(output.memory_every)) log_memory();
  if (due(output.monitor_every)) log_throughput();
  if (due(output.empty_cache_every)) {
    if (context_.device.is_cpu()) {
      malloc_trim(0);  // the CPU's allocator is malloc, whose cache is free pages
    } else {
      at::accelerator::emptyCache();
    }
  }
  if (distribution.barrier == BarrierKind::kStep) wait_for_all();
  if (context_.options.mistake == Mistake::kRank0Barrier && context_.rank() == 0 &&
      context_.progress.step == kMistakenStep) {
    wait_for_all();
  }
}

// All ranks read the loss in the same steps, since a strategy may have to send it to rank 0.
void SideWork::note_loss(Strategy& strategy, const torch::Tensor& loss, bool last_of_run) {
  const int64_t step = context_.progress.step;
  const bool always = step == 0 || last_of_run;
  const bool logs = always || step % context_.options.output.log_every == 0;
  if (!always && step % context_.options.training.loss_every != 0) return;
  const torch::Tensor known = strategy.share_loss(loss);
  if (!known.defined()) return;
  const double value = known.item<double>();  // waits for the device, so not in every step
  if (!has_first_loss_) truth_.first_loss = value;
  has_first_loss_ = true;
  truth_.last_loss = value;
  if (!logs) return;
  const Mark mark(context_.options.output.marks, kLoggingMark);
  context_.faults.visit(Place::kLog, step);
  std::ostringstream line;
  line << "step " << step << " loss " << value;
  context_.log.info(line.str());
}

void SideWork::log_memory() const {
  const Mark mark(context_.options.output.marks, kLoggingMark);
  std::ostringstream line;
  line << "step " << context_.progress.step << " memory of rank " << context_.rank() << ": "
       << std::fixed << std::setprecision(1) << resident_mib() << " MiB resident";
  if (!context_.device.is_cpu()) {
    const auto stats = at::accelerator::getDeviceStats(context_.device.index());
    const auto all = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    line << ", " << static_cast<double>(stats.allocated_bytes[all].current) / kMiB
         << " MiB allocated (peak " << static_cast<double>(stats.allocated_bytes[all].peak) / kMiB
         << "), " << static_cast<double>(stats.reserved_bytes[all].current) / kMiB
         << " MiB reserved";
  }
  context_.log.info(line.str());
}

// Only this rank's throughput, which needs no collective: without faults all ranks are as fast.
void SideWork::log_throughput() {
  const Mark mark(context_.options.output.marks, kLoggingMark);
  const int64_t time = now().monotonic_raw_ns;
  const auto ns = static_cast<double>(time - watched_since_ns_);
  std::ostringstream line;
  line << "step " << context_.progress.step << " throughput " << std::fixed << std::setprecision(0)
       << static_cast<double>(watched_samples_) / (ns * kSecondsPerNs) << " samples/s on rank "
       << context_.rank() << ", " << std::setprecision(2)
       << ns * kMsPerNs / static_cast<double>(context_.options.output.monitor_every)
       << " ms per step";
  context_.log.info(line.str());
  watched_since_ns_ = time;
  watched_samples_ = 0;
}

}  // namespace dprof::trainer_harness
