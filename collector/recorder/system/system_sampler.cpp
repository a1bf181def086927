// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/system/system_sampler.h"

#include <time.h>

#include <algorithm>
#include <climits>

namespace dprof::recorder {
namespace {

// Twice a second, so that a late round still leaves one in each second; once on a host with so many
// threads that a round is expensive.
constexpr std::chrono::milliseconds kInterval{500};
constexpr std::chrono::milliseconds kDearInterval{900};
constexpr int64_t kDearNs = 3 * kNsPerMs;

// Looks at the main threads' waits: 20 a second, as long as they cost at most half a percent of a
// core.
constexpr int64_t kLookNs = 50 * kNsPerMs;
constexpr int64_t kLookShare = 200;
constexpr int64_t kMostLookNs = 500 * kNsPerMs;

}  // namespace

SystemSampler::SystemSampler(const RunClock& clock, SystemRoots roots)
    : clock_(clock),
      roots_(std::move(roots)),
      host_(clock, roots_, names_),
      gpus_(clock),
      interval_(kInterval) {}

void SystemSampler::sample(const std::vector<Sampled>& processes) {
  const int64_t begin_ns = thread_cpu_ns();
  std::erase_if(processes_, [&](const auto& known) {
    return std::ranges::none_of(processes, [&](const Sampled& process) {
      return Key(process.pid, process.key) == known.first;
    });
  });
  const size_t share =
      std::max(kLeastThreads, kMostThreads / std::max<size_t>(1, processes.size()));
  for (const Sampled& process : processes) {
    std::unique_ptr<ProcessSampler>& sampler = processes_[Key(process.pid, process.key)];
    if (!sampler) {
      sampler = std::make_unique<ProcessSampler>(clock_, roots_, process.pid, process.pidfd);
    }
    sampler->sample(file_, share, process.deliver);
  }
  sample_host(processes);
  interval_ = thread_cpu_ns() - begin_ns > kDearNs ? kDearInterval : kInterval;
}

void SystemSampler::look(const std::vector<Sampled>& processes) {
  const int64_t begin_ns = thread_cpu_ns();
  for (const Sampled& process : processes) {
    const auto known = processes_.find(Key(process.pid, process.key));
    if (known != processes_.end()) known->second->look(file_, process.deliver);
  }
  look_ns_ = thread_cpu_ns() - begin_ns;
}

std::chrono::microseconds SystemSampler::look_interval() {
  const int64_t mean_ns = std::clamp(kLookShare * look_ns_, kLookNs, kMostLookNs);
  std::uniform_int_distribution<int64_t> about(mean_ns / 2, mean_ns + mean_ns / 2);
  return std::chrono::microseconds(about(random_) / kNsPerUs);
}

void SystemSampler::sample_host(const std::vector<Sampled>& processes) {
  const Sampled* first = nullptr;
  for (const Sampled& process : processes) {
    if (!process.leads) continue;
    if (first == nullptr || process.rank.value_or(INT_MAX) < first->rank.value_or(INT_MAX)) {
      first = &process;
    }
  }
  if (first == nullptr) return;
  const Key key(first->pid, first->key);
  const bool fresh = host_goes_to_ != key;
  host_goes_to_ = key;
  host_.sample(file_, first->pid, fresh, first->deliver);
  for (Measured& measured : gpus_.take_measured(fresh)) first->deliver(std::move(measured));
}

}  // namespace dprof::recorder
