// SPDX-License-Identifier: Apache-2.0
// CUPTI's records as rows: device, stream, gpu_activity, kernel_shape, gpu_dependency, calls of the
// driver and the runtime and CUPTI's own work (host_range, categories api and overhead), pairs of
// device and host clock (clock_sample).
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "collector/recorder/rows/event_edges.h"
#include "collector/recorder/rows/gpu_places.h"
#include "collector/recorder/rows/row_context.h"
#include "collector/wire/gpu_records.h"
#include "collector/wire/ring.h"

namespace dprof::recorder {

// A kernel whose launch had an external id: NCCL's, which NcclRows joins to its collectives.
struct LaunchedKernel {
  uint64_t launch = 0;
  uint32_t correlation = 0;
  int64_t stream_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// Order      CUPTI delivers in no order. A row waits until a flush has ended that began after the
//            row's start plus one flush period (everything that ended before a flush is delivered
//            with it), then rows are written in order of start. So rows of a stream, and the calls
//            of a thread among themselves, are in start order; rows that lasted longer than a
//            period and arrive after a later one are still written, and counted.
// Bounds     at most kMostHeld rows wait: beyond that, the older half is written early.
// Threading  one thread.
class GpuRows {
 public:
  static constexpr size_t kMostHeld = 262144;

  // `on_kernel` is called for each kernel with an external id as its row is written.
  GpuRows(RowContext context, std::function<void(const LaunchedKernel&)> on_kernel)
      : context_(std::move(context)), on_kernel_(std::move(on_kernel)), places_(context_.output) {}

  // A record of kinds 10 to 29, with a time already checked. False: it is invalid.
  bool on_record(const wire::ReadRecord& read, const ThreadRef& thread, int64_t time_ns);
  // Writes rows that have waited long enough.
  void flush();
  void finish();  // after the process's end: writes the held rows
  [[nodiscard]] int64_t rows() const { return rows_; }

 private:
  static constexpr size_t kMostExternal = 65536;
  static constexpr size_t kMostLanes = 65536;

  struct Shape {
    std::array<uint32_t, 9> numbers;  // the leading fields of KernelShape
  };
  struct Activity {
    int64_t start_ns;
    std::optional<int64_t> duration_ns;
    int64_t bytes;
    int64_t name_id;
    int64_t stream_id;
    uint64_t graph_node;
    uint32_t correlation;
    uint32_t graph;
    uint16_t device;
    schema::GpuActivityKind kind;
    std::optional<Shape> shape;
  };
  struct Call {
    int64_t start_ns;
    std::optional<int64_t> duration_ns;
    int64_t name_id;
    int64_t thread_id;
    uint32_t correlation;
    schema::RangeCategory category;
  };
  struct Times {
    int64_t start_ns;
    std::optional<int64_t> duration_ns;
  };

  bool on_flush(const wire::Record& record, int64_t time_ns);
  bool on_activity(const wire::ReadRecord& read, int64_t time_ns);
  bool on_call(const wire::Record& record, int64_t time_ns);
  bool on_overhead(const wire::Record& record, const ThreadRef& thread, int64_t time_ns);
  bool on_event(const wire::Record& record, int64_t time_ns);
  bool on_external(const wire::Record& record);
  std::optional<Times> times(int64_t start_ns, int64_t end_ns, uint8_t flags, int64_t time_ns);
  std::optional<int64_t> host_time(int64_t said_ns, uint8_t flags, int64_t time_ns) const;

  [[nodiscard]] size_t held() const { return activities_.size() + calls_.size() + edges_.held(); }
  void bound();
  void write_until(int64_t before_ns);
  void write(const Activity& activity);
  void write(const Call& call);
  // Updates the last start of a lane; counts rows that arrive out of order.
  void note_order(std::unordered_map<int64_t, int64_t>& lanes, int64_t lane, int64_t start_ns);

  RowContext context_;
  std::function<void(const LaunchedKernel&)> on_kernel_;
  GpuPlaces places_;
  EventEdges edges_;
  std::vector<Activity> activities_;
  std::vector<Call> calls_;
  std::unordered_map<uint32_t, uint64_t> external_;  // correlation → launch
  std::deque<uint32_t> external_order_;
  std::unordered_map<int64_t, int64_t> stream_starts_, thread_starts_;
  std::optional<int64_t> last_flush_ns_, ready_before_ns_;
  int64_t next_activity_ = 1;
  int64_t late_ = 0, without_time_ = 0;
  int64_t flushes_ = 0, flush_ns_ = 0, longest_flush_ns_ = 0;
  int64_t rows_ = 0;
};

}  // namespace dprof::recorder
