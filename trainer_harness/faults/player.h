// SPDX-License-Identifier: Apache-2.0
// Applies the faults of one rank at their places in a step, and records them.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "trainer_harness/faults/actions.h"
#include "trainer_harness/faults/fault.h"
#include "trainer_harness/faults/lasting_fault.h"
#include "trainer_harness/faults/schedule.h"
#include "trainer_harness/faults/truth.h"
#include "trainer_harness/faults/truth_log.h"

namespace dprof::trainer_harness {

// Thrown by the fault early-exit: the rank must end at once, as if it had finished.
struct EarlyExit : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return "early-exit"; }
};

// Threading: visit(), batch_factor() and length_factor() may be called from the training thread,
// autograd's and loader threads; visit() at Place::kStepBegin and kStepEnd, and all other
// functions, from the training thread only. Cost: without a fault at a place, a short lookup.
class FaultPlayer {
 public:
  // Records to `truth` and, if given, to `log`. Throws UsageError for an impossible fault.
  FaultPlayer(std::vector<Fault> faults, const FaultScene& scene, RankTruth& truth,
              FaultActions& actions, TruthLog* log = nullptr);

  // Applies this rank's faults at `place` in `step`, on the calling thread.
  void visit(Place place, int64_t step);

  // True if this rank takes part in any fault at `place`.
  [[nodiscard]] bool acts_at(Place place) const { return !at_place(place).empty(); }

  // The factor by which this step's batch, or its sequences, should grow; 1: not at all.
  [[nodiscard]] double batch_factor(int64_t step);
  [[nodiscard]] double length_factor(int64_t step);

  // After training: ends lasting faults, closes the account, and reports on stderr which faults
  // never struck.
  void finish();

 private:
  struct Lasting {
    size_t fault = 0;
    std::unique_ptr<LastingFault> effect;
    bool on = false;
    bool in_step = false;
    Moment since;
  };

  [[nodiscard]] const std::vector<size_t>& at_place(Place place) const {
    return at_place_[static_cast<size_t>(place)];
  }
  [[nodiscard]] bool is_for_this_rank(const Fault& fault) const {
    return fault.rank == kEveryRank || fault.rank == scene_.rank;
  }
  [[nodiscard]] bool due(size_t index, int64_t step);
  void act(size_t index, int64_t step);
  void suffer(size_t index, int64_t step);
  void hold(const Fault& fault);
  void churn(size_t index, int64_t step);
  void empty_cache(const Fault& fault);
  void end_rank(FaultKind kind);
  void begin_lasting(int64_t step);
  void end_lasting(int64_t step);
  [[nodiscard]] double factor(FaultKind kind, int64_t step);
  void account(const Strike& strike);
  void account(Deed deed);

  std::vector<Fault> faults_;
  FaultScene scene_;
  RankTruth& truth_;
  FaultActions& actions_;
  TruthLog* log_;
  std::vector<std::vector<size_t>> at_place_;  // faults in which this rank takes part, by place
  std::vector<Lasting> lasting_;
  std::mutex mutex_;             // guards the members below, and the account's strikes and deeds
  std::vector<int64_t> struck_;  // how often, by fault
  bool over_ = false;            // the account is closed; a loader thread may still be prefetching
};

}  // namespace dprof::trainer_harness
