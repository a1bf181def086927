// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/hang.h"

#include <algorithm>
#include <map>
#include <set>

namespace dprof::analyzer {
namespace {

constexpr int64_t kLongWaitSteps = 10;         // of the median step
constexpr int64_t kLongWaitNs = kNsPerSecond;  // where steps are short or unknown

bool was_killed(const TraceFile& trace) {
  return trace.ended == "process_killed" || trace.ended == "recovered" ||
         trace.exit_status.starts_with("signal:");
}

// Killed by the launcher because another rank had failed: a consequence, not a cause.
bool was_terminated(const TraceFile& trace) { return trace.exit_status == "signal:15"; }

class HangFinder {
 public:
  explicit HangFinder(const HangInput& input) : in_(input) {}

  std::optional<Hang> run() {
    const Instance* first = first_incomplete();
    if (first == nullptr) return std::nullopt;
    const Group& group = in_.matching.groups[first->group];
    Hang hang{.state = {},
              .culprits = {},
              .waiting = {},
              .communicator = group.name,
              .function = first->function,
              .sequence = first->sequence};
    std::vector<int> not_called;
    std::vector<int> no_data;
    for (const int rank : group.members) {
      const std::optional<size_t> digest = digest_of(rank);
      if (!digest) {
        no_data.push_back(rank);
        continue;
      }
      const CollectiveRecord* record = record_of(*first, *digest);
      if (record == nullptr) {
        not_called.push_back(rank);
      } else if (!record->end) {
        hang.waiting.push_back(rank);
        note_wait(*digest, *record);
      }
    }
    if (first->state == MatchState::kMismatch) {
      hang.state = "mismatch";
      hang.culprits = minority(*first);
      return hang;
    }
    if (std::optional<int> dead = first_dead(not_called, hang.waiting)) {
      hang.state = "dead";
      hang.culprits = {*dead};
      std::erase(hang.waiting, *dead);
      return hang;
    }
    if (!no_data.empty() && not_called.empty() && waited_long()) {
      hang.state = "dead";
      hang.culprits = no_data;
      return hang;
    }
    if (hang.waiting.empty() || !waited_long()) return std::nullopt;
    hang.state = "waiting";
    hang.culprits = not_called;
    return hang;
  }

 private:
  // The earliest collective that some member began and did not finish. A rank whose collectives are
  // all finished although others wait for it is found by what the others did.
  const Instance* first_incomplete() {
    const Instance* first = nullptr;
    for (const Instance& instance : in_.matching.instances) {
      const bool open = std::ranges::any_of(instance.members, [&](const Member& m) {
        const CollectiveRecord& r = in_.digests[m.digest].collectives[m.record];
        return !r.end && r.arrival();
      });
      if (open) {
        first = &instance;
        break;
      }
    }
    return first;
  }

  std::optional<size_t> digest_of(int rank) const {
    for (size_t d = 0; d < in_.digests.size(); ++d) {
      if (in_.digests[d].rank == rank) return d;
    }
    return std::nullopt;
  }

  const CollectiveRecord* record_of(const Instance& instance, size_t digest) const {
    for (const Member& member : instance.members) {
      if (member.digest == digest) return &in_.digests[digest].collectives[member.record];
    }
    return nullptr;
  }

  void note_wait(size_t digest, const CollectiveRecord& record) {
    longest_wait_ns_ =
        std::max(longest_wait_ns_, (in_.digests[digest].last_sign - *record.arrival()).ns);
  }

  [[nodiscard]] bool waited_long() const {
    const int64_t steps = kLongWaitSteps * in_.median_step_ns.value_or(0);
    return longest_wait_ns_ >= std::max(kLongWaitNs, steps);
  }

  // Of the ranks that were killed, the one that ended first, if others went on for longer than
  // ranks of one job do that are killed together.
  std::optional<int> first_dead(const std::vector<int>& not_called,
                                const std::vector<int>& waiting) const {
    std::vector<size_t> involved;
    for (const auto* ranks : {&not_called, &waiting}) {
      for (const int rank : *ranks) involved.push_back(*digest_of(rank));
    }
    std::vector<size_t> killed;
    for (const size_t d : involved) {
      if (was_killed(in_.traces[d]) && !was_terminated(in_.traces[d])) killed.push_back(d);
    }
    if (killed.empty() || involved.size() < 2) return std::nullopt;
    const auto last_of = [&](size_t d) { return in_.digests[d].span.end; };
    const size_t first = *std::ranges::min_element(killed, {}, last_of);
    const bool only_one = killed.size() == 1;
    const bool others_went_on =
        in_.aligned &&
        std::ranges::all_of(involved,
                            [&](size_t d) { return d == first || last_of(d) > last_of(first); }) &&
        std::ranges::count(not_called, in_.digests[first].rank) != 0;
    if (!only_one && !others_went_on) return std::nullopt;
    return in_.digests[first].rank;
  }

  // The ranks that do what fewer do; with a tie all of them.
  std::vector<int> minority(const Instance& instance) const {
    std::map<std::optional<int64_t>, std::vector<int>> by_bytes;
    for (const Member& member : instance.members) {
      const RankDigest& digest = in_.digests[member.digest];
      by_bytes[digest.collectives[member.record].bytes].push_back(digest.rank);
    }
    size_t fewest = SIZE_MAX;
    for (const auto& [bytes, ranks] : by_bytes) fewest = std::min(fewest, ranks.size());
    std::vector<int> odd;
    for (const auto& [bytes, ranks] : by_bytes) {
      if (ranks.size() == fewest) odd.insert(odd.end(), ranks.begin(), ranks.end());
    }
    std::ranges::sort(odd);
    return odd;
  }

  const HangInput& in_;
  int64_t longest_wait_ns_ = 0;
};

}  // namespace

std::optional<Hang> find_hang(const HangInput& input) { return HangFinder(input).run(); }

}  // namespace dprof::analyzer
