// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/collective_records.h"

#include <algorithm>
#include <numeric>

namespace dprof::analyzer {
namespace {

// Whether a number takes 32 bits, of which the largest value is not used.
bool is_short(int64_t number) { return number >= 0 && number < int64_t{UINT32_MAX}; }

bool is_short(const CollectiveOccurrence::Number& number) { return !number || is_short(*number); }

}  // namespace

size_t CollectiveRecords::KindHash::operator()(const CollectiveTraits& kind) const {
  uint64_t hash = 0;
  const auto add = [&](int64_t value) {
    hash = (hash ^ static_cast<uint64_t>(value)) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32U;
  };
  add(kind.bytes.value_or(-1));
  add(kind.communicator);
  add(kind.bucket.value_or(-1));
  add(kind.peer.value_or(-1));
  add(static_cast<int64_t>(static_cast<schema::Function>(kind.function)));
  return hash;
}

CollectiveRecords::CollectiveRecords(const std::vector<CollectiveRecord>& records) {
  for (const CollectiveRecord& record : records) push_back(record);
}

uint32_t CollectiveRecords::index_of(const CollectiveTraits& kind) {
  for (auto i = static_cast<uint32_t>(index_.size()); i < kinds_.size(); ++i)
    index_.emplace(kinds_[i], i);
  const auto [known, is_new] = index_.emplace(kind, static_cast<uint32_t>(kinds_.size()));
  if (is_new) kinds_.push_back(kind);
  return known->second;
}

std::optional<CollectiveRecords::Packed> CollectiveRecords::packed(
    const CollectiveOccurrence& call) {
  const bool short_numbers = is_short(call.row) && is_short(call.sequence) &&
                             is_short(call.group_sequence) && is_short(call.correlation);
  if (!short_numbers || (call.end && call.failed)) return std::nullopt;
  const CollectiveOccurrence::Time& anchor = call.enqueue ? call.enqueue : call.start;
  const int64_t anchor_ns = anchor.value_or(TraceNs{0}).ns;
  bool fits = true;
  const auto distance = [&](const CollectiveOccurrence::Time& time) {
    int64_t ns = kNoTime;
    if (time) {
      const bool overflows = __builtin_sub_overflow(time->ns, anchor_ns, &ns);
      fits = fits && !overflows && ns > kNoTime && ns <= std::numeric_limits<int32_t>::max();
    }
    return static_cast<int32_t>(ns);
  };
  const auto number = [](const CollectiveOccurrence::Number& known) {
    return known ? static_cast<uint32_t>(*known) : kNoNumber;
  };
  const Packed packed{.anchor_low = static_cast<uint32_t>(anchor_ns),
                      .anchor_high = static_cast<uint32_t>(static_cast<uint64_t>(anchor_ns) >> 32U),
                      .start = distance(call.start),
                      .end = distance(call.failed ? call.failed : call.end),
                      .ready = distance(call.ready),
                      .device_ready = distance(call.device_ready),
                      .kind = (call.failed ? kFailed : 0) | (call.enqueue ? 0 : kNotEnqueued),
                      .row = static_cast<uint32_t>(call.row),
                      .sequence = static_cast<uint32_t>(call.sequence),
                      .group_sequence = number(call.group_sequence),
                      .correlation = number(call.correlation)};
  return fits ? std::optional(packed) : std::nullopt;
}

CollectiveOccurrence CollectiveRecords::unpacked(const Packed& packed) {
  const auto anchor_ns =
      static_cast<int64_t>(uint64_t{packed.anchor_high} << 32U | packed.anchor_low);
  const auto time = [&](int32_t distance) {
    return distance == kNoTime ? CollectiveOccurrence::Time() : TraceNs{anchor_ns + distance};
  };
  const auto number = [](uint32_t known) {
    return known == kNoNumber ? CollectiveOccurrence::Number() : int64_t{known};
  };
  const bool failed = (packed.kind & kFailed) != 0;
  CollectiveOccurrence call;
  call.row = packed.row;
  call.sequence = packed.sequence;
  call.group_sequence = number(packed.group_sequence);
  call.correlation = number(packed.correlation);
  if ((packed.kind & kNotEnqueued) == 0) call.enqueue = TraceNs{anchor_ns};
  call.start = time(packed.start);
  (failed ? call.failed : call.end) = time(packed.end);
  call.ready = time(packed.ready);
  call.device_ready = time(packed.device_ready);
  return call;
}

// NOLINTNEXTLINE(readability-const-return-type)
const CollectiveRecord CollectiveRecords::operator[](size_t at) const {
  const Packed& packed = packed_[at];
  CollectiveRecord record;
  static_cast<CollectiveTraits&>(record) = kinds_[packed.kind & kKind];
  static_cast<CollectiveOccurrence&>(record) =
      (packed.kind & kUnpacked) != 0 ? unpacked_[packed.row] : unpacked(packed);
  return record;
}

void CollectiveRecords::push_back(const CollectiveRecord& record) {
  packed_.emplace_back().kind = index_of(record);
  set(size() - 1, record);
}

void CollectiveRecords::set(size_t at, const CollectiveRecord& record) {
  Packed& place = packed_[at];
  uint32_t kind = place.kind & kKind;
  if (kinds_[kind] != record) kind = index_of(record);
  const std::optional<Packed> short_form = packed(record);
  if ((place.kind & kUnpacked) != 0) {
    unpacked_[place.row] = record;
  } else if (short_form) {
    place = *short_form;
  } else {
    place.kind = kUnpacked;
    place.row = static_cast<uint32_t>(unpacked_.size());
    unpacked_.push_back(record);
  }
  place.kind = (place.kind & ~kKind) | kind;
}

void CollectiveRecords::sort_by_arrival() {
  std::vector<TraceNs> arrivals;
  arrivals.reserve(size());
  for (const CollectiveRecord& record : *this)
    arrivals.push_back(record.arrival().value_or(TraceNs{INT64_MAX}));
  if (std::ranges::is_sorted(arrivals)) return;
  std::vector<uint32_t> order(size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](uint32_t at) { return arrivals[at]; });
  std::vector<Packed> sorted;
  sorted.reserve(size());
  for (const uint32_t at : order) sorted.push_back(packed_[at]);
  packed_ = std::move(sorted);
}

void CollectiveRecords::shrink_to_fit() {
  index_ = {};
  kinds_.shrink_to_fit();
  unpacked_.shrink_to_fit();
  packed_.shrink_to_fit();
}

}  // namespace dprof::analyzer
