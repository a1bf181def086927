// SPDX-License-Identifier: Apache-2.0
// One row per collective. Gloo's calls are joined to their executions here; NCCL's by NcclRows.
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

// Gloo: `c10d::allreduce_` on the caller is the enqueue, the `gloo:…` range on a
// worker thread is the execution. A group has one queue that its own worker threads serve in order,
// so its n-th enqueue is its n-th start. The function is that of the enqueue: Gloo runs a
// reduce_scatter as an all_reduce. Which group a worker thread serves is learnt from its first
// start: the one group that has something pending that it could be. As long as several could, the
// start goes to the longest pending one and binds nothing. Send and receive start on their caller
// and are joined there.
//
// Order      calls must come in the order of their times.
// Threading  one thread.
class Collectives {
 public:
  explicit Collectives(Communicators& communicators) : communicators_(communicators) {}

  // `ready_ns`: when the last gradient of the call's bucket was ready. Returns the row's id. One
  // whose back end is NCCL is kept until release().
  int64_t enqueue(const wire::CollectiveEnqueue& call, const ThreadRef& thread, int64_t time_ns,
                  std::optional<int64_t> ready_ns, TraceOutput& output);
  void begin(const wire::CollectiveEdge& edge, schema::Function function, const ThreadRef& thread,
             int64_t time_ns, TraceOutput& output);
  // False when no execution with that key is open. `state`: kComplete or kFailed.
  bool end(uint64_t key, int64_t time_ns, schema::CollectiveState state);

  // A row that another part of the recorder looks after: numbered in its communicator, written with
  // the next flush, and kept in memory so that it can be changed until release().
  int64_t add(schema::CollectiveRow row);
  // The row of an add() or of a call that was not released; nullptr when there is none.
  [[nodiscard]] const schema::CollectiveRow* find(int64_t id) const;
  // Replaces it; a new communicator numbers it anew. Id and group_sequence are not the caller's.
  void set(schema::CollectiveRow row);
  void release(int64_t id);
  // The next number of a function of that communicator, where its back end gives none.
  int64_t next_sequence(int64_t communicator_id, schema::Function function) {
    return counters_[communicator_id].by_function[function]++;
  }

  // Records were lost: what was enqueued until then may have started unseen, and must not take the
  // place of later ones.
  void forget_pending();

  void flush(TraceOutput& output);

  // When the oldest one that has not ended was enqueued (or began).
  [[nodiscard]] std::optional<int64_t> oldest_open_ns() const;
  // Fills in what is open, how far each communicator has come, and the last progress.
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
    std::map<schema::Function, int64_t> called;  // the sequence that comes next
    bool ends_are_seen = false;                  // of NCCL's: CUPTI tells them
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
  std::map<int64_t, Entry> live_;  // rows that are not written, or may still change
  std::vector<int64_t> unwritten_, changed_;
  std::unordered_map<int64_t, Counters> counters_;  // by communicator
  std::map<uint64_t, std::deque<Pending>> queues_;  // by group: enqueued, not begun
  std::deque<Pending> point_to_point_;
  std::unordered_map<uint32_t, uint64_t> group_of_thread_;  // worker thread → group
  std::unordered_map<uint64_t, int64_t> running_;           // key → row
  int64_t last_progress_ns_ = 0;
};

}  // namespace dprof::recorder
