// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/loader_waits.h"

#include <utility>

namespace dprof::recorder {
namespace {

int64_t end_of(const schema::LoaderEventRow& row) {
  return row.start_ns + row.duration_ns.value_or(0);
}

}  // namespace

void LoaderWaits::describe(schema::LoaderEventRow& row, const BatchFacts& facts) {
  row.index_hash = facts.index_hash;
  row.epoch = facts.epoch;
  row.queue_depth = facts.queue_depth;
  row.batch_shape = facts.shape;
}

void LoaderWaits::write(Thread& thread) {
  if (!thread.wait) return;
  output_.append_numbered(*thread.wait);
  ++rows_;
  thread.wait.reset();
  thread.described = false;
}

void LoaderWaits::write_alone(int64_t thread_id, const BatchFacts& facts) {
  schema::LoaderEventRow row;
  row.thread_id = thread_id;
  row.start_ns = facts.time_ns;
  describe(row, facts);
  output_.append_numbered(row);
  ++rows_;
}

void LoaderWaits::settle(int64_t thread_id, Thread& thread, int64_t until_ns) {
  while (!thread.said.empty() && thread.said.front().time_ns < until_ns) {
    const BatchFacts facts = std::move(thread.said.front());
    thread.said.pop_front();
    if (thread.wait && !thread.described && facts.time_ns >= thread.wait->start_ns) {
      describe(*thread.wait, facts);
      thread.described = true;
    } else {
      write_alone(thread_id, facts);
    }
  }
}

void LoaderWaits::on_wait(int64_t thread_id, int64_t start_ns, int64_t end_ns) {
  Thread& thread = threads_[thread_id];
  const bool holds_last =
      thread.wait && start_ns <= thread.wait->start_ns && end_ns >= end_of(*thread.wait);
  if (holds_last) return settle(thread_id, thread, end_ns);
  settle(thread_id, thread, start_ns);
  write(thread);
  thread.wait.emplace();
  thread.wait->thread_id = thread_id;
  thread.wait->start_ns = start_ns;
  thread.wait->duration_ns = end_ns - start_ns;
  settle(thread_id, thread, end_ns + 1);
}

void LoaderWaits::on_batch(int64_t thread_id, BatchFacts facts) {
  Thread& thread = threads_[thread_id];
  const bool in_last = thread.wait && !thread.described && facts.time_ns >= thread.wait->start_ns &&
                       facts.time_ns <= end_of(*thread.wait);
  if (in_last) {
    describe(*thread.wait, facts);
    thread.described = true;
    return;
  }
  thread.said.push_back(std::move(facts));
  if (thread.said.size() <= kMostSaid) return;
  settle(thread_id, thread, thread.said.front().time_ns + 1);
}

void LoaderWaits::finish() {
  for (auto& [thread_id, thread] : threads_) {
    settle(thread_id, thread, INT64_MAX);
    write(thread);
  }
}

}  // namespace dprof::recorder
