// SPDX-License-Identifier: Apache-2.0
// For tests of rules about communication: a RuleRun whose steps have phases and matched
// collectives. Each step of 100 ms: forward until 40, backward until 90, optimizer until 99.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "analyzer/rules/test_support/rule_run.h"

namespace dprof::analyzer {

class CommRun : public RuleRun {
 public:
  explicit CommRun(int ranks, int backwards = 1) : RuleRun(ranks) {
    matching.emplace();
    Group group;
    group.name = "default_pg";
    for (int r = 0; r < ranks; ++r) {
      group.members.push_back(r);
      rank(r).communicators[0].backend = schema::Backend::kGloo;
      RankDigest& digest = rank(r);
      digest.collectives = {};
      digest.phases.clear();
      digest.autograd = {{{0}, {1}}};
      for (const StepRecord& step : digest.steps) phases_of(digest, step, backwards);
      traces.push_back({.rank = r, .ended = "complete", .exit_status = "exit:0"});
      traces.back().detail = "standard";
    }
    matching->groups.push_back(group);
    report.collectives.emplace();
  }

  struct What {
    schema::Function function = schema::Function::kAllReduce;
    int64_t bytes = 1 << 20;
    double at_ms = 85;  // within the step
    int64_t transfer_ns = kNsPerMs;
    int64_t wait_ns = 0;
    std::optional<int64_t> bucket = {};
    schema::DataType dtype = schema::DataType::kFloat32;
    int every = 1;                // in each such step
    std::vector<int> ranks = {};  // of a separate communicator; empty: all, in default_pg
  };

  // In each step, fully exposed.
  void collective(const What& what) {
    const size_t group = group_of(what.ranks);
    const std::vector<int> members = matching->groups[group].members;
    int64_t n = 0;
    for (int64_t s = 0; s < kSteps; ++s) {
      if (s % what.every != 0) continue;
      Instance instance = instance_of(what, s);
      instance.group = static_cast<uint32_t>(group);
      for (const int rank : members) add_member(instance, static_cast<size_t>(rank), what, s);
      matching->instances.push_back(std::move(instance));
      if (s >= kSteps - kSteady) ++n;
    }
    const auto ranks = static_cast<int64_t>(members.size());
    report.overlap->per_collective.push_back({.communicator = matching->groups[group].name,
                                              .function = what.function,
                                              .bytes = what.bytes,
                                              .n = n * ranks,
                                              .exposed_wait_ns = n * ranks * what.wait_ns,
                                              .exposed_transfer_ns = n * ranks * what.transfer_ns});
    for (const int member : members) {
      RankOverlap& rank = report.overlap->per_rank[static_cast<size_t>(member)];
      rank.communication_ns += n * (what.transfer_ns + what.wait_ns);
      rank.exposed_wait_ns += n * what.wait_ns;
      rank.exposed_transfer_ns += n * what.transfer_ns;
    }
    CollectiveSummary summary;
    summary.communicator = matching->groups[group].name;
    summary.group = static_cast<int64_t>(group);
    summary.function = what.function;
    summary.bytes = what.bytes;
    summary.n = kSteps;
    summary.transfer_ns = what.transfer_ns;
    summary.wait_ns = what.wait_ns;
    summary.per_step = 1;
    report.collectives->push_back(summary);
  }

  // A message in each step.
  void message(int from, int to, int64_t bytes = 1 << 20) {
    for (int64_t s = 0; s < kSteps; ++s) {
      Message message;
      message.from = from;
      message.to = to;
      message.bytes = bytes;
      matching->messages.push_back(message);
      add_record(from, schema::Function::kSend, s, bytes);
      add_record(to, schema::Function::kRecv, s, bytes);
    }
  }

  void wait_all(int64_t ns) {
    for (RankOverlap& rank : report.overlap->per_rank) rank.exposed_wait_ns += kSteady * ns;
  }

  void without_phase(int r, schema::Marker marker) {
    std::erase_if(rank(r).phases, [&](const PhaseRange& p) { return p.marker == marker; });
  }

  CollectiveSummary& summary() { return report.collectives->back(); }

 private:
  size_t group_of(const std::vector<int>& ranks) {
    if (ranks.empty()) return 0;
    const auto known = std::ranges::find(matching->groups, ranks, &Group::members);
    if (known != matching->groups.end())
      return static_cast<size_t>(known - matching->groups.begin());
    Group group;
    group.name = "tensor";
    group.members = ranks;
    matching->groups.push_back(group);
    return matching->groups.size() - 1;
  }

  static void phases_of(RankDigest& digest, const StepRecord& step, int backwards) {
    const auto add = [&](double from_ms, double to_ms, schema::Marker marker) {
      digest.phases.push_back({{at(step, from_ms), at(step, to_ms)},
                               marker,
                               static_cast<int64_t>(digest.phases.size()) + 1});
    };
    const double each = 90.0 / backwards;
    for (int b = 0; b < backwards; ++b) {
      add(b * each, b * each + each * 4 / 9, schema::Marker::kForward);
      add(b * each + each * 4 / 9, (b + 1) * each, schema::Marker::kBackward);
    }
    add(91, 99, schema::Marker::kOptimizer);
  }

  static TraceNs at(const StepRecord& step, double ms) {
    return {step.window.begin.ns + static_cast<int64_t>(ms * static_cast<double>(kNsPerMs))};
  }

  static Instance instance_of(const What& what, int64_t step) {
    Instance instance;
    instance.function = what.function;
    instance.bytes = what.bytes;
    instance.comparable = true;
    instance.transfer_ns = what.transfer_ns;
    instance.step = step;
    instance.bucket = what.bucket;
    return instance;
  }

  void add_member(Instance& instance, size_t d, const What& what, int64_t s) {
    RankDigest& digest = digests[d];
    CollectiveRecord record;
    record.row = static_cast<int64_t>(digest.collectives.size()) + 1;
    record.function = what.function;
    record.bytes = what.bytes;
    record.bucket = what.bucket;
    record.dtype = what.dtype;
    record.enqueue = at(digest.steps[static_cast<size_t>(s)], what.at_ms);
    record.start = record.enqueue;
    record.end = TraceNs{record.start->ns + what.transfer_ns + what.wait_ns};
    instance.members.push_back(
        {static_cast<uint32_t>(d), static_cast<uint32_t>(digest.collectives.size()), what.wait_ns});
    digest.collectives.push_back(record);
  }

  void add_record(int r, schema::Function function, int64_t s, int64_t bytes) {
    CollectiveRecord record;
    record.row = static_cast<int64_t>(rank(r).collectives.size()) + 1;
    record.function = function;
    record.bytes = bytes;
    record.enqueue = at(rank(r).steps[static_cast<size_t>(s)], 50);
    rank(r).collectives.push_back(record);
  }
};

}  // namespace dprof::analyzer
