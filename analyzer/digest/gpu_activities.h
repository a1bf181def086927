// SPDX-License-Identifier: Apache-2.0
// The rows of gpu_activity while a digest is made: compact, in order of their begin, and with their
// launch. Private to digest/gpu*.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/digest/gpu_host.h"
#include "schema/trace_reader.h"

namespace dprof::analyzer {

enum class ActivityClass : uint8_t { kCompute, kCommunication, kCopy };

struct Activity {
  TraceNs begin;
  TraceNs end;
  int32_t launch = kNoRange;  // position in HostSide::launches()
  // Communication: row id of its collective. Computation: its kernel, see Activities::kernels.
  int32_t subject = kNoCollective;
  uint32_t stream = 0;  // a small number
  ActivityClass what = ActivityClass::kCompute;
  HostDetail copy = HostDetail::kNone;  // direction of a copy, also of a collective's
  // Of computation; of copies kCopy, or kHost if a checkpoint made them.
  Category phase = Category::kOtherCompute;
};
static_assert(sizeof(Activity) == 32);

// Rows for waits of the host for the device, which are no device activity.
struct SyncRows {
  std::map<int64_t, std::vector<Activity>> by_device;  // each in order of begin
  int64_t rows = 0;  // includes the kinds below; each row is at most one of them
  int64_t without_stream = 0;
  int64_t without_duration = 0;
  int64_t negative = 0;
};

// Kernels of one name launched in one phase.
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
  int64_t negative = 0;     // duration below 0, or an impossible time
  int64_t zero = 0;         // of length 0: counted, but without time
  int64_t overlapping = 0;  // begin before the previous activity of their stream has ended
  int64_t named_only = 0;   // communication only by name
  std::vector<KernelKind> kernels;
  std::vector<Activity> dropped_graphs;  // their nodes have rows
  SyncRows syncs;
};

// Identifies communication kernels: those of a recorded collective, by correlation. A captured
// collective shares its correlation with all nodes of its graph; there the name decides.
class CollectiveKernels {
 public:
  explicit CollectiveKernels(const CollectiveRecords& collectives);

  // Position among the collectives, kNoCollective = none.
  [[nodiscard]] int32_t find(const schema::GpuActivityRow& row) const;

 private:
  std::unordered_map<int64_t, int32_t> by_correlation_;
};

// Gathers the rows; gives collectives without times their kernels' times. `host` is finished.
class ActivityGatherer {
 public:
  ActivityGatherer(const schema::TraceReader& reader, int64_t shift_ns, const HostSide& host,
                   CollectiveRecords& collectives)
      : reader_(reader),
        shift_ns_(shift_ns),
        host_(host),
        launches_(host.launches()),
        collectives_(collectives),
        kernels_(collectives) {}

  // All streams precede the first activity.
  void see(const schema::StreamRow& row) {
    // CUPTI writes -1, of 32 bits, for no stream.
    if (row.cuda_stream < 0 || row.cuda_stream == UINT32_MAX) no_stream_.insert(row.id);
  }
  void see(const schema::GpuActivityRow& row);
  Activities finish() &&;

 private:
  struct Graph {
    int64_t correlation;
    Activity activity;
  };

  void classify(const schema::GpuActivityRow& row, Activity& activity);
  int32_t kernel_of(int64_t name_id, Category phase);
  bool is_named(int64_t name_id);
  Category phase_of(int32_t launch);
  [[nodiscard]] bool is_of_checkpoint(int32_t launch) const;
  void add(int64_t device, const Activity& activity);
  void widen(size_t collective, Interval span);
  void give_times();
  void count_overlaps(const std::vector<Activity>& activities);

  const schema::TraceReader& reader_;
  const int64_t shift_ns_;
  const HostSide& host_;
  const LaunchIndex launches_;
  CollectiveRecords& collectives_;
  const CollectiveKernels kernels_;
  Activities result_;
  std::vector<std::pair<int64_t, Graph>> graphs_;  // by device; counted if their nodes have no rows
  std::unordered_set<int64_t> no_stream_;
  DenseIndex kernel_numbers_;                   // of name and phase
  std::unordered_set<int64_t> nodes_;           // correlations of graphs whose nodes have rows
  std::unordered_map<size_t, Interval> found_;  // times for collectives without any
  std::vector<std::optional<bool>> named_;      // by name
  std::vector<Activity>* device_ = nullptr;
  int64_t last_device_ = 0;
  int32_t last_launch_ = kNoRange;
  Category last_phase_ = Category::kOtherCompute;
};

}  // namespace dprof::analyzer
