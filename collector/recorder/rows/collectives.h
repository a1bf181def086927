// SPDX-License-Identifier: Apache-2.0
// One row per collective. Joins Gloo's calls to their executions; NcclRows does so for NCCL.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "collector/recorder/rows/communicators.h"
#include "collector/recorder/rows/how_far.h"
#include "collector/recorder/rows/names.h"
#include "collector/recorder/rows/trace_output.h"
#include "collector/wire/record.h"
#include "schema/generated/rows.h"

namespace dprof::recorder {

struct ThreadRef {
  int64_t id = 0;  // in the trace's `thread` table
  uint32_t os_tid = 0;
};

// Gloo: `c10d::allreduce_` on the caller is the enqueue, the `gloo:…` range on a worker thread is
// the execution. A group has one queue that its own worker threads serve in order, so its n-th
// enqueue is its n-th start. The function is that of the enqueue: Gloo runs a reduce_scatter as an
// all_reduce. The group of a worker thread is learnt from its first start: the only group with a
// matching pending call. While several groups match, the start goes to the longest pending call and
// binds nothing. Send and receive start on their caller and are joined there.
//
// Order      calls must come in the order of their times.
// Threading  one thread.
class Collectives {
 public:
  explicit Collectives(Communicators& communicators) : communicators_(communicators) {}

  // `ready_ns`: when the last gradient of the call's bucket was ready. Returns the row's id. A call
  // with backend NCCL is kept until release().
  int64_t enqueue(const wire::CollectiveEnqueue& call, const ThreadRef& thread, int64_t time_ns,
                  std::optional<int64_t> ready_ns, TraceOutput& output);
  void begin(const wire::CollectiveEdge& edge, schema::Function function, const ThreadRef& thread,
             int64_t time_ns, TraceOutput& output);
  // False if no execution with that key is open. `state`: kComplete or kFailed.
  bool end(uint64_t key, int64_t time_ns, schema::CollectiveState state);

  // A row managed by another part of the recorder: numbered in its communicator, written with the
  // next flush, and kept in memory so that it can be changed until release().
  int64_t add(schema::CollectiveRow row);
  // The row of an add(), or of a call that was not released; nullptr if there is none.
  [[nodiscard]] const schema::CollectiveRow* find(int64_t id) const;
  // Replaces it; a new communicator renumbers it. The caller must not change id and group_sequence.
  void set(schema::CollectiveRow row);
  void release(int64_t id);
  // The next number of a function of that communicator, for a backend that gives none.
  int64_t next_sequence(int64_t communicator_id, schema::Function function) {
    return counters_[communicator_id].by_function[function]++;
  }

  // Records were lost: calls enqueued until then may have started unseen, and must not take the
  // place of later ones.
  void forget_pending();

  void flush(TraceOutput& output);

  // When the oldest unfinished one was enqueued (or began).
  [[nodiscard]] std::optional<int64_t> oldest_open_ns() const;
  // Fills in the open calls, the position of each communicator, and the last progress.
  void fill_in(HowFar& far) const;

  [[nodiscard]] int64_t rows() const { return next_id_ - 1; }

 private:
  struct Pending {
    int64_t id;
    schema::Function function;
    uint32_t os_tid;  // of the caller
  };
  struct Entry {
    schema::CollectiveRow row;
    bool written = false;
    bool changed = false;
    bool done = false;
  };
  struct Counters {
    std::map<schema::Function, int64_t> by_function;
    std::map<schema::Function, int64_t> called;  // the next sequence
    bool ends_are_seen = false;                  // of NCCL's: reported by CUPTI
    int64_t all = 0;
  };

  void number(schema::CollectiveRow& row);
  Entry& new_entry();
  void change(Entry& entry);
  std::optional<int64_t> take_point_to_point(schema::Function function, uint32_t os_tid);
  std::optional<int64_t> take_queued(uint64_t group_hint, schema::Function function,
                                     uint32_t os_tid);
  std::optional<uint64_t> choose_group(schema::Function function, uint32_t os_tid);
  void settle(int64_t id, schema::CollectiveState state);
  void note_call(const schema::CollectiveRow& row);

  Communicators& communicators_;
  int64_t next_id_ = 1;
  std::map<int64_t, Entry> live_;  // rows that are not written, or can still change
  std::vector<int64_t> unwritten_, changed_;
  std::unordered_map<int64_t, Counters> counters_;  // by communicator
  std::map<uint64_t, std::deque<Pending>> queues_;  // by group: enqueued, not begun
  std::deque<Pending> point_to_point_;
  std::unordered_map<uint32_t, uint64_t> group_of_thread_;  // worker thread → group
  std::unordered_map<uint64_t, int64_t> running_;           // key → row
  int64_t last_progress_ns_ = 0;
};

}  // namespace dprof::recorder
