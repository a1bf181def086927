// SPDX-License-Identifier: Apache-2.0
// Devices and streams of a process, as rows of `device` and `stream`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "collector/recorder/rows/trace_output.h"
#include "collector/wire/gpu_records.h"
#include "schema/generated/rows.h"

namespace dprof::recorder {

// A row is written when it is first needed and again when more is known. Both tables are bounded,
// because the numbers come from the process.
//
// Threading  one thread.
class GpuPlaces {
 public:
  static constexpr uint32_t kMostDevices = 1024;
  static constexpr size_t kMostStreams = 65536;

  explicit GpuPlaces(TraceOutput& output) : output_(output) {}

  bool describe_device(const wire::Device& body, int64_t name_id);
  bool name_stream(const wire::StreamName& body, int64_t name_id);
  // False for an impossible device.
  bool device(uint32_t ordinal);
  // The id of CUPTI's stream on that device.
  std::optional<int64_t> stream(uint32_t device, uint32_t cuda_stream);

 private:
  TraceOutput& output_;
  std::map<uint32_t, schema::DeviceRow> devices_;
  std::map<std::pair<uint32_t, uint32_t>, schema::StreamRow> streams_;
};

}  // namespace dprof::recorder
