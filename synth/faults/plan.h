// SPDX-License-Identifier: Apache-2.0
// The effects of the faults on a rank in a step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "synth/faults/catalogue.h"
#include "synth/spec.h"

namespace dprof::synth {

enum class Pattern : uint8_t { kPersistent, kTransient, kPeriodic, kRotating, kGrowing };
[[nodiscard]] std::string_view word_of(Pattern pattern);

enum class HangAct : uint8_t {
  kNone,
  kSleep,
  kException,
  kEarlyExit,
  kLoop,
  kDataStall,
  kKilled,
  kLost,
  kSwapped,
  kWrongSize,
  kWrongFunction,
  kWrongDtype,
  kNetwork,
  kQueued,  // sleeps before its part of the pair's collective
  kHalf,    // sleeps before its half's collective
};

// In backward, after that share of its computation.
struct Inside {
  double at = 0;
  int64_t op_ns = 0;
  int64_t host_ns = 0;
};

struct Effects {
  int64_t forward_op_ns = 0;
  int64_t forward_host_ns = 0;
  int64_t forward_gc_ns = 0;
  int64_t marked_gc_ns = 0;  // of a collection that has a range of its own
  int64_t backward_op_ns = 0;
  int64_t backward_host_ns = 0;
  std::vector<Inside> inside_backward;
  int64_t optimizer_op_ns = 0;
  int64_t loader_ns = 0;
  double batch_cost = 1;  // factor on a worker's time per batch
  int64_t checkpoint_ns = 0;
  int64_t rank0_ns = 0;
  double host_factor = 1;    // of operators on the CPU
  double kernel_factor = 1;  // of kernels
  double memory_factor = 1;  // of elementwise kernels
  double batch_factor = 1;   // of both, in forward and backward: larger or longer batches
  double work_factor = 1;    // likewise, with the same batches
  double layers_factor = 1;  // likewise, of their number
  double jitter = 0;         // contention: up to this much more, per operator
  double network_factor = 1;
  int64_t syncs = 0;
  int64_t after_sync_ns = 0;
  int64_t churns = 0;
  int64_t churn_ns = 0;
  int64_t leaked_bytes = 0;
  HangAct hang = HangAct::kNone;
};

// Whom a fault hits besides its rank: everybody in the same group.
enum class Of : uint8_t { kRank, kHost, kTensor, kData, kStage, kReplica };

// A fault with all parameters resolved.
struct Fault {
  FaultSpec spec;
  const FaultKind* kind = nullptr;
  Pattern pattern = Pattern::kPersistent;
  int rank = -1;
  int other = -1;
  int host = -1;
  int64_t from = 0;
  int64_t to = 0;
  int64_t every = 1;
  double probability = 1;
  double ms = 0;
  double factor = 1;
  int64_t count = 1;
  Of of = Of::kRank;
  double at = 0;

  // True if it is active in a step.
  [[nodiscard]] bool at_work(uint64_t seed, int64_t step) const;
  // -1 = on no rank in particular.
  [[nodiscard]] int rank_in(int64_t step, int ranks) const;
  // For a fault of all ranks that hits each of them in a different step out of `every`.
  [[nodiscard]] bool takes_turns() const;
  // Its part in a step, if it grows; else 1.
  [[nodiscard]] double strength(int64_t step) const;
  [[nodiscard]] double factor_in(int64_t step) const { return 1 + (factor - 1) * strength(step); }
};

class FaultPlan {
 public:
  static Result<FaultPlan> make(const Spec& spec);

  [[nodiscard]] Effects effects(int rank, int64_t step) const;
  [[nodiscard]] const std::vector<Fault>& faults() const { return faults_; }
  [[nodiscard]] const Fault* hang() const;
  // The ranks that are a hang's culprits.
  [[nodiscard]] std::vector<int> culprits() const;
  [[nodiscard]] double speed(int rank) const;     // lasting factor of a rank's lengths
  [[nodiscard]] double loudness(int rank) const;  // factor on its noise
  // Whether a fault, if it is at work, is on this rank in that step.
  [[nodiscard]] bool touches(const Fault& fault, int rank, int64_t step) const;
  // All ranks on which it ever is; empty: on none in particular.
  [[nodiscard]] std::vector<int> touched(const Fault& fault) const;

 private:
  void add(const Fault& fault, int rank, int64_t step, Effects& effects) const;
  void add_hang(const Fault& fault, int rank, int64_t step, Effects& effects) const;
  void add_healthy(int rank, int64_t step, Effects& effects) const;

  Spec spec_;
  std::vector<Fault> faults_;
};

// Ranks are assigned to hosts in blocks.
[[nodiscard]] inline int host_of(const Spec& spec, int rank) {
  return static_cast<int>(static_cast<int64_t>(rank) * spec.hosts / spec.ranks);
}

// Equal for ranks of one group.
[[nodiscard]] int group_of(const Spec& spec, Of of, int rank);

}  // namespace dprof::synth
