// SPDX-License-Identifier: Apache-2.0
// The ranges with which the trainer marks itself. All their names are defined here.
#pragma once

#include <ATen/record_function.h>

#include <optional>

#include "trainer_harness/settings/options.h"

#ifdef DPROF_TRAINER_HAS_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

namespace dprof::trainer_harness {

inline constexpr const char* kStepMark = "step";
inline constexpr const char* kInputMark = "input";
inline constexpr const char* kMicroStepMark = "micro_step";
inline constexpr const char* kForwardMark = "forward";
inline constexpr const char* kBackwardMark = "backward";
inline constexpr const char* kOptimizerMark = "optimizer";
inline constexpr const char* kCheckpointMark = "checkpoint";
inline constexpr const char* kMetricsMark = "metrics";
inline constexpr const char* kLoggingMark = "logging";
inline constexpr const char* kBarrierMark = "barrier";
inline constexpr const char* kRebalanceMark = "rebalance";
inline constexpr const char* kReplicateMark = "replicate";  // DataParallel
inline constexpr const char* kGatherMark = "gather";
inline constexpr const char* kReduceMark = "reduce";  // gradients, outside backward
inline constexpr const char* kPullMark = "pull";      // parameters, from a server
inline constexpr const char* kPushMark = "push";      // gradients, to a server
inline constexpr const char* kServeMark = "serve";
inline constexpr const char* kStageForwardMark = "stage_forward";  // one micro-batch in a pipeline
inline constexpr const char* kStageBackwardMark = "stage_backward";
inline constexpr const char* kSeedMark = "seed ";  // followed by the seed

#ifdef DPROF_TRAINER_HAS_NVTX
inline constexpr bool kHasNvtx = true;
#else
inline constexpr bool kHasNvtx = false;
#endif

// A range from construction to destruction, on the thread that holds it; ranges nest. `name` must
// outlive it.
class Mark {
 public:
  Mark(MarkKind kind, const char* name) : kind_(kind) {
    if (kind_ == MarkKind::kUserScope) {
      range_.emplace(at::RecordScope::USER_SCOPE);
      if (range_->isActive()) range_->before(name);
    }
#ifdef DPROF_TRAINER_HAS_NVTX
    if (kind_ == MarkKind::kNvtx) nvtxRangePushA(name);
#endif
  }

  ~Mark() {
#ifdef DPROF_TRAINER_HAS_NVTX
    if (kind_ == MarkKind::kNvtx) nvtxRangePop();
#endif
  }

  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;

 private:
  MarkKind kind_;
  std::optional<at::RecordFunction> range_;
};

}  // namespace dprof::trainer_harness
