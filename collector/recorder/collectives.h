// SPDX-License-Identifier: Apache-2.0
// Joins the call of a collective to its execution and writes one row for it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "collector/recorder/names.h"
#include "collector/recorder/trace_output.h"
#include "collector/wire/record.h"
#include "schema/generated/rows.h"

namespace dprof::recorder {

struct ThreadRef {
  int64_t id = 0;  // in the trace's `thread` table
  uint32_t os_tid = 0;
};

// The communicators of a process, by hash.
class Communicators {
 public:
  // What a process says about one; may be said again, with more.
  void announce(const wire::Communicator& said, int64_t name_id, TraceOutput& output);
  // The id of the communicator of that hash; makes an entry when it was not announced yet.
  int64_t find(uint64_t hash, schema::Backend backend, TraceOutput& output);

 private:
  std::map<uint64_t, schema::CommunicatorRow> by_hash_;
};

// Gloo (collector.md 4.6): `c10d::allreduce_` on the caller is the enqueue, the `gloo:…` range on a
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

  void enqueue(const wire::CollectiveEnqueue& call, const ThreadRef& thread, int64_t time_ns,
               TraceOutput& output);
  void begin(const wire::CollectiveEdge& edge, schema::Function function, const ThreadRef& thread,
             int64_t time_ns, TraceOutput& output);
  // False when no execution with that key is open.
  bool end(uint64_t key, int64_t time_ns);

  // Records were lost: what was enqueued until then may have started unseen, and must not take the
  // place of later ones.
  void forget_pending();

  void flush(TraceOutput& output);

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
    int64_t all = 0;
  };

  Entry& new_entry();
  void change(Entry& entry);
  std::optional<int64_t> take_point_to_point(schema::Function function, uint32_t os_tid);
  std::optional<int64_t> take_queued(uint64_t group_hint, schema::Function function,
                                     uint32_t os_tid);
  std::optional<uint64_t> choose_group(schema::Function function, uint32_t os_tid);
  void settle(int64_t id, schema::CollectiveState state);

  Communicators& communicators_;
  int64_t next_id_ = 1;
  std::map<int64_t, Entry> live_;  // rows that are not written, or may still change
  std::vector<int64_t> unwritten_, changed_;
  std::unordered_map<uint64_t, Counters> counters_;  // by group
  std::map<uint64_t, std::deque<Pending>> queues_;   // by group: enqueued, not begun
  std::deque<Pending> point_to_point_;
  std::unordered_map<uint32_t, uint64_t> group_of_thread_;  // worker thread → group
  std::unordered_map<uint64_t, int64_t> running_;           // key → row
};

}  // namespace dprof::recorder
