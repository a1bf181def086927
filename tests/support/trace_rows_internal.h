// SPDX-License-Identifier: Apache-2.0
// Writes the rows of one rank's simulated times, in the order in which a recorder would.
#pragma once

#include <string_view>

#include "schema/trace_writer.h"
#include "tests/support/run_builder.h"

namespace dprof::test_support {

inline constexpr int64_t kMainThread = 1;
inline constexpr int64_t kWorkerThread = 2;

// What begins after the rank's end is left out; what ends after it is left open.
class TraceRows {
 public:
  TraceRows(schema::TraceWriter& writer, const RunSpec& spec, int rank, const RankTimes& times,
            int64_t offset_ns)
      : writer_(writer), spec_(spec), rank_(rank), times_(times), offset_ns_(offset_ns) {}

  Status write();
  [[nodiscard]] int64_t first_event_ns() const { return *times_.startup.enqueue_ns + offset_ns_; }

 private:
  void write_dictionaries();
  void write_step(int64_t index, const StepTimes& step);
  void write_input(const StepTimes& step);
  void write_micro_step(int64_t index, const MicroStepTimes& micro);
  void write_forward(int64_t index, const MicroStepTimes& micro);
  void write_backward(int64_t index, const MicroStepTimes& micro);
  void write_message(const MessageTimes& message);
  void write_optimizer(int64_t index, const StepTimes& step);
  void write_collective(schema::CollectiveRow row, const CollectiveTimes& times, int64_t bytes,
                        int64_t thread = kWorkerThread);

  void range(Span span, std::string_view name, schema::RangeCategory category,
             std::optional<int64_t> sequence = {});
  void phase_range(Span span, std::string_view marker, std::string_view by_torch);
  // `count` operators that fill `span`, the named ones in turn, each with its children.
  void ops(Span span, int64_t count, const struct OpNames& names,
           std::optional<int64_t> first_sequence);
  // The delay of a phase at the beginning of `span`; returns the rest of it.
  Span delay(Span span, int64_t step, Phase phase);

  template <typename Row>
  void append(const Row& row);

  schema::TraceWriter& writer_;
  const RunSpec& spec_;
  int rank_;
  const RankTimes& times_;
  int64_t offset_ns_;
  Status status_ = Done{};  // the first failure
  int64_t range_id_ = 0;
  int64_t collective_id_ = 0;
  int64_t all_reduces_ = 0;
  int64_t sends_ = 0;
  int64_t receives_ = 0;
  int64_t autograd_sequence_ = 0;
};

}  // namespace dprof::test_support
