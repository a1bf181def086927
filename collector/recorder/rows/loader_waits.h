// SPDX-License-Identifier: Apache-2.0
// Waits for a batch, each with what the program says of that batch.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "collector/recorder/rows/trace_output.h"
#include "schema/generated/rows.h"

namespace dprof::recorder {

// What a payload says; each part may be missing.
struct BatchFacts {
  int64_t time_ns = 0;  // of the mark, or the start of the range that carries it
  std::optional<int64_t> index_hash, epoch, queue_depth;
  std::optional<std::string> shape;
};

// A wait is a range whose name marks input. What is said during it, or after it and before the next
// one of its thread begins, is about the batch that it brought. Of waits that nest, the inner one
// counts. What is said without a wait, or twice for one, is a row of its own without a duration.
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
  // Gives what was said until then to the last wait, or to nobody.
  void settle(int64_t thread_id, Thread& thread, int64_t until_ns);
  void write(Thread& thread);
  void write_alone(int64_t thread_id, const BatchFacts& facts);

  TraceOutput& output_;
  std::map<int64_t, Thread> threads_;
  int64_t rows_ = 0;
};

}  // namespace dprof::recorder
