// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "schema/function.h"

namespace dprof::analyzer {
namespace {

using schema::Function;
using schema::is_message;
using schema::Marker;

// Consecutive operations can overlap by this much in the table.
constexpr int64_t kTouching = 500'000;

// Recorded data of a task while the graph is built.
struct Recorded {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

struct Computation {
  TaskId task = 0;
  Marker marker{};
  Interval span;
};

// One rank's part of a communication.
struct Part {
  size_t record = 0;  // position in its collectives
  TaskId task = 0;
  TaskId hub = 0;
  bool downstream = false;  // messages: towards the last stage
};

// One rank's step.
struct RankStep {
  std::vector<Computation> computations;
  std::vector<Part> parts;  // by begin
};

class OperationBuilder {
 public:
  OperationBuilder(std::span<const RankDigest> digests, const Steps& steps,
                   const Matching& matching)
      : digests_(digests), steps_(steps), matching_(matching) {}

  std::optional<OperationRun> run() {
    if (std::optional<Pipelines> pipelines = pipelines_of(digests_, steps_, matching_)) {
      run_.pipelines = *std::move(pipelines);
    } else {
      run_.pipelines.of.resize(steps_.ranks.size());
      for (size_t r = 0; r < run_.pipelines.of.size(); ++r) run_.pipelines.of[r].replica = r;
      run_.pipelines.replicas = run_.pipelines.of.size();
    }
    entry_of_.assign(digests_.size(), kNobody);
    for (size_t r = 0; r < steps_.ranks.size(); ++r) entry_of_[steps_.ranks[r]] = r;
    for (size_t s = steps_.first_steady; s <= steps_.last_steady; ++s) add_step(s);
    if (run_.tasks.empty()) return std::nullopt;
    const auto now = run_.graph.settle();
    if (!now) return std::nullopt;
    for (ReplayedStep& step : run_.steps) {
      for (TaskId& task : step.last) task = (*now)[task];
    }
    for (OperationTask& one : run_.tasks) one.task = (*now)[one.task];
    return std::move(run_);
  }

 private:
  TaskId add_task(int64_t duration_ns, Interval recorded) {
    const TaskId task = run_.graph.add({.duration_ns = duration_ns});
    recorded_.push_back({recorded.begin.ns, recorded.end.ns});
    latest_before_.push_back(Task::kNoRelease);
    return task;
  }

  void after(TaskId task, TaskId before) {
    run_.graph.after(task, before);
    latest_before_[task] = std::max(latest_before_[task], recorded_[before].end_ns);
  }

  uint32_t kind(OperationKind kind) {
    const auto [entry, is_new] = kind_of_.try_emplace(kind.name, run_.kinds.size());
    if (is_new) run_.kinds.push_back(std::move(kind));
    return static_cast<uint32_t>(entry->second);
  }

  void list(TaskId task, size_t entry, uint32_t kind, int64_t row) {
    run_.tasks.push_back(
        {task, static_cast<uint32_t>(entry), static_cast<uint32_t>(run_.steps.size()), kind, row});
  }

  void add_step(size_t s) {
    const AlignedStep& step = steps_.steps[s];
    TraceNs begin{INT64_MAX};
    TraceNs end{INT64_MIN};
    for (const Interval& window : step.windows) {
      begin = std::min(begin, window.begin);
      end = std::max(end, window.end);
    }
    const auto first = static_cast<TaskId>(run_.graph.size());
    std::vector<RankStep> ranks(steps_.ranks.size());
    for (size_t r = 0; r < ranks.size(); ++r) add_computations(ranks[r], r, step.windows[r]);
    hubs_.clear();
    for (size_t r = 0; r < ranks.size(); ++r) add_parts(ranks[r], r, step.windows[r]);
    for (size_t r = 0; r < ranks.size(); ++r) connect(ranks[r], r);
    settle_lags(first, begin.ns);
    ReplayedStep replayed{
        .step = s, .begin_ns = begin.ns, .recorded_ns = (end - begin).ns, .last = {}};
    // A step is over when all its computations and communications are.
    for (const RankStep& rank : ranks) {
      for (const Computation& one : rank.computations) replayed.last.push_back(one.task);
      for (const Part& part : rank.parts) replayed.last.push_back(part.task);
    }
    run_.steps.push_back(std::move(replayed));
  }

  void add_computations(RankStep& rank, size_t entry, Interval window) {
    const std::vector<PhaseRange>& phases = digests_[steps_.ranks[entry]].phases;
    auto next = std::ranges::lower_bound(phases, window.begin, {},
                                         [](const PhaseRange& p) { return p.span.begin; });
    for (; next != phases.end() && next->span.begin < window.end; ++next) {
      if (next->marker == Marker::kNone || next->marker == Marker::kStep) continue;
      const TaskId task = add_task(next->span.length().ns, next->span);
      list(task, entry, kind({std::string(phase_name(next->marker)), true, next->marker}),
           next->row);
      if (!rank.computations.empty()) after(task, rank.computations.back().task);
      rank.computations.push_back({task, next->marker, next->span});
    }
  }

  // The hub of a communication: all its parts in the graph lead to it.
  TaskId hub_of(bool message, size_t number) {
    const auto [entry, is_new] = hubs_.try_emplace({message, number}, TaskId{0});
    if (!is_new) return entry->second;
    int64_t begin = Task::kNoRelease;
    const auto see = [&](const Member& member) {
      const CollectiveRecord& record = digests_[member.digest].collectives[member.record];
      if (record.start) begin = std::max(begin, record.start->ns);
    };
    if (message) {
      const Message& one = matching_.messages[number];
      if (one.send) see(*one.send);
      if (one.receive) see(*one.receive);
    } else {
      std::ranges::for_each(matching_.instances[number].members, see);
    }
    entry->second = add_task(0, {{begin}, {begin}});
    return entry->second;
  }

  void add_parts(RankStep& rank, size_t entry, Interval window) {
    const size_t d = steps_.ranks[entry];
    const RankDigest& digest = digests_[d];
    // In order of their begin, since an operation table has no calls.
    const auto first = std::ranges::lower_bound(
        digest.collectives, window.begin, {},
        [](const CollectiveRecord& c) { return c.arrival().value_or(TraceNs{INT64_MAX}); });
    for (auto i = static_cast<size_t>(first - digest.collectives.begin());
         i < digest.collectives.size(); ++i) {
      const CollectiveRecord& record = digest.collectives[i];
      if (!record.start || *record.start >= window.end) break;
      if (!record.end || *record.start < window.begin) continue;
      const bool message = is_message(record.function);
      const size_t number = message ? matching_.message_at(d, i) : matching_.instance_of[d][i];
      if (number == kNoInstance) continue;
      const TaskId hub = hub_of(message, number);
      const int64_t began = recorded_[hub].begin_ns;
      const TaskId task =
          add_task(std::max<int64_t>(0, record.end->ns - began), {{began}, *record.end});
      after(task, hub);
      const bool down = message && goes_downstream(matching_.messages[number]);
      list(task, entry, kind({kind_name(digest, record, down), false, {}}), record.row);
      rank.parts.push_back({i, task, hub, down});
    }
    std::ranges::stable_sort(
        rank.parts, {}, [&](const Part& part) { return *digest.collectives[part.record].start; });
  }

  [[nodiscard]] bool goes_downstream(const Message& message) const {
    if (!message.send || !message.receive) return false;
    const size_t from = entry_of_[message.send->digest];
    const size_t to = entry_of_[message.receive->digest];
    if (from == kNobody || to == kNobody) return false;
    return run_.pipelines.of[from].stage < run_.pipelines.of[to].stage;
  }

  static std::string kind_name(const RankDigest& digest, const CollectiveRecord& record,
                               bool downstream) {
    const std::string_view word = schema::word_of(record.function);
    if (is_message(record.function))
      return fmt::format("{} {}", word, downstream ? "downstream" : "upstream");
    return fmt::format("{} {}", word, digest.communicators[record.communicator].name);
  }

  void connect(const RankStep& rank, size_t entry) {
    const RankDigest& digest = digests_[steps_.ranks[entry]];
    std::vector<const Computation*> forwards;
    std::vector<const Computation*> backwards;
    for (const Computation& one : rank.computations) {
      if (one.marker == Marker::kForward) forwards.push_back(&one);
      if (one.marker == Marker::kBackward) backwards.push_back(&one);
    }
    std::map<std::pair<Function, bool>, std::vector<const Part*>> messages;
    const Part* former = nullptr;  // collective
    for (const Part& part : rank.parts) {
      const CollectiveRecord& record = digest.collectives[part.record];
      if (is_message(record.function)) {
        messages[{record.function, part.downstream}].push_back(&part);
        continue;
      }
      if (former != nullptr) after(part.hub, former->task);
      connect_collective(part, record, rank.computations);
      former = &part;
    }
    for (const auto& [lane, parts] : messages) {
      const auto& [function, downstream] = lane;
      connect_messages(parts, function == Function::kSend, downstream ? forwards : backwards);
    }
  }

  void connect_messages(const std::vector<const Part*>& parts, bool sends,
                        const std::vector<const Computation*>& computations) {
    for (size_t k = 0; k < parts.size(); ++k) {
      if (k > 0) after(parts[k]->hub, parts[k - 1]->task);
      if (k >= computations.size()) continue;
      if (sends) {
        after(parts[k]->hub, computations[k]->task);
      } else {
        after(computations[k]->task, parts[k]->task);
        if (k > 0) after(parts[k]->hub, computations[k - 1]->task);
      }
    }
  }

  void connect_collective(const Part& part, const CollectiveRecord& record,
                          const std::vector<Computation>& computations) {
    const Computation* before = nullptr;
    bool forward_seen = false;
    bool optimizer_seen = false;
    for (const Computation& one : computations) {
      if (one.span.end.ns <= record.start->ns + kTouching) before = &one;
      bool* seen = one.marker == Marker::kForward     ? &forward_seen
                   : one.marker == Marker::kOptimizer ? &optimizer_seen
                                                      : nullptr;
      if (seen == nullptr || *seen) continue;
      *seen = true;
      if (one.span.begin.ns + kTouching >= record.end->ns) after(one.task, part.task);
    }
    if (before != nullptr) after(part.hub, before->task);
  }

  // Tasks that begin with the step are released by it.
  void settle_lags(TaskId first, int64_t step_begin_ns) {
    for (TaskId task = first; task < run_.graph.size(); ++task) {
      Task& one = run_.graph[task];
      one.release_ns = step_begin_ns;
      const int64_t ready = std::max(step_begin_ns, latest_before_[task]);
      one.lag_ns = std::max<int64_t>(0, recorded_[task].begin_ns - ready);
    }
  }

  std::span<const RankDigest> digests_;
  const Steps& steps_;
  const Matching& matching_;
  OperationRun run_;
  std::vector<Recorded> recorded_;      // by task
  std::vector<int64_t> latest_before_;  // by task: the latest recorded end of its predecessors
  std::vector<size_t> entry_of_;        // by digest
  std::map<std::string, size_t> kind_of_;
  std::map<std::pair<bool, size_t>, TaskId> hubs_;  // of a step, by message or not, and number
};

}  // namespace

std::optional<OperationRun> operations_of(std::span<const RankDigest> digests, const Steps& steps,
                                          const Matching& matching) {
  return OperationBuilder(digests, steps, matching).run();
}

}  // namespace dprof::analyzer
