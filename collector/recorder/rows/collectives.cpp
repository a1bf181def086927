// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/collectives.h"

#include <algorithm>

#include "collector/recorder/common/if_known.h"

namespace dprof::recorder {

using schema::Backend;
using schema::CollectiveRow;
using schema::CollectiveState;
using schema::Function;

namespace {

// More than a program can have in flight; older ones will never start.
constexpr size_t kMaxPending = 4096;
constexpr size_t kMaxRunning = 65536;
constexpr size_t kMaxGroups = 1024;  // with something pending; and worker threads
constexpr size_t kMaxLive = 262144;

bool is_point_to_point(Function function) {
  return function == Function::kSend || function == Function::kRecv;
}

// Whether an execution reported as `seen` can be that of a call of `called`.
bool can_be(Function called, Function seen) {
  return called == seen || seen == Function::kUnknown ||
         (called == Function::kReduceScatter && seen == Function::kAllReduce);
}

}  // namespace

Collectives::Entry& Collectives::new_entry() {
  const int64_t id = next_id_++;
  Entry& entry = live_[id];
  entry.row.id = id;
  unwritten_.push_back(id);
  return entry;
}

void Collectives::change(Entry& entry) {
  if (!entry.written || entry.changed) return;
  entry.changed = true;
  changed_.push_back(entry.row.id);
}

int64_t Collectives::add(CollectiveRow row) {
  Entry& entry = new_entry();
  row.id = entry.row.id;
  if (row.communicator_id) number(row);
  entry.row = std::move(row);
  note_call(entry.row);
  return entry.row.id;
}

// A call whose end may never be seen counts as progress.
void Collectives::note_call(const CollectiveRow& row) {
  if (!row.communicator_id) return;
  Counters& counters = counters_[*row.communicator_id];
  counters.ends_are_seen |= row.end_ns.has_value();
  int64_t& next = counters.called[row.function];
  next = std::max(next, row.sequence.value_or(-1) + 1);
  if (row.state == CollectiveState::kUnobserved)
    last_progress_ns_ = std::max(last_progress_ns_, row.enqueue_ns.value_or(0));
  last_progress_ns_ = std::max(last_progress_ns_, row.end_ns.value_or(0));
}

const CollectiveRow* Collectives::find(int64_t id) const {
  const auto found = live_.find(id);
  return found != live_.end() ? &found->second.row : nullptr;
}

void Collectives::set(CollectiveRow row) {
  const auto found = live_.find(row.id);
  if (found == live_.end()) return;
  Entry& entry = found->second;
  row.group_sequence = entry.row.group_sequence;
  if (row.communicator_id != entry.row.communicator_id) number(row);
  if (row == entry.row) return;
  entry.row = std::move(row);
  note_call(entry.row);
  change(entry);
}

void Collectives::release(int64_t id) {
  const auto found = live_.find(id);
  if (found == live_.end()) return;
  found->second.done = true;
  if (found->second.written && !found->second.changed) live_.erase(found);
}

// Its position among the communicator's calls. A caller with a better `sequence` sets it
// afterwards.
void Collectives::number(CollectiveRow& row) {
  Counters& counters = counters_[*row.communicator_id];
  row.group_sequence = counters.all++;
}

int64_t Collectives::enqueue(const wire::CollectiveEnqueue& call, const ThreadRef& thread,
                             int64_t time_ns, std::optional<int64_t> ready_ns,
                             TraceOutput& output) {
  const auto function = static_cast<Function>(call.function);
  const auto backend = static_cast<Backend>(call.backend);
  Entry& entry = new_entry();
  schema::CollectiveRow& row = entry.row;
  row.communicator_id = communicators_.find(call.group, backend, output);
  row.function = function;
  number(row);
  row.sequence = next_sequence(*row.communicator_id, function);
  row.bytes = if_known(call.bytes);
  row.count = if_known(call.count);
  row.dtype = static_cast<schema::DataType>(call.data_type);
  row.root = if_known(call.root);
  row.peer = if_known(call.peer);
  row.reduction = static_cast<schema::Reduction>(call.reduction);
  row.enqueue_ns = time_ns;
  row.enqueue_thread_id = thread.id;
  row.state = CollectiveState::kEnqueued;
  row.source = schema::Source::kTorch;
  if (call.bucket != 0) row.bucket = call.bucket - 1;
  row.ready_ns = ready_ns;

  // Only Gloo's execution is visible as a range, and only for a function with a name.
  if (backend != Backend::kGloo || function == Function::kUnknown) {
    row.state = CollectiveState::kUnobserved;
    entry.done = backend != Backend::kNccl;
    note_call(row);
    return row.id;
  }
  note_call(row);
  const bool is_message = is_point_to_point(function);
  if (live_.size() > kMaxLive ||
      (!is_message && queues_.size() >= kMaxGroups && !queues_.contains(call.group))) {
    forget_pending();
    queues_.clear();
  }
  std::deque<Pending>& queue = is_message ? point_to_point_ : queues_[call.group];
  queue.push_back({row.id, function, thread.os_tid});
  if (queue.size() <= kMaxPending) return row.id;
  settle(queue.front().id, CollectiveState::kUnobserved);
  queue.pop_front();
  return row.id;
}

void Collectives::begin(const wire::CollectiveEdge& edge, Function function,
                        const ThreadRef& thread, int64_t time_ns, TraceOutput& output) {
  const auto open = running_.find(edge.key);
  if (open != running_.end()) {  // the end of the old one was lost
    settle(open->second, CollectiveState::kUnobserved);
    running_.erase(open);
  }
  const std::optional<int64_t> joined = is_point_to_point(function)
                                            ? take_point_to_point(function, thread.os_tid)
                                            : take_queued(edge.group, function, thread.os_tid);
  Entry& entry = joined ? live_.at(*joined) : new_entry();
  if (!joined) {
    entry.row.function = function;
    entry.row.source = schema::Source::kTorch;
    if (edge.group != 0) {
      entry.row.communicator_id = communicators_.find(edge.group, Backend::kUnknown, output);
    }
  }
  entry.row.start_ns = time_ns;
  entry.row.thread_id = thread.id;
  entry.row.state = CollectiveState::kRunning;
  change(entry);
  running_[edge.key] = entry.row.id;
  if (running_.size() <= kMaxRunning) return;
  for (const auto& [key, id] : running_) settle(id, CollectiveState::kUnobserved);
  running_.clear();
}

bool Collectives::end(uint64_t key, int64_t time_ns, CollectiveState state) {
  const auto open = running_.find(key);
  if (open == running_.end()) return false;
  Entry& entry = live_.at(open->second);
  entry.row.end_ns = std::max(time_ns, entry.row.start_ns.value_or(time_ns));
  running_.erase(open);
  if (state == CollectiveState::kComplete)
    last_progress_ns_ = std::max(last_progress_ns_, *entry.row.end_ns);
  settle(entry.row.id, state);
  return true;
}

std::optional<int64_t> Collectives::take_point_to_point(Function function, uint32_t os_tid) {
  const auto found = std::ranges::find_if(point_to_point_, [&](const Pending& pending) {
    return pending.function == function && pending.os_tid == os_tid;
  });
  if (found == point_to_point_.end()) return std::nullopt;
  const int64_t id = found->id;
  point_to_point_.erase(found);
  return id;
}

std::optional<int64_t> Collectives::take_queued(uint64_t group_hint, Function function,
                                                uint32_t os_tid) {
  const std::optional<uint64_t> group =
      group_hint != 0 ? std::optional(group_hint) : choose_group(function, os_tid);
  if (!group || !queues_.contains(*group)) return std::nullopt;
  std::deque<Pending>& queue = queues_.at(*group);
  const auto found = std::ranges::find_if(
      queue, [&](const Pending& pending) { return can_be(pending.function, function); });
  if (found == queue.end()) return std::nullopt;
  const int64_t id = found->id;
  queue.erase(found);
  return id;
}

std::optional<uint64_t> Collectives::choose_group(Function function, uint32_t os_tid) {
  const auto bound = group_of_thread_.find(os_tid);
  if (bound != group_of_thread_.end()) return bound->second;
  std::optional<uint64_t> oldest;
  int64_t oldest_id = INT64_MAX;
  int candidates = 0;
  for (const auto& [group, queue] : queues_) {
    const auto pending = std::ranges::find_if(
        queue, [&](const Pending& one) { return can_be(one.function, function); });
    if (pending == queue.end()) continue;
    ++candidates;
    if (pending->id < oldest_id) {
      oldest_id = pending->id;
      oldest = group;
    }
  }
  if (group_of_thread_.size() >= kMaxGroups) group_of_thread_.clear();
  if (candidates == 1) group_of_thread_[os_tid] = *oldest;
  return oldest;
}

void Collectives::settle(int64_t id, CollectiveState state) {
  Entry& entry = live_.at(id);
  entry.row.state = state;
  entry.done = true;
  change(entry);
}

void Collectives::forget_pending() {
  const auto forget = [&](std::deque<Pending>& queue) {
    for (const Pending& pending : queue) settle(pending.id, CollectiveState::kUnobserved);
    queue.clear();
  };
  for (auto& [group, queue] : queues_) forget(queue);
  forget(point_to_point_);
}

std::optional<int64_t> Collectives::oldest_open_ns() const {
  std::optional<int64_t> oldest;
  for (const auto& [id, entry] : live_) {
    const bool open = entry.row.state == CollectiveState::kEnqueued ||
                      entry.row.state == CollectiveState::kRunning;
    if (entry.done || !open) continue;
    const std::optional<int64_t> begin_ns =
        entry.row.enqueue_ns ? entry.row.enqueue_ns : entry.row.start_ns;
    if (begin_ns) oldest = std::min(oldest.value_or(*begin_ns), *begin_ns);
  }
  return oldest;
}

void Collectives::fill_in(HowFar& far) const {
  constexpr size_t kMostOpen = 64;
  std::map<int64_t, const CollectiveRow*> last_unobserved;  // by communicator
  const auto add = [&](const CollectiveRow& row, bool observed) {
    const int64_t id = *row.communicator_id;
    const int64_t sequence = row.sequence.value_or(0);
    far.open.push_back({communicators_.hash_of(id), communicators_.name_of(id), row.function,
                        sequence, row.group_sequence.value_or(sequence),
                        row.enqueue_ns.value_or(row.start_ns.value_or(0)), observed});
  };
  for (const auto& [id, entry] : live_) {
    const CollectiveRow& row = entry.row;
    if (!row.communicator_id || row.end_ns || entry.done) continue;
    if (row.state == CollectiveState::kUnobserved) last_unobserved[*row.communicator_id] = &row;
    const bool is_open =
        row.state == CollectiveState::kEnqueued || row.state == CollectiveState::kRunning;
    if (is_open && far.open.size() < kMostOpen) add(row, true);
  }
  for (const auto& [id, row] : last_unobserved) add(*row, counters_.at(id).ends_are_seen);
  std::ranges::stable_sort(far.open, {}, &OpenCall::since_ns);
  for (int64_t id = 1; id <= communicators_.count(); ++id) {
    const uint64_t hash = communicators_.hash_of(id);
    far.called[{hash, Function::kUnknown}];  // a member, whatever it has called
    const auto counters = counters_.find(id);
    if (counters == counters_.end()) continue;
    for (const auto& [function, next] : counters->second.called)
      far.called[{hash, function}] = next;
  }
  far.last_progress_ns = std::max(far.last_progress_ns, last_progress_ns_);
}

void Collectives::flush(TraceOutput& output) {
  std::vector<int64_t> touched = std::move(changed_);
  changed_.clear();
  for (const int64_t id : touched) {
    Entry& entry = live_.at(id);
    entry.changed = false;
    output.update_collective(entry.row);
  }
  for (const int64_t id : unwritten_) {
    Entry& entry = live_.at(id);
    entry.written = true;
    output.append(entry.row);
  }
  touched.insert(touched.end(), unwritten_.begin(), unwritten_.end());
  unwritten_.clear();
  for (const int64_t id : touched) {
    const auto at = live_.find(id);
    if (at != live_.end() && at->second.done) live_.erase(at);
  }
}

}  // namespace dprof::recorder
