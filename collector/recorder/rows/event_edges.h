// SPDX-License-Identifier: Apache-2.0
// Pairs the recording of a CUDA event with the waits for it, as rows of gpu_dependency.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "collector/recorder/rows/trace_output.h"
#include "collector/wire/gpu_records.h"

namespace dprof::recorder {

// A wait belongs to the last recording of its event before it. Calls arrive in no order, so they
// are held until write_until(), which takes them in order of time.
//
// Threading  one thread.
class EventEdges {
 public:
  static constexpr size_t kMostEvents = 65536;  // with a remembered recording

  struct Call {
    int64_t time_ns;
    uint64_t event;
    std::optional<int64_t> stream_id;  // nullopt = the host
    uint32_t correlation;
    wire::GpuEventKind kind;
  };

  void add(const Call& call) { calls_.push_back(call); }
  // Pairs the calls before `before_ns`; returns the number of rows written.
  int64_t write_until(int64_t before_ns, TraceOutput& output);
  [[nodiscard]] size_t held() const { return calls_.size(); }
  void times(std::vector<int64_t>& times) const;

 private:
  struct Recording {
    int64_t time_ns;
    std::optional<int64_t> stream_id;
  };
  void remember(const Call& call);
  void write(const Call& call, TraceOutput& output);

  std::vector<Call> calls_;
  std::unordered_map<uint64_t, Recording> recorded_;
};

}  // namespace dprof::recorder
