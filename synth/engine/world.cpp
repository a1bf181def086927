// SPDX-License-Identifier: Apache-2.0
#include "synth/engine/world.h"

#include <algorithm>
#include <cmath>

#include "synth/random.h"

namespace dprof::synth {
namespace {

using schema::Function;

constexpr uint32_t kNone = UINT32_MAX;
constexpr int64_t kLocalNs = 2'000;  // a member that waits for no other

bool from_root(Function function) {
  return function == Function::kBroadcast || function == Function::kScatter;
}
bool to_root(Function function) {
  return function == Function::kReduce || function == Function::kGather;
}

}  // namespace

int Group::number_of(int rank) const {
  const auto found = std::ranges::lower_bound(members, rank);
  return found != members.end() && *found == rank ? static_cast<int>(found - members.begin()) : -1;
}

int64_t member_end(const WorldModel& model, const Instance& instance, uint32_t id, int rank,
                   int64_t start) {
  if (instance.end >= kNever) return kNever;
  const double fixed = uniform(key_of(model.seed, 11, rank));
  const double jitter = uniform(key_of(model.seed, 12, rank, id));
  const auto spread =
      std::llround(static_cast<double>(model.spread_ns) * (0.8 * fixed + 0.2 * jitter));
  int64_t end = instance.end;
  if (from_root(instance.function)) end = std::max(end, start + kLocalNs);
  if (to_root(instance.function) && rank != instance.root) end = start + kLocalNs;
  return end + spread;
}

World::World(const WorldModel& model) : model_(model), network_(model.links) {
  works_.resize(model.ranks.size());
  by_call_.resize(model.groups.size());
  asked_.resize(model.ranks.size(), INT64_MIN);
  for (const MachineSetting& setting : model.ranks) {
    machines_.push_back(std::make_unique<RankMachine>(setting, *model.programs, *this, nullptr));
  }
}

World::~World() = default;

void World::push(int64_t at, EventKind kind, uint32_t id, uint32_t version, uint64_t work) {
  events_.push({at, order_++, kind, id, version, work});
}

void World::run() {
  for (auto& machine : machines_) machine->advance();
  while (!events_.empty()) {
    const Event event = events_.top();
    events_.pop();
    now_ = event.at;
    switch (event.kind) {
      case EventKind::kReady:
        on_ready(event.id);
        break;
      case EventKind::kFinished: {
        const auto open = open_.find(event.id);
        if (open == open_.end() || !open->second.transfer) break;
        if (network_.version(*open->second.transfer) == event.version) on_finished(event.id);
        break;
      }
      case EventKind::kMember: {
        const auto rank = event.version;
        machines_[rank]->complete(event.work, event.at, instances_[event.id].last_start);
        break;
      }
      case EventKind::kWake:
        machines_[event.id]->wake();
        break;
    }
  }
}

bool World::has_reached(int rank, int64_t at) {
  if (now_ >= at) return true;
  int64_t& asked = asked_[static_cast<size_t>(rank)];
  if (asked == at) return false;
  asked = at;
  push(at, EventKind::kWake, static_cast<uint32_t>(rank));
  return false;
}

uint32_t World::instance_for(const Arrival& arrival) {
  const CollectiveCall& call = *arrival.call;
  std::vector<uint32_t>* slots = &by_call_[static_cast<size_t>(call.group)];
  auto slot = static_cast<size_t>(arrival.nth);
  if (is_message(call.function)) {
    const Group& group = model_.groups[static_cast<size_t>(call.group)];
    const int own = group.number_of(arrival.rank);
    const bool sends = call.function == Function::kSend;
    auto& [list, counts] =
        messages_[{call.group, sends ? own : call.peer, sends ? call.peer : own}];
    slots = &list;
    slot = counts[sends ? 0 : 1]++;
  }
  if (slots->size() <= slot) slots->resize(slot + 1, kNone);
  if ((*slots)[slot] == kNone) {
    const auto id = static_cast<uint32_t>(instances_.size());
    (*slots)[slot] = id;
    const Group& group = model_.groups[static_cast<size_t>(call.group)];
    const auto rank_of = [&](int number) {
      return number < 0 ? -1 : group.members[static_cast<size_t>(number)];
    };
    Instance made{.group = call.group,
                  .function = call.function,
                  .dtype = call.dtype,
                  .root = rank_of(call.root),
                  .bytes = call.bytes,
                  .sequence = arrival.sequence};
    if (is_message(call.function)) {
      const bool sends = call.function == Function::kSend;
      made.function = Function::kSend;
      made.root = sends ? arrival.rank : rank_of(call.peer);
      made.peer = sends ? rank_of(call.peer) : arrival.rank;
    }
    instances_.push_back(made);
    open_[id].call = call;
  }
  return (*slots)[slot];
}

void World::note_arrival(Instance& instance, const Arrival& arrival) {
  const CollectiveCall& call = *arrival.call;
  const bool message = is_message(call.function);
  ++instance.arrived;
  const bool same = message || (call.function == instance.function);
  if (!same || call.bytes != instance.bytes || call.dtype != instance.dtype)
    instance.mismatch = true;
  if (arrival.start < instance.first_start) {
    instance.first_start = arrival.start;
    instance.first_rank = arrival.rank;
  }
  const bool counts = !from_root(instance.function) || arrival.rank == instance.root;
  if (counts && (instance.last_rank < 0 || arrival.start > instance.last_start)) {
    instance.last_start = arrival.start;
    instance.last_rank = arrival.rank;
  }
}

Answer World::arrive(const Arrival& arrival) {
  const uint32_t id = instance_for(arrival);
  auto& works = works_[static_cast<size_t>(arrival.rank)];
  if (works.size() <= arrival.work) works.resize(arrival.work + 1, kNone);
  works[arrival.work] = id;
  Instance& instance = instances_[id];
  note_arrival(instance, arrival);
  const auto members =
      static_cast<int32_t>(is_message(instance.function)
                               ? 2
                               : model_.groups[static_cast<size_t>(instance.group)].members.size());
  Open& open = open_[id];
  const bool root = arrival.rank == instance.root;
  if (to_root(instance.function) && !root) {
    push(member_end(model_, {.function = instance.function, .end = 0}, id, arrival.rank,
                    arrival.start),
         EventKind::kMember, id, static_cast<uint32_t>(arrival.rank), arrival.work);
  } else if (from_root(instance.function) && instance.end < kNever) {
    push(member_end(model_, instance, id, arrival.rank, arrival.start), EventKind::kMember, id,
         static_cast<uint32_t>(arrival.rank), arrival.work);
  } else {
    open.waiting.push_back({arrival.rank, arrival.work, arrival.start});
  }
  const bool all = instance.arrived == members;
  const bool ready = from_root(instance.function) ? root : all;
  if (ready && !instance.mismatch && !open.ready) {
    open.ready = true;
    push(instance.last_start, EventKind::kReady, id);
  }
  if (all && instance.end < kNever) open_.erase(id);
  return {};
}

void World::on_ready(uint32_t id) {
  Instance& instance = instances_[id];
  Open& open = open_[id];
  TransferCost cost = model_.cost(instance, open.call);
  instance.begin = now_;
  if (cost.never) return;
  if (computation_beside(open)) cost.ns *= model_.programs->transfer_contention();
  const size_t transfer = network_.begin(std::move(cost.links), cost.ns, now_);
  open.transfer = transfer;
  if (instance_of_transfer_.size() <= transfer) instance_of_transfer_.resize(transfer + 1);
  instance_of_transfer_[transfer] = id;
  push_forecasts();
}

bool World::computation_beside(const Open& open) const {
  if (model_.programs->transfer_contention() <= 1) return false;
  const auto computing = std::ranges::count_if(open.waiting, [&](const Waiting& w) {
    return machines_[static_cast<size_t>(w.rank)]->computes_at(now_);
  });
  return computing > 0 && static_cast<size_t>(computing) * 2 >= open.waiting.size();
}

void World::push_forecasts() {
  for (const size_t transfer : network_.changed()) {
    push(std::max(now_, network_.forecast(transfer)), EventKind::kFinished,
         instance_of_transfer_[transfer], network_.version(transfer));
  }
}

void World::on_finished(uint32_t id) {
  Open& open = open_[id];
  network_.end(*open.transfer, now_);
  open.transfer.reset();
  push_forecasts();
  instances_[id].end = now_;
  const std::vector<Waiting> waiting = std::move(open.waiting);
  open.waiting.clear();
  for (const Waiting& w : waiting) {
    push(member_end(model_, instances_[id], id, w.rank, w.start), EventKind::kMember, id,
         static_cast<uint32_t>(w.rank), w.work);
  }
  const Instance& instance = instances_[id];
  const bool is_over =
      is_message(instance.function) ||
      instance.arrived ==
          static_cast<int32_t>(model_.groups[static_cast<size_t>(instance.group)].members.size());
  if (is_over) open_.erase(id);
}

std::vector<int> World::stuck() const {
  std::vector<int> ranks;
  for (size_t r = 0; r < machines_.size(); ++r) {
    if (!machines_[r]->finished()) ranks.push_back(static_cast<int>(r));
  }
  return ranks;
}

int64_t World::last_known() const {
  int64_t last = 0;
  for (const auto& machine : machines_) last = std::max(last, machine->last_known());
  return last;
}

std::vector<int64_t> World::step_ends() const {
  std::vector<int64_t> ends = machines_.front()->step_ends();
  for (const auto& machine : machines_) {
    const std::vector<int64_t>& own = machine->step_ends();
    ends.resize(std::min(ends.size(), own.size()));
    for (size_t s = 0; s < ends.size(); ++s) ends[s] = std::max(ends[s], own[s]);
  }
  return ends;
}

Answer Replay::arrive(const Arrival& arrival) {
  const std::vector<uint32_t>& works = world_.works()[static_cast<size_t>(rank_)];
  if (arrival.work >= works.size() || works[arrival.work] == kNone) return {.end = kNever};
  const uint32_t id = works[arrival.work];
  const Instance& instance = world_.instances()[id];
  const bool leaf = to_root(instance.function) && rank_ != instance.root;
  int64_t end = member_end(model_, instance, id, rank_, arrival.start);
  if (leaf)
    end = member_end(model_, {.function = instance.function, .end = 0}, id, rank_, arrival.start);
  return {.end = end,
          .last_start = instance.end < kNever ? instance.last_start : kNever,
          .instance = id};
}

}  // namespace dprof::synth
