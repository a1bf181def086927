// SPDX-License-Identifier: Apache-2.0
// Executes the programs of one rank: its host threads (one of which is active at a time), the
// queues that it feeds and the collectives in which it takes part. It runs ahead until it needs the
// end of a collective, and continues when that is known.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "synth/engine/program.h"
#include "synth/engine/trail.h"

namespace dprof::synth {

// The source of a rank's programs.
class ProgramSource {
 public:
  virtual ~ProgramSource() = default;
  // The index-th program of a rank; false: there is none.
  virtual bool program(int rank, int64_t index, Program& out) const = 0;
  // Factor on the length of an operator, or a kernel, that begins while a collective runs.
  [[nodiscard]] virtual double contention() const = 0;
  // Likewise for a transfer that begins while most members' devices compute.
  [[nodiscard]] virtual double transfer_contention() const { return 1; }
};

struct Arrival {
  int rank = 0;
  uint64_t work = 0;  // count within the rank
  int64_t nth = 0;    // of the rank's calls in this group; messages apart
  int64_t sequence = 0;
  int64_t start = 0;
  const CollectiveCall* call = nullptr;
};

// end: kPending = reported later by complete(); kNever = it never ends.
inline constexpr int64_t kPending = -1;
struct Answer {
  int64_t end = kPending;
  int64_t last_start = kNever;
  uint32_t instance = UINT32_MAX;
};

// The other ranks, as seen by one rank.
class Peers {
 public:
  virtual ~Peers() = default;
  virtual Answer arrive(const Arrival& arrival) = 0;
  // Called before something whose length depends on the rest of the world at `at`; false: wake() is
  // called when the world has reached that time.
  virtual bool has_reached(int rank, int64_t at) = 0;
};

struct MachineSetting {
  int rank = 0;
  int queues = 2;
  bool gpu = false;
  int64_t start_ns = 0;     // of the process
  int64_t end_ns = kNever;  // when a hung job is ended; known only on re-execution
  int loader_workers = 2;
  int loader_prefetch = 2;  // batches per worker requested ahead
  int32_t api_launch = -1, api_copy = -1, api_nccl = -1, forever_op = -1;  // names
};

// Threading  none of its own.
class RankMachine {
 public:
  RankMachine(const MachineSetting& setting, const ProgramSource& source, Peers& peers,
              Trail* trail);

  // As far as possible.
  void advance();
  // The world has reached the time of the last has_reached().
  void wake();
  void complete(uint64_t work, int64_t end, int64_t last_start);

  [[nodiscard]] bool finished() const { return finished_; }
  // True if the last kernel begun is running then.
  [[nodiscard]] bool computes_at(int64_t at) const {
    return last_kernel_begin_ <= at && at < last_kernel_end_;
  }
  [[nodiscard]] const std::vector<int64_t>& step_ends() const { return step_ends_; }
  // The latest known end of anything on the host or in a queue.
  [[nodiscard]] int64_t last_known() const;
  // Closes the trail of a rank that does not end by itself.
  void end_trail();

 private:
  enum class ItemKind : uint8_t { kActivity, kCollective, kRecord, kWait };
  struct Item {
    ItemKind kind{};
    schema::GpuActivityKind activity{};
    Busy phase = Busy::kOther;
    int32_t name = -1;
    int64_t call = 0;
    int64_t ready = 0;
    int64_t ns = 0;
    int64_t id = -1;  // work or event
    int64_t bytes = -1;
    int64_t correlation = -1;
  };
  struct Queue {
    std::deque<Item> items;
    int64_t free = 0;
    bool raised = false;  // free was raised by an event
    int64_t last_event = -1;
    int64_t last_record = 0;
  };
  struct Work {
    CollectiveCall call;
    int64_t start = kNever;
    int64_t end = kPending;
    int64_t last_start = kNever;
    int64_t nth = 0;
    int64_t sequence = 0;
    int64_t trail = -1;
  };
  // Workers that make batches in turns; each keeps as many ahead as requested.
  struct Loader {
    std::vector<int64_t> free;  // by worker
    std::deque<int64_t> made;   // when the requested batches are ready, in order
    int64_t asked = 0;
  };
  struct GroupCounts {
    int64_t calls = 0;
    std::array<int64_t, 12> by_function{};
  };

  bool execute(const Instruction& instruction);
  bool launch(const Instruction& instruction);
  bool collective(const Instruction& instruction);
  bool load(const Instruction& instruction);
  void ask_for_batch(int64_t at, int64_t ns);
  bool work_for(const Instruction& instruction);
  bool wait_for(uint64_t work);
  bool run_forever(const Instruction& instruction);
  void stop(const Instruction& instruction);
  uint64_t new_work(const CollectiveCall& call, int64_t enqueue, int64_t correlation);
  void begin_work(uint64_t work, int64_t start);

  void pump();
  bool pump(int queue);
  bool pump_front(int queue, Queue& q);
  std::optional<int64_t> length_of(int queue, const Item& item, int64_t begin);
  [[nodiscard]] bool communicates_at(int64_t at) const;
  void spend(Busy busy, int64_t until);
  size_t begin_range(int32_t name, uint8_t category, int64_t sequence, int64_t correlation);
  Work& work(uint64_t id) { return works_[id - first_work_]; }
  int64_t& event_time(int64_t id) { return events_[static_cast<size_t>(id - first_event_)]; }

  MachineSetting setting_;
  const ProgramSource& source_;
  Peers& peers_;
  Trail* trail_;

  Program program_;
  int64_t next_program_ = 0;
  size_t at_ = 0;
  int64_t now_;
  int32_t thread_ = 0;
  bool finished_ = false;
  Busy blocked_ = Busy::kNothing;  // what the host does while it is blocked
  std::vector<size_t> open_;       // ranges
  std::vector<Queue> queues_;
  std::deque<Work> works_;
  uint64_t first_work_ = 0;
  uint64_t program_work_ = 0;  // first of this program
  std::optional<uint64_t> inline_work_;
  int64_t last_gradient_ = 0;   // when the previous operator ended
  std::vector<int64_t> ready_;  // of this program, by note
  int64_t last_kernel_begin_ = 0;
  int64_t last_kernel_end_ = 0;
  std::deque<int64_t> events_;
  int64_t first_event_ = 0;
  int64_t correlation_ = 0;
  int64_t batch_ = 0;
  Loader loader_;
  std::vector<int64_t> step_ends_;
  std::map<int, GroupCounts> counts_;
};

}  // namespace dprof::synth
