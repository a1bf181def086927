// SPDX-License-Identifier: Apache-2.0
// The rows of gpu_activity while a digest is made of them: compact, in order of their begin, and
// with their launch. Private to digest/gpu*.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/digest/gpu_host.h"
#include "base/result.h"
#include "schema/trace_reader.h"

namespace dprof::analyzer {

enum class ActivityClass : uint8_t { kCompute, kCommunication, kCopy };

struct Activity {
  TraceNs begin;
  TraceNs end;
  int32_t launch = kNoRange;  // position in HostSide::launches()
  // Communication: row id of its collective. Computation: which kernel, see Activities::kernels.
  int32_t subject = kNoCollective;
  uint32_t stream = 0;  // a small number
  ActivityClass what = ActivityClass::kCompute;
  HostDetail copy = HostDetail::kNone;       // of a copy, a collective's too: its direction
  Category phase = Category::kOtherCompute;  // of computation
};
static_assert(sizeof(Activity) == 32);

// Rows that say that somebody waited for the device: no activity of it.
struct SyncRows {
  std::map<int64_t, std::vector<Activity>> by_device;  // each in order of begin
  int64_t rows = 0;  // the following too, of which each row is one at most
  int64_t without_stream = 0;
  int64_t without_duration = 0;
  int64_t negative = 0;
};

// Kernels of one name that were launched in one phase.
struct KernelKind {
  int64_t name_id = 0;
  Category phase = Category::kOtherCompute;
};

struct Activities {
  int64_t rows = 0;
  std::map<int64_t, std::vector<Activity>> by_device;  // each in order of begin, then of row
  DenseIndex streams;                                  // numbers of stream ids
  TokenGatherer tokens;                                // kernels and graphs
  int64_t without_duration = 0;
  int64_t negative = 0;     // duration below 0, or a time that makes no sense
  int64_t zero = 0;         // of length 0: counted, but they take no time
  int64_t overlapping = 0;  // begin before the one before them on their stream has ended
  int64_t named_only = 0;   // communication by their name only
  std::vector<KernelKind> kernels;
  std::vector<Activity> dropped_graphs;  // whose nodes have rows
  SyncRows syncs;
};

// Which kernels are communication: those of a recorded collective by correlation. A captured
// collective shares its correlation with all nodes of its graph; there the name decides.
class CollectiveKernels {
 public:
  explicit CollectiveKernels(std::span<const CollectiveRecord> collectives);

  // Position among the collectives, kNoCollective = none.
  [[nodiscard]] int32_t find(const schema::GpuActivityRow& row) const;

 private:
  std::unordered_map<int64_t, int32_t> by_correlation_;
};

// Reads the rows; gives collectives without times those of their kernels.
Result<Activities> read_activities(const schema::TraceReader& reader, int64_t shift_ns,
                                   const HostSide& host, std::span<CollectiveRecord> collectives);

}  // namespace dprof::analyzer
