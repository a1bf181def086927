// SPDX-License-Identifier: Apache-2.0
// Records that were lost: counted by source, thread and reason, written as `loss` rows that each
// cover the time since the previous row.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

#include "collector/recorder/rows/trace_output.h"
#include "collector/wire/layout.h"
#include "schema/generated/rows.h"

namespace dprof::recorder {

// The trace's reason and source for a loss counted by the process itself.
[[nodiscard]] schema::LossReason reason_of(wire::SharedLoss loss);
[[nodiscard]] schema::Source source_of(wire::SharedLoss loss);

class LossTable {
 public:
  void add(schema::Source source, std::optional<int64_t> thread_id, schema::LossReason reason,
           int64_t count, std::optional<int64_t> first_ns, std::optional<int64_t> last_ns);

  // Writes one row for each kind of loss that grew since the last call.
  void flush(TraceOutput& output);

  [[nodiscard]] int64_t total() const { return total_; }

 private:
  using Key = std::tuple<schema::Source, std::optional<int64_t>, schema::LossReason>;
  std::map<Key, schema::LossRow> pending_;
  int64_t total_ = 0;
};

}  // namespace dprof::recorder
