// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/faults/injector.h"

namespace dprof::trainer_harness {
namespace {

Place place_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::kLoader:
      return Place::kInput;
    case FaultKind::kBackward:
      return Place::kBackward;
    case FaultKind::kCompute:
      break;
  }
  return Place::kForward;
}

}  // namespace

void FaultInjector::visit(Place place, int64_t step) {
  for (size_t i = 0; i < faults_.size(); ++i) {
    const Fault& fault = faults_[i];
    if (place_of(fault.kind) != place || !strikes(fault, fault.kind, truth_.rank, step)) continue;
    const Moment begin = now();
    suffer(fault);
    const int64_t end_ns = now().monotonic_raw_ns;
    const std::lock_guard lock(mutex_);
    truth_.strikes.push_back({i, step, begin, end_ns - begin.monotonic_raw_ns});
  }
}

bool FaultInjector::acts_at(Place place) const {
  for (const Fault& fault : faults_) {
    if (place_of(fault.kind) == place && fault.rank == truth_.rank) return true;
  }
  return false;
}

double FaultInjector::batch_factor(int64_t) { return 1; }
double FaultInjector::length_factor(int64_t) { return 1; }

}  // namespace dprof::trainer_harness
