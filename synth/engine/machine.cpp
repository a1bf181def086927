// SPDX-License-Identifier: Apache-2.0
#include "synth/engine/machine.h"

#include <algorithm>
#include <cmath>

namespace dprof::synth {
namespace {

constexpr int64_t kApiNs = 4'000;  // of a launch call
constexpr int64_t kLaunchLatencyNs = 3'000;
constexpr int64_t kEventCallNs = 800;
constexpr int64_t kEnqueueNs = 20'000;   // a call into c10d
constexpr int64_t kDispatchNs = 30'000;  // until Gloo's worker begins
constexpr int64_t kWakeNs = 15'000;      // until the host continues after a wait
constexpr size_t kQueueDepth = 1024;     // launches that a device accepts before the host waits
constexpr int64_t kForeverOpNs = 5'000'000;
constexpr size_t kKeptEvents = 256;

}  // namespace

RankMachine::RankMachine(const MachineSetting& setting, const ProgramSource& source, Peers& peers,
                         Trail* trail)
    : setting_(setting), source_(source), peers_(peers), trail_(trail), now_(setting.start_ns) {
  queues_.resize(static_cast<size_t>(setting.queues));
}

void RankMachine::advance() {
  while (!finished_) {
    if (at_ == program_.instructions.size()) {
      program_.clear();
      at_ = 0;
      ready_.clear();
      program_work_ = first_work_ + works_.size();
      if (!source_.program(setting_.rank, next_program_++, program_)) {
        finished_ = true;
        if (trail_ != nullptr) trail_->ending.at = last_known();
      }
      continue;
    }
    blocked_ = Busy::kNothing;
    if (!execute(program_.instructions[at_])) return;
    ++at_;
  }
}

void RankMachine::wake() {
  pump();
  advance();
}

bool RankMachine::communicates_at(int64_t at) const {
  return std::ranges::any_of(
      works_, [&](const Work& w) { return w.start <= at && (w.end == kPending || w.end > at); });
}

void RankMachine::spend(Busy busy, int64_t until) {
  if (trail_ != nullptr && until > now_) {
    if (!trail_->pieces.empty() && trail_->pieces.back().busy == busy &&
        trail_->pieces.back().end == now_) {
      trail_->pieces.back().end = until;
    } else {
      trail_->pieces.push_back({busy, now_, until});
    }
  }
  now_ = std::max(now_, until);
}

size_t RankMachine::begin_range(int32_t name, uint8_t category, int64_t sequence,
                                int64_t correlation) {
  trail_->ranges.push_back({thread_, name, category, now_, kNever, sequence, correlation});
  return trail_->ranges.size() - 1;
}

bool RankMachine::execute(const Instruction& i) {
  switch (i.what) {
    case Do::kBegin:
      if (trail_ != nullptr) open_.push_back(begin_range(i.name, i.category, i.a, -1));
      return true;
    case Do::kEnd:
      if (trail_ != nullptr) {
        trail_->ranges[open_.back()].end = now_;
        open_.pop_back();
      }
      return true;
    case Do::kBusy:
      return work_for(i);
    case Do::kThread:
      thread_ = static_cast<int32_t>(i.a);
      return true;
    case Do::kLaunch:
      return launch(i);
    case Do::kCollective:
      return collective(i);
    case Do::kWaitWork:
      return wait_for(program_work_ + static_cast<uint64_t>(i.a));
    case Do::kSyncQueue: {
      const Queue& q = queues_[static_cast<size_t>(i.a)];
      blocked_ = Busy::kSync;
      if (!q.items.empty()) return false;
      spend(Busy::kSync, std::max(now_, q.free) + (q.free > now_ ? kWakeNs : 0));
      return true;
    }
    case Do::kRecord: {
      Queue& q = queues_[static_cast<size_t>(i.a)];
      q.last_event = first_event_ + static_cast<int64_t>(events_.size());
      q.last_record = now_;
      events_.push_back(kPending);
      while (events_.size() > kKeptEvents && events_.front() != kPending) {
        events_.pop_front();
        ++first_event_;
      }
      q.items.push_back({.kind = ItemKind::kRecord, .ready = now_, .id = q.last_event});
      spend(Busy::kHost, now_ + kEventCallNs);
      pump();
      return true;
    }
    case Do::kReady:
      ready_.resize(std::max(ready_.size(), static_cast<size_t>(i.a) + 1));
      ready_[static_cast<size_t>(i.a)] = last_gradient_;
      return true;
    case Do::kStreamWait: {
      const Queue& from = queues_[static_cast<size_t>(i.b)];
      if (trail_ != nullptr) {
        trail_->dependencies.push_back({from.last_event, static_cast<int32_t>(i.b),
                                        static_cast<int32_t>(i.a), from.last_record, now_, -1});
      }
      queues_[static_cast<size_t>(i.a)].items.push_back(
          {.kind = ItemKind::kWait, .ready = now_, .id = from.last_event});
      spend(Busy::kHost, now_ + kEventCallNs);
      pump();
      return true;
    }
    case Do::kLoad:
      return load(i);
    case Do::kMemory:
      if (trail_ != nullptr) {
        trail_->memory.push_back({now_, program_.memory[static_cast<size_t>(i.a)]});
      }
      return true;
    case Do::kStepBegin:
      if (trail_ != nullptr) trail_->steps.push_back({i.a, now_, kNever});
      return true;
    case Do::kStepEnd:
      step_ends_.push_back(now_);
      if (trail_ != nullptr) trail_->steps.back().end = now_;
      return true;
    case Do::kForever:
      return run_forever(i);
    case Do::kStop:
      stop(i);
      return true;
  }
  return true;
}

bool RankMachine::work_for(const Instruction& i) {
  int64_t ns = i.ns;
  if (ns >= kNever) {  // it never continues
    blocked_ = i.busy;
    return false;
  }
  const bool computes = i.busy <= Busy::kOther;
  if (const double factor = source_.contention(); computes && factor > 1 && !setting_.gpu) {
    if (!peers_.has_reached(setting_.rank, now_)) {
      blocked_ = i.busy;
      return false;
    }
    if (communicates_at(now_)) ns = std::llround(static_cast<double>(ns) * factor);
  }
  spend(i.busy, now_ + ns);
  if (computes) last_gradient_ = now_;
  return true;
}

bool RankMachine::launch(const Instruction& i) {
  Queue& q = queues_[static_cast<size_t>(i.a)];
  if (q.items.size() >= kQueueDepth) {
    blocked_ = Busy::kHost;
    return false;
  }
  const auto kind = static_cast<schema::GpuActivityKind>(i.b);
  const bool copies = kind != schema::GpuActivityKind::kKernel;
  const int64_t correlation = ++correlation_;
  const int64_t call = now_;
  size_t range = 0;
  if (trail_ != nullptr) {
    range = begin_range(copies ? setting_.api_copy : setting_.api_launch,
                        static_cast<uint8_t>(schema::RangeCategory::kApi), -1, correlation);
  }
  spend(Busy::kHost, now_ + kApiNs);
  if (trail_ != nullptr) trail_->ranges[range].end = now_;
  q.items.push_back({.kind = ItemKind::kActivity,
                     .activity = kind,
                     .phase = i.busy,
                     .name = i.name,
                     .call = call,
                     .ready = now_ + kLaunchLatencyNs,
                     .ns = i.ns,
                     .bytes = i.bytes,
                     .correlation = correlation});
  last_gradient_ = now_;
  pump();
  return true;
}

uint64_t RankMachine::new_work(const CollectiveCall& call, int64_t enqueue, int64_t correlation) {
  while (!works_.empty() && first_work_ < program_work_ && works_.front().end != kPending &&
         works_.front().end < kNever) {
    works_.pop_front();
    ++first_work_;
  }
  GroupCounts& counts = counts_[call.group];
  Work made{.call = call,
            .nth = is_message(call.function) ? -1 : counts.calls++,
            .sequence = counts.by_function[static_cast<size_t>(call.function)]++};
  if (trail_ != nullptr) {
    made.trail = static_cast<int64_t>(trail_->works.size());
    trail_->works.push_back({.call = call,
                             .sequence = made.sequence,
                             .group_sequence = made.nth,
                             .enqueue = enqueue,
                             .ready = call.bucket < 0 ? kNever
                                      : call.note < 0 ? last_gradient_
                                                      : ready_[static_cast<size_t>(call.note)],
                             .correlation = correlation,
                             .program = next_program_ - 1,
                             .caller = thread_});
  }
  works_.push_back(made);
  return first_work_ + works_.size() - 1;
}

bool RankMachine::collective(const Instruction& i) {
  const CollectiveCall& call = program_.calls[static_cast<size_t>(i.a)];
  if (inline_work_) {  // already called; the thread waits
    const bool done = wait_for(*inline_work_);
    if (done) inline_work_.reset();
    return done;
  }
  const int64_t enqueue = now_;
  const bool on_stream = setting_.gpu && call.queue != kInline;
  const int64_t correlation = on_stream ? ++correlation_ : -1;
  const uint64_t id = new_work(call, enqueue, correlation);
  size_t outer = 0;
  if (trail_ != nullptr) outer = begin_range(i.name, i.category, -1, -1);
  spend(Busy::kHost, now_ + kEnqueueNs - kApiNs);
  if (on_stream && trail_ != nullptr) {
    const size_t api = begin_range(
        setting_.api_nccl, static_cast<uint8_t>(schema::RangeCategory::kApi), -1, correlation);
    trail_->ranges[api].end = now_ + kApiNs;
  }
  const int64_t launch_call = now_;
  spend(Busy::kHost, now_ + kApiNs);
  if (trail_ != nullptr) trail_->ranges[outer].end = now_;
  if (call.queue == kInline) {
    inline_work_ = id;
    begin_work(id, now_);
    const bool done = wait_for(id);
    if (done) inline_work_.reset();
    return done;
  }
  queues_[static_cast<size_t>(call.queue)].items.push_back(
      {.kind = ItemKind::kCollective,
       .name = static_cast<int32_t>(i.b),
       .call = launch_call,
       .ready = now_ + (setting_.gpu ? kLaunchLatencyNs : kDispatchNs),
       .id = static_cast<int64_t>(id),
       .correlation = correlation});
  pump();
  return true;
}

void RankMachine::begin_work(uint64_t id, int64_t start) {
  Work& w = work(id);
  w.start = start;
  const Answer answer = peers_.arrive({setting_.rank, id, w.nth, w.sequence, start, &w.call});
  w.end = answer.end;
  w.last_start = answer.last_start;
  if (trail_ == nullptr) return;
  WorkDone& done = trail_->works[static_cast<size_t>(w.trail)];
  done.start = start;
  done.instance = answer.instance;
  done.last_start = answer.last_start;
  if (answer.end != kPending) done.end = answer.end;
}

bool RankMachine::wait_for(uint64_t id) {
  const int64_t end = id < first_work_ ? 0 : work(id).end;
  if (end == kPending || end >= kNever) {
    blocked_ = Busy::kWaitWork;
    return false;
  }
  if (end > now_) spend(Busy::kWaitWork, end + kWakeNs);
  return true;
}

bool RankMachine::load(const Instruction& i) {
  if (i.ns >= kNever) {
    if (trail_ != nullptr) trail_->loads.push_back({now_, kNever, 0, batch_});
    blocked_ = Busy::kInput;
    return false;
  }
  if (loader_.free.empty()) {
    loader_.free.resize(static_cast<size_t>(setting_.loader_workers), setting_.start_ns);
    for (int b = 0; b < setting_.loader_workers * setting_.loader_prefetch; ++b)
      ask_for_batch(setting_.start_ns, i.b);
  }
  const int64_t begin = now_;
  const int64_t depth =
      std::ranges::count_if(loader_.made, [&](int64_t made) { return made <= begin; });
  spend(Busy::kInput, std::max(now_, loader_.made.front()) + i.ns);
  loader_.made.pop_front();
  ask_for_batch(now_, i.b);
  if (trail_ != nullptr) trail_->loads.push_back({begin, now_, depth, batch_});
  ++batch_;
  return true;
}

void RankMachine::ask_for_batch(int64_t at, int64_t ns) {
  int64_t& worker = loader_.free[static_cast<size_t>(loader_.asked++) % loader_.free.size()];
  worker = std::max(worker, at) + ns;
  loader_.made.push_back(worker);
}

bool RankMachine::run_forever(const Instruction& i) {
  blocked_ = i.busy;
  if (trail_ == nullptr) return false;
  while (now_ < setting_.end_ns && setting_.end_ns < kNever) {
    const size_t range = begin_range(setting_.forever_op, i.category, -1, -1);
    spend(i.busy, std::min(now_ + kForeverOpNs, setting_.end_ns));
    if (now_ < setting_.end_ns) trail_->ranges[range].end = now_;
  }
  return false;
}

void RankMachine::stop(const Instruction& i) {
  finished_ = true;
  if (trail_ == nullptr) return;
  trail_->ending = {
      .at = now_, .exit_code = i.a, .signal = i.b, .stopped = true, .lost = i.ns != 0};
}

void RankMachine::complete(uint64_t id, int64_t end, int64_t last_start) {
  if (id < first_work_) return;
  Work& w = work(id);
  w.end = end;
  w.last_start = last_start;
  pump();
  advance();
}

void RankMachine::pump() {
  bool moved = true;
  while (moved) {
    moved = false;
    for (int q = 0; q < static_cast<int>(queues_.size()); ++q) moved = pump(q) || moved;
  }
}

// True if it made progress.
bool RankMachine::pump(int queue) {
  Queue& q = queues_[static_cast<size_t>(queue)];
  bool moved = false;
  while (!q.items.empty() && pump_front(queue, q)) {
    q.items.pop_front();
    moved = true;
  }
  return moved;
}

// True if the item at the front is finished.
bool RankMachine::pump_front(int queue, Queue& q) {
  const Item& item = q.items.front();
  switch (item.kind) {
    case ItemKind::kRecord:
      event_time(item.id) = std::max(q.free, item.ready);
      return true;
    case ItemKind::kWait: {
      const int64_t at = item.id < first_event_ ? 0 : event_time(item.id);
      if (at == kPending) return false;
      if (at > q.free) {
        q.free = at;
        q.raised = true;
      }
      return true;
    }
    case ItemKind::kActivity:
    case ItemKind::kCollective:
      break;
  }
  ActivityDone done{.queue = queue,
                    .name = item.name,
                    .kind = item.activity,
                    .phase = item.phase,
                    .bound = item.ready > q.free ? BoundBy::kLaunch
                             : q.raised          ? BoundBy::kDependency
                                                 : BoundBy::kQueue,
                    .call = item.call,
                    .begin = std::max(item.ready, q.free),
                    .bytes = item.bytes,
                    .correlation = item.correlation};
  if (item.kind == ItemKind::kCollective) {
    const auto id = static_cast<uint64_t>(item.id);
    if (work(id).start == kNever) begin_work(id, done.begin);
    const Work& w = work(id);
    if (w.end == kPending || w.end >= kNever) return false;
    done.begin = w.start;
    done.end = w.end;
    done.work = w.trail;
  } else {
    const std::optional<int64_t> ns = length_of(queue, item, done.begin);
    if (!ns) return false;
    done.end = done.begin + *ns;
    if (item.activity == schema::GpuActivityKind::kKernel) {
      last_kernel_begin_ = done.begin;
      last_kernel_end_ = done.end;
    }
  }
  q.free = done.end;
  q.raised = false;
  if (trail_ != nullptr && setting_.gpu) trail_->activities.push_back(done);
  return true;
}

// Length of an activity that begins then; nullopt: the world must get there first.
std::optional<int64_t> RankMachine::length_of(int queue, const Item& item, int64_t begin) {
  const double factor = source_.contention();
  const bool matters = factor > 1 || source_.transfer_contention() > 1;
  if (!matters || !setting_.gpu || item.activity != schema::GpuActivityKind::kKernel)
    return item.ns;
  // Collectives called earlier begin first, unless something blocks them.
  for (int other = 0; other < static_cast<int>(queues_.size()); ++other) {
    if (other != queue) pump(other);
  }
  if (!peers_.has_reached(setting_.rank, begin)) return std::nullopt;
  if (!communicates_at(begin)) return item.ns;
  return std::llround(static_cast<double>(item.ns) * std::max(1.0, factor));
}

int64_t RankMachine::last_known() const {
  int64_t last = now_;
  for (const Queue& q : queues_) last = std::max(last, q.free);
  for (const Work& w : works_) {
    if (w.start < kNever) last = std::max(last, w.start);
    if (w.end != kPending && w.end < kNever) last = std::max(last, w.end);
  }
  return last;
}

void RankMachine::end_trail() {
  if (trail_ == nullptr || finished_) return;
  spend(blocked_, setting_.end_ns);
  trail_->ending = {.at = setting_.end_ns, .signal = 15};
}

}  // namespace dprof::synth
