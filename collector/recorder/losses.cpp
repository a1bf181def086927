// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/losses.h"

#include <algorithm>

namespace dprof::recorder {

void LossTable::add(schema::Source source, std::optional<int64_t> thread_id,
                    schema::LossReason reason, int64_t count, std::optional<int64_t> first_ns,
                    std::optional<int64_t> last_ns) {
  total_ += count;
  const auto [at, is_new] =
      pending_.try_emplace({source, thread_id, reason},
                           schema::LossRow{source, thread_id, reason, 0, first_ns, last_ns});
  schema::LossRow& row = at->second;
  row.count += count;
  if (is_new) return;
  if (first_ns) row.first_ns = std::min(row.first_ns.value_or(*first_ns), *first_ns);
  if (last_ns) row.last_ns = std::max(row.last_ns.value_or(*last_ns), *last_ns);
}

void LossTable::flush(TraceOutput& output) {
  for (const auto& [key, row] : pending_) output.append(row);
  pending_.clear();
}

}  // namespace dprof::recorder
