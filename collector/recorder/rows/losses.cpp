// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/losses.h"

#include <algorithm>

namespace dprof::recorder {
namespace {

// Counters come from the recorded process, and can hold anything. More than this is not a count,
// and sums over a run must not overflow.
constexpr int64_t kMost = int64_t{1} << 50;

int64_t sum_of(int64_t a, int64_t b) {
  return std::min(kMost, a + std::clamp<int64_t>(b, 0, kMost));
}

}  // namespace

schema::LossReason reason_of(wire::SharedLoss loss) {
  switch (loss) {
    case wire::SharedLoss::kNoRing:
      return schema::LossReason::kNoRing;
    case wire::SharedLoss::kArenaFull:
      return schema::LossReason::kArenaFull;
    case wire::SharedLoss::kCuptiDropped:
      return schema::LossReason::kCuptiDropped;
    case wire::SharedLoss::kCuptiQueue:
      return schema::LossReason::kCuptiQueue;
    case wire::SharedLoss::kTextCut:
    case wire::SharedLoss::kCount:
      break;
  }
  return schema::LossReason::kTextCut;
}

schema::Source source_of(wire::SharedLoss loss) {
  const bool cupti =
      loss == wire::SharedLoss::kCuptiDropped || loss == wire::SharedLoss::kCuptiQueue;
  return cupti ? schema::Source::kCuda : schema::Source::kRecorder;
}

void LossTable::add(schema::Source source, std::optional<int64_t> thread_id,
                    schema::LossReason reason, int64_t count, std::optional<int64_t> first_ns,
                    std::optional<int64_t> last_ns) {
  total_ = sum_of(total_, count);
  const auto [at, is_new] =
      pending_.try_emplace({source, thread_id, reason},
                           schema::LossRow{source, thread_id, reason, 0, first_ns, last_ns});
  schema::LossRow& row = at->second;
  row.count = sum_of(row.count, count);
  if (is_new) return;
  if (first_ns) row.first_ns = std::min(row.first_ns.value_or(*first_ns), *first_ns);
  if (last_ns) row.last_ns = std::max(row.last_ns.value_or(*last_ns), *last_ns);
}

void LossTable::flush(TraceOutput& output) {
  for (const auto& [key, row] : pending_) output.append(row);
  pending_.clear();
}

}  // namespace dprof::recorder
