// SPDX-License-Identifier: Apache-2.0
// From the rings of one process to the rows of its trace. Independent of threads, sockets and
// waiting: it is a function of the bytes in the mapping, and can be fuzzed as such.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "collector/recorder/common/clock.h"
#include "collector/recorder/rows/gpu_rows.h"
#include "collector/recorder/rows/nccl_rows.h"
#include "collector/recorder/rows/range_details.h"
#include "collector/recorder/rows/row_context.h"
#include "collector/recorder/rows/training_rows.h"
#include "collector/wire/ring.h"

namespace dprof::recorder {

struct DrainTotals {
  int64_t records = 0;
  int64_t events = 0;  // rows in event tables
  int64_t lost = 0;
  std::optional<int64_t> first_ns, last_ns;
  int64_t threads = 0;
};

// All input is copied, checked, then used: invalid records are counted as bad_record and left out.
//
// Order      records of one thread come in order. Events across threads (keyed ranges,
//            collectives) are put in order of time after each pass, up to the time at which the
//            pass began: by then, all earlier records have been read from every ring.
// Threading  one thread.
// Cost       about 0.5 us per record, SQLite included.
class Drain {
 public:
  // `process_id` is the process's own view: its first thread has that number.
  Drain(const wire::Mapping& mapping, const RunClock& clock, int process_id, TraceOutput& output);

  // Reads the content of every ring; returns the number of records.
  uint64_t pass();

  // `watcher` is called for each step as it is found.
  void watch_steps(std::function<void(const StepEdge&)> watcher) {
    steps_.watch(std::move(watcher));
  }
  // The process resumes recording after a pause: events open before it are not continued, and ends
  // without a beginning are no loss.
  void resume();
  // Since when the oldest open collective has been open, in the trace's time.
  [[nodiscard]] std::optional<int64_t> oldest_open_collective_ns() const {
    return collectives_.oldest_open_ns();
  }

  [[nodiscard]] HowFar how_far() const;

  // Writes the gathered rows and commits.
  void flush();

  // After the process's end: reads the rest, closes open events, writes the last rows. The caller
  // writes the trace's meta and the end of its file.
  void finish(bool killed);

  [[nodiscard]] DrainTotals totals() const;
  [[nodiscard]] size_t pending() const { return ranges_.pending(); }

 private:
  struct Thread {
    schema::ThreadRow row;
    RangeStack ranges;
    bool has_ring = false;   // or had one: else known from CUPTI only
    bool used = false;       // has an event: a thread without events (dprof's own) has no row
    bool announced = false;  // the row is in the trace
    bool changed = false;
  };
  struct Ring {
    wire::RingReader reader;
    Thread* thread = nullptr;          // of the current owner; made by its first record
    std::unique_ptr<Thread> nameless;  // of an owner beyond the limit of threads
    uint64_t dropped_seen = 0;
    uint64_t dropped_last_ticks = 0;
    bool damage_reported = false;
  };
  // Items to be put in order of time.
  struct Ordered {
    uint64_t ticks;
    uint64_t arrival;
    Thread* thread;
    wire::Record record;
    OpenRange range;  // of a keyed begin
  };

  void drain_ring(uint32_t index, uint64_t& records);
  void on_record(Ring& ring, uint32_t index, const wire::ReadRecord& read);
  // Each of these returns false for an invalid record.
  bool handle(Thread& thread, const wire::ReadRecord& read, int64_t time_ns);
  bool handle_host(Thread& thread, const wire::ReadRecord& read, int64_t time_ns);
  bool on_range_begin(Thread& thread, const wire::ReadRecord& read, int64_t time_ns);
  bool on_range_end(Thread& thread, const wire::ReadRecord& read, int64_t time_ns);
  bool on_collective_end(const wire::Record& record, int64_t time_ns);
  bool on_thread_name(Thread& thread, const wire::Record& record);
  void on_enqueue(Thread& thread, const wire::Record& record, int64_t time_ns);
  [[nodiscard]] std::optional<int64_t> ready_ns(const wire::CollectiveEnqueue& call);
  bool on_communicator(const wire::Record& record);
  bool on_detail(const wire::Record& record, int64_t time_ns);
  Thread& thread_of(Ring& ring, uint32_t index);
  Thread& new_thread(uint32_t os_tid);
  Thread& nameless_thread(Ring& ring);
  int64_t thread_id_of(uint32_t os_tid);
  [[nodiscard]] RowContext row_context();
  static ThreadRef ref_of(const Thread& thread) {
    return {thread.row.id, static_cast<uint32_t>(thread.row.os_tid)};
  }
  void set_role(Thread& thread, schema::ThreadRole role);
  void put_in_order(Thread& thread, const wire::Record& record, const OpenRange& range = {});
  void run_ordered(uint64_t until_ticks);
  void run_one(const Ordered& item);
  void on_end_of_range(const OpenRange& range, const Thread& thread, int64_t end_ns);
  void count_losses();
  void count_ring_losses(Ring& ring, uint32_t index);
  void count_shared_losses();
  void lose(schema::LossReason reason, std::optional<int64_t> thread_id, int64_t time_ns);
  [[nodiscard]] int64_t to_ns(uint64_t ticks) const { return clock_.to_host(ticks).ns; }
  // A possible time of a record: after the recorder's start, not in the future.
  [[nodiscard]] bool plausible(uint64_t ticks);
  [[nodiscard]] uint64_t future_ticks() const;

  wire::Mapping mapping_;
  const RunClock& clock_;
  int process_id_;
  TraceOutput& output_;
  Names names_;
  RangeTable ranges_;
  Communicators communicators_;
  Collectives collectives_;
  StepFinder steps_;
  LossTable losses_;
  PayloadSchemas schemas_;
  NcclRows nccl_;
  GpuRows gpu_;
  TrainingRows training_;
  RangeDetails details_;
  std::array<Ring, wire::kMaxRings> rings_;
  std::array<uint64_t, wire::kSharedLossCount> shared_seen_{};
  std::deque<Thread> threads_;                       // addresses stay
  std::unordered_map<uint32_t, Thread*> by_os_tid_;  // the latest thread of that number
  std::vector<Ordered> ordered_;
  uint64_t arrivals_ = 0;
  uint64_t latest_ticks_ = 0;  // latest plausible ticks at the last reading of the clock
  int64_t damaged_rings_ = 0;
  int64_t threads_refused_ = 0;
  int64_t bad_ids_seen_ = 0;
  int64_t failed_collectives_ = 0;
  std::string first_error_;   // of these
  bool paused_once_ = false;  // ends can arrive whose beginning was not recorded
  DrainTotals totals_;
};

}  // namespace dprof::recorder
