// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/outer.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analyzer/match/match.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kMuchLonger = 3;   // times the median
constexpr double kMostSteps = 0.5;  // have the usual collectives; else none are usual
constexpr size_t kFewestSteps = 5;  // to say what is usual
constexpr size_t kRanksAsked = 16;

enum class Named : uint8_t { kNothing, kValidation, kCheckpoint };

Named named_by(std::string_view name) {
  const auto holds = [&](std::string_view part) {
    const auto same = [](char a, char b) {
      return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
    };
    return std::search(name.begin(), name.end(), part.begin(), part.end(), same) != name.end();
  };
  if (holds("checkpoint") || holds("save")) return Named::kCheckpoint;
  if (holds("valid") || holds("eval")) return Named::kValidation;
  return Named::kNothing;
}

// Which steady step holds a moment of that rank.
std::optional<size_t> steady_at(const Steps& steps, size_t rank, TraceNs moment) {
  return holder_of(steps.steady(), moment,
                   [rank](const AlignedStep& step) { return step.windows[rank]; });
}

void see_names(const RankDigest& digest, const Steps& steps, std::vector<Named>& named) {
  std::map<int64_t, size_t> position;
  for (size_t s = 0; s < steps.steady().size(); ++s) position[steps.steady()[s].index] = s;
  for (const MarkedPhase& marked : digest.marked) {
    const Named what = named_by(marked.name);
    if (what == Named::kNothing) continue;
    for (const MarksInStep& marks : marked.in_steps) {
      if (marks.step >= digest.steps.size()) continue;
      const auto found = position.find(digest.steps[marks.step].index);
      if (found != position.end()) named[found->second] = std::max(named[found->second], what);
    }
  }
}

void see_checkpoints(const RankDigest& digest, const Steps& steps, size_t rank,
                     std::vector<bool>& checkpoint) {
  for (const PhaseRange& phase : digest.phases) {
    if (phase.marker != schema::Marker::kCheckpoint) continue;
    if (const auto step = steady_at(steps, rank, phase.span.begin)) checkpoint[*step] = true;
  }
}

// A number for each step's collectives: steps that did the same have the same. Order does not
// matter: calls of several threads come in any.
std::vector<uint64_t> contents_of(const RankDigest& digest, const Steps& steps, size_t rank) {
  std::vector<uint64_t> contents(steps.steady().size(), 0);
  const auto mixed = [](uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  };
  for (const CollectiveRecord& record : digest.collectives) {
    const auto at = record.arrival();
    const auto step = at ? steady_at(steps, rank, *at) : std::nullopt;
    if (!step) continue;
    uint64_t token = mixed(record.communicator + 1);
    token = mixed(token + static_cast<uint64_t>(record.function));
    token = mixed(token + static_cast<uint64_t>(record.bytes.value_or(-1)));
    contents[*step] += mixed(token + static_cast<uint64_t>(record.dtype));
  }
  return contents;
}

// Counts one more vote for each step in which this rank did other collectives than usual. False if
// it has no usual ones.
bool vote_by_contents(const std::vector<uint64_t>& contents, std::vector<size_t>& votes) {
  std::unordered_map<uint64_t, size_t> count;
  for (const uint64_t content : contents) ++count[content];
  const auto usual =
      std::ranges::max_element(count, {}, [](const auto& entry) { return entry.second; });
  if (static_cast<double>(usual->second) <= kMostSteps * static_cast<double>(contents.size()))
    return false;
  for (size_t s = 0; s < contents.size(); ++s) votes[s] += contents[s] == usual->first ? 0 : 1;
  return true;
}

}  // namespace

std::vector<std::string> outer_kinds(std::span<const RankDigest> digests, const Steps& steps) {
  const std::span<const AlignedStep> steady = steps.steady();
  std::vector<Named> named(steady.size(), Named::kNothing);
  std::vector<bool> checkpoint(steady.size(), false);
  std::vector<size_t> votes(steady.size(), 0);
  size_t voters = 0;
  for (size_t r = 0; r < steps.ranks.size(); ++r) {
    const RankDigest& digest = digests[steps.ranks[r]];
    see_names(digest, steps, named);
    see_checkpoints(digest, steps, r, checkpoint);
    const bool asked = voters < kRanksAsked && steady.size() >= kFewestSteps;
    if (asked && vote_by_contents(contents_of(digest, steps, r), votes)) ++voters;
  }
  std::vector<int64_t> lengths;
  for (const AlignedStep& step : steady) lengths.push_back(step.longest_ns);
  const double usual = static_cast<double>(median_ns(std::move(lengths)));
  std::vector<std::string> kinds(steady.size());
  for (size_t s = 0; s < steady.size(); ++s) {
    const bool other_contents = voters > 0 && 2 * votes[s] > voters;
    const bool longer = static_cast<double>(steady[s].longest_ns) > kMuchLonger * usual;
    if (checkpoint[s] || (longer && named[s] == Named::kCheckpoint)) {
      kinds[s] = "checkpoint";
    } else if ((longer || other_contents) && named[s] == Named::kValidation) {
      kinds[s] = "validation";
    } else if (other_contents) {
      kinds[s] = named[s] == Named::kCheckpoint ? "checkpoint" : "other";
    }
  }
  return kinds;
}

}  // namespace dprof::analyzer
