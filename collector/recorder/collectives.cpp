// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/collectives.h"

#include <algorithm>

namespace dprof::recorder {

using schema::Backend;
using schema::CollectiveState;
using schema::Function;

namespace {

// More than a program can have in flight; older ones will not start any more.
constexpr size_t kMaxPending = 4096;
constexpr size_t kMaxRunning = 65536;

std::optional<int64_t> known(int64_t value) {
  return value < 0 ? std::nullopt : std::optional(value);
}

bool is_point_to_point(Function function) {
  return function == Function::kSend || function == Function::kRecv;
}

// Whether an execution that calls itself `seen` can be that of a call of `called`.
bool can_be(Function called, Function seen) {
  return called == seen || seen == Function::kUnknown ||
         (called == Function::kReduceScatter && seen == Function::kAllReduce);
}

}  // namespace

void Communicators::announce(const wire::Communicator& said, int64_t name_id, TraceOutput& output) {
  const int64_t id = find(said.group, static_cast<Backend>(said.backend), output);
  schema::CommunicatorRow row = by_hash_.at(said.group);
  row.id = id;
  row.backend = static_cast<Backend>(said.backend);
  if (said.size >= 0) row.size = said.size;
  if (said.own_rank >= 0) row.own_rank = said.own_rank;
  if (name_id != 0) row.name_id = name_id;
  if (row == by_hash_.at(said.group)) return;
  by_hash_.at(said.group) = row;
  output.set_communicator(row);
}

int64_t Communicators::find(uint64_t hash, Backend backend, TraceOutput& output) {
  const auto [at, is_new] = by_hash_.try_emplace(hash);
  schema::CommunicatorRow& row = at->second;
  if (is_new) {
    row.id = static_cast<int64_t>(by_hash_.size());
    row.hash = static_cast<int64_t>(hash);
    row.backend = backend;
    output.append(row);
  }
  return row.id;
}

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

void Collectives::enqueue(const wire::CollectiveEnqueue& call, const ThreadRef& thread,
                          int64_t time_ns, TraceOutput& output) {
  const auto function = static_cast<Function>(call.function);
  const auto backend = static_cast<Backend>(call.backend);
  Entry& entry = new_entry();
  schema::CollectiveRow& row = entry.row;
  row.communicator_id = communicators_.find(call.group, backend, output);
  row.function = function;
  Counters& counters = counters_[call.group];
  row.sequence = counters.by_function[function]++;
  row.group_sequence = counters.all++;
  row.bytes = known(call.bytes);
  row.count = known(call.count);
  row.dtype = static_cast<schema::DataType>(call.data_type);
  row.root = known(call.root);
  row.peer = known(call.peer);
  row.reduction = static_cast<schema::Reduction>(call.reduction);
  row.enqueue_ns = time_ns;
  row.enqueue_thread_id = thread.id;
  row.state = CollectiveState::kEnqueued;

  // Only Gloo's execution is seen as a range, and only that of a function that has a name.
  if (backend != Backend::kGloo || function == Function::kUnknown) {
    row.state = CollectiveState::kUnobserved;
    entry.done = true;
    return;
  }
  std::deque<Pending>& queue = is_point_to_point(function) ? point_to_point_ : queues_[call.group];
  queue.push_back({row.id, function, thread.os_tid});
  if (queue.size() <= kMaxPending) return;
  settle(queue.front().id, CollectiveState::kUnobserved);
  queue.pop_front();
}

void Collectives::begin(const wire::CollectiveEdge& edge, Function function,
                        const ThreadRef& thread, int64_t time_ns, TraceOutput& output) {
  const auto open = running_.find(edge.key);
  if (open != running_.end()) {  // the old one lost its end
    settle(open->second, CollectiveState::kUnobserved);
    running_.erase(open);
  }
  const std::optional<int64_t> joined = is_point_to_point(function)
                                            ? take_point_to_point(function, thread.os_tid)
                                            : take_queued(edge.group, function, thread.os_tid);
  Entry& entry = joined ? live_.at(*joined) : new_entry();
  if (!joined) {
    entry.row.function = function;
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

bool Collectives::end(uint64_t key, int64_t time_ns) {
  const auto open = running_.find(key);
  if (open == running_.end()) return false;
  Entry& entry = live_.at(open->second);
  entry.row.end_ns = std::max(time_ns, entry.row.start_ns.value_or(time_ns));
  running_.erase(open);
  settle(entry.row.id, CollectiveState::kComplete);
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
