// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/drain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "collector/recorder/rows/inbox.h"

namespace dprof::recorder {

using schema::LossReason;
using schema::RangeCategory;
using schema::Source;
using schema::ThreadRole;
using wire::Kind;

namespace {

// A record's ticks may be read a little later than the pass's own, on another core.
constexpr int64_t kFutureNs = kNsPerSecond;
// Most rows kept in memory; more are written before the next commit is due.
constexpr size_t kMaxPendingRows = 65536;

// Enough to empty every ring of an ended process; a living one must not keep the recorder from
// ending.
constexpr int kLastPasses = 8;

constexpr size_t kMostThreads = 16384;

template <typename Enum>
bool in_range(uint8_t value, Enum last) {
  return value <= static_cast<int64_t>(last);
}

// Categories written by processes themselves; CUPTI's overhead does not arrive as a range.
bool is_of_processes(uint8_t category) {
  return in_range(category, RangeCategory::kApi) ||
         category == static_cast<uint8_t>(RangeCategory::kPython);
}

enum class Part : uint8_t { kHost, kGpu, kNccl, kTraining };

// The part of the recorder that handles the record (by the numbering in wire/record.h).
Part part_of(Kind kind) {
  const auto number = static_cast<uint16_t>(kind);
  if (number < 10) return Part::kHost;
  if (number < 30) return Part::kGpu;
  return number < 50 ? Part::kNccl : Part::kTraining;
}

}  // namespace

Drain::Drain(const wire::Mapping& mapping, const RunClock& clock, int process_id,
             TraceOutput& output)
    : mapping_(mapping),
      clock_(clock),
      process_id_(process_id),
      output_(output),
      names_(mapping, output),
      collectives_(communicators_),
      nccl_(row_context()),
      gpu_(row_context(), [this](const LaunchedKernel& kernel) { nccl_.on_kernel(kernel); }),
      training_(row_context()),
      details_(row_context(), schemas_, [this](const RangePayload& payload) {
        nccl_.on_payload(payload);
        training_.on_payload(payload);
      }) {
  for (uint32_t i = 0; i < wire::kMaxRings; ++i) {
    rings_[i].reader = wire::RingReader(mapping.ring(i), mapping.slots(i));
  }
}

RowContext Drain::row_context() {
  return {mapping_,
          clock_,
          output_,
          names_,
          ranges_,
          communicators_,
          collectives_,
          steps_,
          losses_,
          schemas_,
          [this](uint32_t os_tid) { return thread_id_of(os_tid); }};
}

uint64_t Drain::pass() {
  const uint64_t began_ticks = clock_.now_ticks();
  latest_ticks_ = began_ticks + future_ticks();
  const uint32_t rings =
      std::min(mapping_.header()->rings_taken.load(std::memory_order_acquire), wire::kMaxRings);
  uint64_t records = 0;
  for (uint32_t i = 0; i < rings; ++i) {
    drain_ring(i, records);
    if (ranges_.pending() > kMaxPendingRows) ranges_.flush(output_);
  }
  run_ordered(began_ticks);
  totals_.records += static_cast<int64_t>(records);
  return records;
}

void Drain::resume() {
  paused_once_ = true;
  steps_.forget_open();
  collectives_.forget_pending();
  nccl_.forget_calls();
}

void Drain::drain_ring(uint32_t index, uint64_t& records) {
  Ring& ring = rings_[index];
  wire::RingShared& shared = *mapping_.ring(index);
  // Read before the drain: once it says closed, the owner writes no more.
  const auto status = static_cast<wire::RingStatus>(shared.status.load(std::memory_order_acquire));
  records += ring.reader.drain([&](const wire::ReadRecord& read) { on_record(ring, index, read); });
  if (ring.reader.damaged() && !ring.damage_reported) {
    ring.damage_reported = true;
    ++damaged_rings_;
    lose(LossReason::kBadRecord, std::nullopt, to_ns(clock_.now_ticks()));
  }
  count_ring_losses(ring, index);
  if (status != wire::RingStatus::kClosed) return;
  ring.thread = nullptr;
  shared.status.store(static_cast<uint32_t>(wire::RingStatus::kFree), std::memory_order_release);
}

uint64_t Drain::future_ticks() const {
  return static_cast<uint64_t>(static_cast<double>(kFutureNs) * clock_.ticks_per_second() /
                               double{kNsPerSecond});
}

// A pass can take long (a slow disk, a stopped recorder): records that arrived meanwhile are not in
// the future.
bool Drain::plausible(uint64_t ticks) {
  if (ticks < clock_.scale().tick0) return false;
  if (ticks > latest_ticks_) latest_ticks_ = clock_.now_ticks() + future_ticks();
  return ticks <= latest_ticks_;
}

void Drain::on_record(Ring& ring, uint32_t index, const wire::ReadRecord& read) {
  const wire::Record& record = read.record;
  Thread& thread = thread_of(ring, index);
  if (!plausible(record.ticks)) {
    thread.used = true;
    lose(LossReason::kBadRecord, thread.row.id, to_ns(latest_ticks_));
    return;
  }
  const int64_t time_ns = to_ns(record.ticks);
  totals_.first_ns = std::min(totals_.first_ns.value_or(time_ns), time_ns);
  totals_.last_ns = std::max(totals_.last_ns.value_or(time_ns), time_ns);
  if (handle(thread, read, time_ns)) return;
  thread.used = true;
  lose(LossReason::kBadRecord, thread.row.id, time_ns);
}

bool Drain::handle(Thread& thread, const wire::ReadRecord& read, int64_t time_ns) {
  switch (part_of(read.record.kind)) {
    case Part::kGpu:
      return gpu_.on_record(read, ref_of(thread), time_ns);
    case Part::kNccl:
      thread.used = true;
      return nccl_.on_record(read, ref_of(thread), time_ns);
    case Part::kTraining:
      thread.used = true;
      return training_.on_record(read, ref_of(thread), time_ns);
    case Part::kHost:
      break;
  }
  return handle_host(thread, read, time_ns);
}

bool Drain::handle_host(Thread& thread, const wire::ReadRecord& read, int64_t time_ns) {
  const wire::Record& record = read.record;
  switch (record.kind) {
    case Kind::kRangeBegin:
      return on_range_begin(thread, read, time_ns);
    case Kind::kRangeEnd:
      return on_range_end(thread, read, time_ns);
    case Kind::kCollectiveEnqueue: {
      const wire::CollectiveEnqueue& call = record.enqueue;
      const bool good = in_range(call.function, schema::Function::kRecv) &&
                        in_range(call.data_type, schema::DataType::kFloat8) &&
                        in_range(call.reduction, schema::Reduction::kOther) &&
                        in_range(call.backend, schema::Backend::kOther);
      if (good) on_enqueue(thread, record, time_ns);
      return good;
    }
    case Kind::kCollectiveBegin:
    case Kind::kCollectiveEnd:
      put_in_order(thread, record);
      return true;
    case Kind::kCommunicator:
      return on_communicator(record);
    case Kind::kThreadName:
      return on_thread_name(thread, record);
    case Kind::kSchemaEntry:
      return details_.on_schema_entry(record);
    case Kind::kDetail:
      return on_detail(record, time_ns);
    default:
      return false;
  }
}

void Drain::on_enqueue(Thread& thread, const wire::Record& record, int64_t time_ns) {
  if (static_cast<schema::Backend>(record.enqueue.backend) != schema::Backend::kNccl) {
    put_in_order(thread, record);
    return;
  }
  thread.used = true;
  nccl_.on_enqueue(record, ref_of(thread), time_ns, ready_ns(record.enqueue));
}

std::optional<int64_t> Drain::ready_ns(const wire::CollectiveEnqueue& call) {
  return plausible(call.ready_ticks) ? std::optional(to_ns(call.ready_ticks)) : std::nullopt;
}

bool Drain::on_detail(const wire::Record& record, int64_t time_ns) {
  const wire::Detail& body = record.detail;
  if (body.state > static_cast<uint32_t>(schema::CaptureState::kStopped) ||
      body.detail > static_cast<uint32_t>(schema::DetailLevel::kFull) ||
      body.cause > static_cast<uint32_t>(schema::CaptureCause::kTrigger)) {
    return false;
  }
  const auto detail = static_cast<schema::DetailLevel>(body.detail);
  output_.append_numbered(schema::CaptureRow{
      .time_ns = time_ns,
      .state = static_cast<schema::CaptureState>(body.state),
      .detail = detail,
      .sources = body.sources,
      .cause = static_cast<schema::CaptureCause>(body.cause),
  });
  return true;
}

bool Drain::on_range_begin(Thread& thread, const wire::ReadRecord& read, int64_t time_ns) {
  const wire::RangeBegin& begin = read.record.range_begin;
  if (!is_of_processes(begin.category) ||
      !in_range(begin.payload_kind, schema::PayloadKind::kSchema)) {
    return false;
  }
  const auto category = static_cast<RangeCategory>(begin.category);
  const Name& name = names_.find(read.record.string);
  const std::optional<int64_t> sequence =
      begin.sequence < 0 ? std::nullopt : std::optional(begin.sequence);
  thread.used = true;
  int64_t id = 0;
  if (category == RangeCategory::kNvtxMark) {
    id = ranges_.add(thread.ranges, thread.row.id, name.id, category, time_ns, sequence, 0);
  } else if (begin.key != 0) {
    id = ranges_.add(thread.ranges, thread.row.id, name.id, category, time_ns, sequence,
                     std::nullopt);
    put_in_order(thread, read.record,
                 {id, time_ns, begin.domain, category, name.marker, read.record.string});
  } else {
    id = ranges_.begin(thread.ranges, thread.row.id, name.id,
                       {0, time_ns, begin.domain, category, name.marker, read.record.string},
                       sequence);
  }
  if (name.marker != schema::Marker::kNone && category != RangeCategory::kNvtxMark) {
    steps_.begin(name.marker, id, time_ns);
  }
  if (category == RangeCategory::kAutograd && thread.row.role == ThreadRole::kOther) {
    set_role(thread, ThreadRole::kAutograd);
  }
  details_.on_begin({.range_id = id, .thread = ref_of(thread), .start_ns = time_ns}, read);
  return true;
}

bool Drain::on_range_end(Thread& thread, const wire::ReadRecord& read, int64_t time_ns) {
  const wire::RangeEnd& end = read.record.range_end;
  if (!is_of_processes(end.category) || !in_range(end.payload_kind, schema::PayloadKind::kSchema)) {
    return false;
  }
  if (end.key != 0) {
    put_in_order(thread, read.record);
    return true;
  }
  const std::optional<OpenRange> range =
      ranges_.end(thread.ranges, static_cast<RangeCategory>(end.category), end.domain, time_ns);
  thread.used = true;
  if (!range) {
    if (!paused_once_) lose(LossReason::kUnpairedEnd, thread.row.id, time_ns);
    return true;
  }
  on_end_of_range(*range, thread, time_ns);
  if (end.payload_kind != 0) details_.on_end(*range, ref_of(thread), time_ns, read);
  return true;
}

void Drain::on_end_of_range(const OpenRange& range, const Thread& thread, int64_t end_ns) {
  training_.on_range(range, ref_of(thread), end_ns);
  if (range.marker == schema::Marker::kNone) return;
  steps_.end(range.marker, range.id, end_ns, output_);
}

bool Drain::on_thread_name(Thread& thread, const wire::Record& record) {
  const Name& name = names_.find(record.string);
  const uint32_t os_tid = record.thread_name.os_tid;
  Thread* named = &thread;
  if (os_tid != 0 && os_tid != thread.row.os_tid) {
    const auto found = by_os_tid_.find(os_tid);
    if (found == by_os_tid_.end()) return true;  // a thread that records nothing has no row
    named = found->second;
  }
  named->row.name_id = name.id;
  named->changed = true;
  return true;
}

bool Drain::on_communicator(const wire::Record& record) {
  if (!in_range(record.communicator.backend, schema::Backend::kOther)) return false;
  communicators_.announce(record.communicator, names_.find(record.string).id,
                          names_.text(record.string), output_);
  return true;
}

Drain::Thread& Drain::thread_of(Ring& ring, uint32_t index) {
  if (ring.thread != nullptr) return *ring.thread;
  const uint32_t os_tid = mapping_.ring(index)->os_tid.load(std::memory_order_relaxed);
  // CUPTI may have reported one of its calls already; otherwise a reused number is another thread.
  const auto known = by_os_tid_.find(os_tid);
  const bool announced = known != by_os_tid_.end() && !known->second->has_ring;
  if (threads_.size() >= kMostThreads && !announced) {
    ring.thread = &nameless_thread(ring);
  } else {
    ring.thread = announced ? known->second : &new_thread(os_tid);
  }
  ring.thread->has_ring = true;
  return *ring.thread;
}

// All surplus threads share one row; ranges on each of them nest separately.
Drain::Thread& Drain::nameless_thread(Ring& ring) {
  ++threads_refused_;
  if (!ring.nameless) ring.nameless = std::make_unique<Thread>();
  *ring.nameless = Thread();
  ring.nameless->row.id = thread_id_of(0);
  ring.nameless->announced = true;
  return *ring.nameless;
}

Drain::Thread& Drain::new_thread(uint32_t os_tid) {
  Thread& thread = threads_.emplace_back();
  thread.row.id = static_cast<int64_t>(threads_.size());
  thread.row.os_tid = os_tid;
  thread.row.role = thread.row.os_tid == process_id_ ? ThreadRole::kMain : ThreadRole::kOther;
  thread.changed = true;
  by_os_tid_[os_tid] = &thread;
  return thread;
}

int64_t Drain::thread_id_of(uint32_t os_tid) {
  // A process that claims ever more threads gets one row for the rest, without a thread id.
  if (threads_.size() >= kMostThreads && os_tid != 0 && !by_os_tid_.contains(os_tid)) {
    ++threads_refused_;
    os_tid = 0;
  }
  const auto known = by_os_tid_.find(os_tid);
  Thread& thread = known != by_os_tid_.end() ? *known->second : new_thread(os_tid);
  thread.used = true;
  return thread.row.id;
}

void Drain::set_role(Thread& thread, ThreadRole role) {
  if (thread.row.role == role || thread.row.role == ThreadRole::kMain) return;
  thread.row.role = role;
  thread.changed = true;
}

void Drain::put_in_order(Thread& thread, const wire::Record& record, const OpenRange& range) {
  ordered_.push_back({record.ticks, arrivals_++, &thread, record, range});
}

void Drain::run_ordered(uint64_t until_ticks) {
  nccl_.run(until_ticks == UINT64_MAX ? INT64_MAX : to_ns(until_ticks));
  if (ordered_.empty()) return;
  std::ranges::sort(ordered_, {},
                    [](const Ordered& item) { return std::tuple(item.ticks, item.arrival); });
  const auto end = std::ranges::upper_bound(ordered_, until_ticks, {},
                                            [](const Ordered& item) { return item.ticks; });
  for (auto item = ordered_.begin(); item != end; ++item) run_one(*item);
  ordered_.erase(ordered_.begin(), end);
}

void Drain::run_one(const Ordered& item) {
  const wire::Record& record = item.record;
  const int64_t time_ns = to_ns(item.ticks);
  Thread& thread = *item.thread;
  thread.used = true;
  const ThreadRef ref = ref_of(thread);
  bool paired = true;
  switch (record.kind) {
    case Kind::kRangeBegin:
      paired = ranges_.open_keyed(record.range_begin.key, item.range);
      break;
    case Kind::kRangeEnd: {
      const std::optional<OpenRange> range = ranges_.end_keyed(
          record.range_end.key, static_cast<RangeCategory>(record.range_end.category), time_ns);
      paired = range.has_value();
      if (range) on_end_of_range(*range, thread, time_ns);
      break;
    }
    case Kind::kCollectiveEnqueue:
      collectives_.enqueue(record.enqueue, ref, time_ns, ready_ns(record.enqueue), output_);
      break;
    case Kind::kCollectiveBegin: {
      const schema::Function function = names_.find(record.string).function;
      const bool on_caller =
          function == schema::Function::kSend || function == schema::Function::kRecv;
      if (!on_caller) set_role(thread, ThreadRole::kCommunication);
      collectives_.begin(record.edge, function, ref, time_ns, output_);
      break;
    }
    case Kind::kCollectiveEnd:
      paired = on_collective_end(record, time_ns);
      break;
    default:
      break;
  }
  if (!paired && !paused_once_) lose(LossReason::kUnpairedEnd, thread.row.id, time_ns);
}

bool Drain::on_collective_end(const wire::Record& record, int64_t time_ns) {
  if (record.edge.failed == 0)
    return collectives_.end(record.edge.key, time_ns, schema::CollectiveState::kComplete);
  if (failed_collectives_++ == 0) first_error_ = names_.text(record.string);
  return collectives_.end(record.edge.key, time_ns, schema::CollectiveState::kFailed);
}

void Drain::lose(LossReason reason, std::optional<int64_t> thread_id, int64_t time_ns) {
  losses_.add(Source::kRecorder, thread_id, reason, 1, time_ns, time_ns);
}

void Drain::count_ring_losses(Ring& ring, uint32_t index) {
  const wire::LossCounter& dropped = mapping_.ring(index)->dropped;
  const uint64_t count = dropped.count.load(std::memory_order_relaxed);
  if (count == ring.dropped_seen) return;
  const uint64_t last_ticks = dropped.last_ticks.load(std::memory_order_relaxed);
  const uint64_t first_ticks = ring.dropped_seen == 0
                                   ? dropped.first_ticks.load(std::memory_order_relaxed)
                                   : ring.dropped_last_ticks;
  const auto time = [&](uint64_t ticks) {
    return plausible(ticks) ? std::optional(to_ns(ticks)) : std::nullopt;
  };
  // A count that went back is damaged; then the current value is the best estimate.
  const uint64_t grown = count > ring.dropped_seen ? count - ring.dropped_seen : count;
  Thread& thread = thread_of(ring, index);
  thread.used = true;
  losses_.add(Source::kRecorder, thread.row.id, LossReason::kRingFull,
              static_cast<int64_t>(std::min<uint64_t>(grown, INT64_MAX / 2)), time(first_ticks),
              time(last_ticks));
  ring.dropped_seen = count;
  ring.dropped_last_ticks = last_ticks;
  collectives_.forget_pending();
  nccl_.forget_calls();
}

void Drain::count_shared_losses() {
  for (uint32_t i = 0; i < static_cast<uint32_t>(wire::SharedLoss::kCount); ++i) {
    const wire::LossCounter& loss = mapping_.header()->losses[i];
    const uint64_t count = loss.count.load(std::memory_order_relaxed);
    if (count == shared_seen_[i]) continue;
    const uint64_t grown = count > shared_seen_[i] ? count - shared_seen_[i] : count;
    const uint64_t first = loss.first_ticks.load(std::memory_order_relaxed);
    const uint64_t last = loss.last_ticks.load(std::memory_order_relaxed);
    const auto time = [&](uint64_t ticks) {
      return plausible(ticks) ? std::optional(to_ns(ticks)) : std::nullopt;
    };
    const auto kind = static_cast<wire::SharedLoss>(i);
    losses_.add(source_of(kind), std::nullopt, reason_of(kind),
                static_cast<int64_t>(std::min<uint64_t>(grown, INT64_MAX / 2)), time(first),
                time(last));
    shared_seen_[i] = count;
  }
  if (names_.bad_ids() > bad_ids_seen_) {
    losses_.add(Source::kRecorder, std::nullopt, LossReason::kBadRecord,
                names_.bad_ids() - bad_ids_seen_, std::nullopt, std::nullopt);
    bad_ids_seen_ = names_.bad_ids();
  }
}

void Drain::flush() {
  for (Thread& thread : threads_) {
    if (!thread.changed || !thread.used) continue;
    thread.changed = false;
    if (thread.announced) {
      output_.set_thread(thread.row);
    } else {
      output_.append(thread.row);
    }
    thread.announced = true;
  }
  gpu_.flush();
  nccl_.flush();
  training_.flush();
  ranges_.flush(output_);
  collectives_.flush(output_);
  count_shared_losses();
  if (!output_.in_gap()) losses_.flush(output_);  // else they accumulate until it ends
  output_.commit();
}

HowFar Drain::how_far() const {
  HowFar far;
  far.last_record_ns = totals_.last_ns.value_or(0);
  steps_.fill_in(far);
  collectives_.fill_in(far);
  return far;
}

void Drain::finish(bool killed) {
  for (int i = 0; i < kLastPasses && pass() != 0; ++i) {
  }
  run_ordered(UINT64_MAX);
  steps_.finish(killed, output_);
  gpu_.finish();
  nccl_.finish();
  training_.finish();
  if (damaged_rings_ != 0) {
    append_diagnostic(
        output_, "damaged_ring", damaged_rings_,
        fmt::format("{} rings held counters or records that make no sense", damaged_rings_));
  }
  if (threads_refused_ != 0) {
    append_diagnostic(output_, "many_threads", threads_refused_,
                      fmt::format("more than {} threads came one after the other", kMostThreads));
  }
  if (names_.refused() != 0) {
    append_diagnostic(output_, "many_names", names_.refused(),
                      fmt::format("more than {} distinct names; records with a later one: {}",
                                  Names::kMost, names_.refused()));
  }
  if (failed_collectives_ != 0)
    append_diagnostic(output_, "collective_failed", failed_collectives_, first_error_);
  // Within a gap, too: they no longer grow, and the trace keeps them until it is written.
  count_shared_losses();
  losses_.flush(output_);
  flush();
}

DrainTotals Drain::totals() const {
  DrainTotals totals = totals_;
  totals.events =
      ranges_.rows() + collectives_.rows() + gpu_.rows() + nccl_.rows() + training_.rows();
  totals.events = std::max<int64_t>(0, totals.events - output_.left_out());
  totals.lost = losses_.total();
  totals.threads = static_cast<int64_t>(threads_.size());
  return totals;
}

}  // namespace dprof::recorder
