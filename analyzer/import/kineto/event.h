// SPDX-License-Identifier: Apache-2.0
// One event of a Chrome JSON file, as text.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "analyzer/import/kineto/json_scan.h"

namespace dprof::analyzer::kineto {

// Members of an event that are read.
enum class Field : uint8_t { kPh, kCat, kName, kPid, kTid, kTs, kDur, kId, kId2, kArgs, kCount };

// Members of an event's `args` that are read.
enum class Arg : uint8_t {
  kName,
  kLabels,
  kCorrelation,
  kExternalId,
  kSequenceNumber,
  kForwardThread,
  kDevice,
  kStream,
  kBytes,
  kGraphId,
  kGraphNodeId,
  kGrid,
  kBlock,
  kRegisters,
  kSharedMemory,
  kSyncKind,
  kWaitOnStream,
  kWaitOnEvent,
  kWaitOnRecord,
  kMemoryBytes,
  kMemoryAddress,
  kDeviceType,
  kDeviceId,
  kTotalAllocated,
  kTotalReserved,
  kInputDims,
  kInputType,
  kCollectiveName,
  kDtype,
  kInElements,
  kOutElements,
  kGroupName,
  kGroupId,
  kGroupRanks,
  kGroupSize,
  kGroupStart,
  kGroupStride,
  kRootRank,
  kSourceRank,
  kDestinationRank,
  kGroupSequence,
  kStep,  // of operation tables
  kModelChunk,
  kCount
};

inline constexpr size_t kFields = static_cast<size_t>(Field::kCount);
inline constexpr size_t kArgs = static_cast<size_t>(Arg::kCount);

class Event {
 public:
  void clear() { has_fields_ = has_args_ = 0; }
  void set(Field field, const Value& value) {
    fields_[static_cast<size_t>(field)] = value;
    has_fields_ |= uint64_t{1} << static_cast<unsigned>(field);
  }
  void set(Arg arg, const Value& value) {
    args_[static_cast<size_t>(arg)] = value;
    has_args_ |= uint64_t{1} << static_cast<unsigned>(arg);
  }

  [[nodiscard]] bool has(Field field) const {
    return (has_fields_ >> static_cast<unsigned>(field) & 1U) != 0;
  }
  [[nodiscard]] bool has(Arg arg) const {
    return (has_args_ >> static_cast<unsigned>(arg) & 1U) != 0;
  }
  [[nodiscard]] Value operator[](Field field) const {
    return has(field) ? fields_[static_cast<size_t>(field)] : Value{};
  }
  [[nodiscard]] Value operator[](Arg arg) const {
    return has(arg) ? args_[static_cast<size_t>(arg)] : Value{};
  }
  [[nodiscard]] bool empty() const { return has_fields_ == 0; }

 private:
  static_assert(kArgs <= 64);
  uint64_t has_fields_ = 0;
  uint64_t has_args_ = 0;
  std::array<Value, kFields> fields_;
  std::array<Value, kArgs> args_;
};

// Reads one event; `cursor` is at its '{'. Of duplicate members the last one counts. O(bytes).
Scan read_event(Cursor& cursor, Event& event);

}  // namespace dprof::analyzer::kineto
