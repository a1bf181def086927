// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <tuple>

#include "analyzer/match/match.h"
#include "base/in_threads.h"

namespace dprof::analyzer {
namespace {

// The most frequent value; among several the smallest.
std::optional<int64_t> usual(std::vector<int64_t>& values) {
  std::optional<int64_t> found;
  std::ranges::sort(values);
  size_t most = 0;
  for (size_t i = 0; i < values.size();) {
    size_t end = i;
    while (end < values.size() && values[end] == values[i]) ++end;
    if (end - i > most) found = values[i];
    most = std::max(most, end - i);
    i = end;
  }
  return found;
}

// A collective's place in its step: the same in each step of a training.
using Place = std::tuple<size_t, schema::Function, std::optional<int64_t>, int64_t>;

}  // namespace

void attach_steps(Matching& matching, std::span<const RankDigest> digests) {
  for_each_in_threads(matching.instances.size(), [&](size_t i) {
    Instance& instance = matching.instances[i];
    std::vector<int64_t> steps;
    std::vector<int64_t> buckets;
    for (const Member& member : instance.members) {
      const RankDigest& digest = digests[member.digest];
      const CollectiveRecord& record = digest.collectives[member.record];
      if (record.bucket) buckets.push_back(*record.bucket);
      if (!record.arrival()) continue;
      const auto step = holder_of(digest.steps, *record.arrival(), &StepRecord::window);
      if (step) steps.push_back(digest.steps[*step].index);
    }
    instance.step = usual(steps);
    instance.bucket = usual(buckets);
  });
  // By order within the step, if the same place has a bucket in other steps.
  std::vector<size_t> order(matching.instances.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](size_t i) {
    return std::tuple(matching.instances[i].group, matching.instances[i].position);
  });
  std::map<Place, std::vector<int64_t>> known;
  const auto for_each_place = [&](const auto& visit) {
    std::map<Place, int64_t> count;
    std::optional<std::pair<uint32_t, int64_t>> current;
    for (const size_t i : order) {
      Instance& one = matching.instances[i];
      if (!one.step) continue;
      if (current != std::pair(one.group, *one.step)) count.clear();
      current = std::pair(one.group, *one.step);
      const int64_t nth = count[{one.group, one.function, one.bytes, 0}]++;
      visit(one, Place{one.group, one.function, one.bytes, nth});
    }
  };
  for_each_place([&](Instance& one, const Place& place) {
    if (one.bucket) known[place].push_back(*one.bucket);
  });
  for_each_place([&](Instance& one, const Place& place) {
    const auto found = known.find(place);
    if (one.bucket || found == known.end()) return;
    if (std::ranges::adjacent_find(found->second, std::ranges::not_equal_to()) ==
        found->second.end())
      one.bucket = found->second.front();
  });
}

}  // namespace dprof::analyzer
