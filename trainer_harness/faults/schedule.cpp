// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/faults/schedule.h"

namespace dprof::trainer_harness {
namespace {

// splitmix64: neighbouring numbers give unrelated results.
uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

}  // namespace

double chance(const FaultScene& scene, size_t index, int64_t step) {
  uint64_t bits = mix(scene.seed);
  bits = mix(bits ^ static_cast<uint64_t>(index));
  bits = mix(bits ^ static_cast<uint64_t>(scene.rank));
  bits = mix(bits ^ static_cast<uint64_t>(step));
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

bool strikes(const Fault& fault, size_t index, const FaultScene& scene, int64_t step) {
  if (fault.rank != kEveryRank && fault.rank != scene.rank) return false;
  if (step < fault.from || step >= fault.to || (step - fault.from) % fault.every != 0) return false;
  switch (fault.kind) {
    case FaultKind::kRotating:
      return step % scene.world_size == scene.rank;
    case FaultKind::kTransient:
    case FaultKind::kGcPause:
      return chance(scene, index, step) < fault.share;
    case FaultKind::kCrash:
    case FaultKind::kKill:
      return !scene.restarted;
    default:
      return true;
  }
}

}  // namespace dprof::trainer_harness
