// SPDX-License-Identifier: Apache-2.0
// The trace's enumeration values that records carry. The wire does not include the schema;
// enum_values_test.cpp compares the two.
#pragma once

#include <cstdint>

namespace dprof::wire {

namespace range_category {
inline constexpr uint8_t kOp = 0, kUser = 1, kAutograd = 2, kNvtx = 3, kNvtxProcess = 4,
                         kNvtxMark = 5, kApi = 6, kOverhead = 7, kPython = 8;
}
namespace source {
inline constexpr uint8_t kTorch = 1, kNvtx = 2, kNccl = 3, kCuda = 4;
}
namespace payload_kind {
inline constexpr uint8_t kNone = 0, kUint64 = 1, kInt64 = 2, kDouble = 3, kUint32 = 4, kInt32 = 5,
                         kFloat = 6, kSchema = 7;
}
namespace backend {
inline constexpr uint8_t kUnknown = 0, kGloo = 1, kNccl = 2, kMpi = 3, kOther = 4;
}
namespace function {
inline constexpr uint8_t kUnknown = 0, kAllReduce = 1, kReduceScatter = 2, kAllGather = 3,
                         kBroadcast = 4, kReduce = 5, kGather = 6, kScatter = 7, kAllToAll = 8,
                         kBarrier = 9, kSend = 10, kRecv = 11;
}
namespace data_type {
inline constexpr uint8_t kUnknown = 0, kUint8 = 1, kInt8 = 2, kInt16 = 3, kInt32 = 4, kInt64 = 5,
                         kFloat16 = 6, kBfloat16 = 7, kFloat32 = 8, kFloat64 = 9, kBool = 10,
                         kComplex64 = 11, kComplex128 = 12, kFloat8 = 13;
}
namespace reduction {
inline constexpr uint8_t kNone = 0, kSum = 1, kAvg = 2, kProduct = 3, kMin = 4, kMax = 5,
                         kBitwise = 6, kOther = 7;
}
namespace gpu_activity_kind {
inline constexpr uint8_t kKernel = 0, kCopyToDevice = 1, kCopyToHost = 2, kCopyOnDevice = 3,
                         kMemset = 4, kSync = 5, kGraph = 6;
}
namespace memory_event_kind {
inline constexpr uint8_t kAlloc = 0, kFree = 1, kSegmentAlloc = 2, kSegmentFree = 3, kOom = 4,
                         kRegistered = 5;
}
namespace memory_category {
inline constexpr uint8_t kUnknown = 0, kParameter = 1, kGradient = 2, kOptimizerState = 3,
                         kActivation = 4, kBucket = 5, kTemporary = 6;
}

}  // namespace dprof::wire
