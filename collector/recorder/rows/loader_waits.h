// SPDX-License-Identifier: Apache-2.0
// Waits for a batch, each with the program's facts about that batch.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "collector/recorder/rows/trace_output.h"
#include "schema/generated/rows.h"

namespace dprof::recorder {

// The content of a payload; each part can be missing.
struct BatchFacts {
  int64_t time_ns = 0;  // of the mark, or the start of the range that carries it
  std::optional<int64_t> index_hash, epoch, queue_depth;
  std::optional<std::string> shape;
};

// A wait is a range whose name marks input. Facts given during it, or after it and before the next
// one of its thread begins, are about the batch that it fetched. Of nested waits, the inner one
// counts. Facts without a wait, or repeated for one, become a row of their own without a duration.
//
// Threading  one thread.
// Cost       a row per wait, written when the thread's next one ends.
class LoaderWaits {
 public:
  explicit LoaderWaits(TraceOutput& output) : output_(output) {}

  void on_wait(int64_t thread_id, int64_t start_ns, int64_t end_ns);
  void on_batch(int64_t thread_id, BatchFacts facts);
  void finish();
  [[nodiscard]] int64_t rows() const { return rows_; }

 private:
  struct Thread {
    std::optional<schema::LoaderEventRow> wait;  // the last one
    bool described = false;
    std::deque<BatchFacts> said;  // whose wait is not known yet
  };
  static constexpr size_t kMostSaid = 64;

  static void describe(schema::LoaderEventRow& row, const BatchFacts& facts);
  // Assigns the facts given until then to the last wait, or to none.
  void settle(int64_t thread_id, Thread& thread, int64_t until_ns);
  void write(Thread& thread);
  void write_alone(int64_t thread_id, const BatchFacts& facts);

  TraceOutput& output_;
  std::map<int64_t, Thread> threads_;
  int64_t rows_ = 0;
};

}  // namespace dprof::recorder
