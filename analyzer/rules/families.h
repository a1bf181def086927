// SPDX-License-Identifier: Apache-2.0
// Rules defined outside the file that lists their family.
#pragma once

#include <vector>

#include "analyzer/rules/rule.h"

namespace dprof::analyzer {

// comm_links.cpp, comm_patterns.cpp, comm_buckets.cpp, comm_backward.cpp
extern const Rule kHang, kUnfinishedReduction, kGlooOnGpu, kSlowGroup, kServerBottleneck,
    kLowBandwidth;
extern const Rule kNoGradientSync, kSyncEachMicrobatch, kNeedlessBarrier, kBufferBroadcast,
    kSmallCollectives, kGatherExposed, kAllToAllImbalance;
extern const Rule kFindUnused, kNoOverlap, kOrderBlocked, kExposedTail, kSmallMessages,
    kLinkSaturated, kSlowedByCollectives, kExposedTransfer;
extern const Rule kBucketCopies, kBlockingWait;

// job_end.cpp
extern const Rule kRunFailed;

// parallel.cpp, updates.cpp
extern const Rule kDeviceShared, kStagesShareDevice, kDataParallel, kBubble;
extern const Rule kPartialAccumulation, kSkippedSteps, kManyWriters;

// samples.cpp, memory_leak.cpp
extern const Rule kShardsOverlap, kOrderRepeats, kShardsUneven;
extern const Rule kLeak;

}  // namespace dprof::analyzer
