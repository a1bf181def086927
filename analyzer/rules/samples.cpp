// SPDX-License-Identifier: Apache-2.0
// Which samples the ranks read, from the hashes that the program announced (docs/payloads.md).
//
// Cost  O(batches · log batches).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analyzer/rules/families.h"
#include "analyzer/rules/support.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kFewestSampleBatches = 3;
constexpr double kSharedShare = 0.5;    // of a rank's batches
constexpr double kRepeatedShare = 0.9;  // of an epoch's places
constexpr int64_t kFewestAhead = 2;     // steps in different epochs

bool passes_messages(const RankDigest& digest) {
  return std::ranges::any_of(digest.collectives, [](const CollectiveRecord& record) {
    return record.function == schema::Function::kSend || record.function == schema::Function::kRecv;
  });
}

// The ranks with which a rank trains the same parameters: the communicator that reduces its
// gradient buckets, or the only one. "" = unknown: stages and tensor-parallel ranks rightly read
// the same samples.
std::string replicas_of(const RankDigest& digest) {
  if (passes_messages(digest)) return "";
  std::set<size_t> buckets;
  std::set<size_t> all;
  for (const CollectiveRecord& record : digest.collectives) {
    if (digest.communicators[record.communicator].size == 1) continue;
    all.insert(record.communicator);
    if (record.bucket) buckets.insert(record.communicator);
  }
  const std::set<size_t>& chosen = buckets.empty() ? all : buckets;
  if (chosen.size() != 1) return "";
  const CommunicatorInfo& info = digest.communicators[*chosen.begin()];
  return fmt::format("{:x}/{}", info.hash, info.ordinal);
}

struct Epoch {
  int64_t number = 0;
  std::vector<const BatchFact*> batches;  // with hashes
  bool complete = false;                  // another epoch follows

  [[nodiscard]] uint64_t sum() const {
    uint64_t sum = 0;
    for (const BatchFact* batch : batches) sum += static_cast<uint64_t>(*batch->hash);
    return sum;
  }
};

std::vector<Epoch> epochs_of(const RankDigest& digest) {
  std::vector<Epoch> epochs;
  for (const BatchFact& batch : digest.facts.batches) {
    if (!batch.hash || !batch.epoch) continue;
    if (epochs.empty() || epochs.back().number != *batch.epoch) {
      if (!epochs.empty()) epochs.back().complete = true;
      epochs.push_back({*batch.epoch, {}});
    }
    epochs.back().batches.push_back(&batch);
  }
  return epochs;
}

Evidence rows_of(int rank, const std::vector<const BatchFact*>& batches) {
  std::vector<int64_t> rows;
  for (const BatchFact* batch : batches) rows.push_back(batch->row);
  const BatchFact& last = *batches.back();
  return evidence(rank, "loader_event", std::move(rows),
                  {batches.front()->at, {last.at.ns + last.wait_ns.value_or(0)}});
}

// The share of a rank's samples that other ranks of its replicas read as well.
struct Shared {
  int rank = 0;
  double share = 0;    // of its batches
  double readers = 1;  // ranks that read such a batch, on average
  std::vector<const BatchFact*> shown;
};

class CommonBatches {
 public:
  explicit CommonBatches(std::span<const RankDigest> digests) : digests_(digests) {
    // Keys refer to these strings.
    for (const RankDigest& digest : digests) replicas_.push_back(replicas_of(digest));
    for (size_t d = 0; d < digests.size(); ++d) {
      epochs_.push_back(replicas_[d].empty() ? std::vector<Epoch>() : epochs_of(digests[d]));
      for (const Epoch& epoch : epochs_[d]) {
        for (const BatchFact* batch : epoch.batches)
          readers_[key(d, epoch, *batch->hash)].insert(d);
        if (epoch.complete && epoch.batches.size() >= kFewestSampleBatches)
          whole_[key(d, epoch, static_cast<int64_t>(epoch.sum()))].insert(d);
      }
    }
  }

  [[nodiscard]] Shared of(size_t d) const {
    Shared shared{.rank = digests_[d].rank, .shown = {}};
    int64_t all = 0;
    int64_t read_twice = 0;
    int64_t readers = 0;
    for (const Epoch& epoch : epochs_[d]) {
      const size_t whole = count(whole_, key(d, epoch, static_cast<int64_t>(epoch.sum())));
      for (const BatchFact* batch : epoch.batches) {
        const size_t same = count(readers_, key(d, epoch, *batch->hash));
        const size_t others = std::max(same, epoch.complete ? whole : 0);
        ++all;
        if (others < 2) continue;
        ++read_twice;
        readers += static_cast<int64_t>(others);
        shared.shown.push_back(batch);
      }
    }
    if (static_cast<size_t>(all) < kFewestSampleBatches || read_twice == 0) return shared;
    shared.share = static_cast<double>(read_twice) / static_cast<double>(all);
    shared.readers = static_cast<double>(readers) / static_cast<double>(read_twice);
    return shared;
  }

 private:
  using Key = std::tuple<std::string_view, int64_t, int64_t>;
  using Readers = std::map<Key, std::set<size_t>>;

  [[nodiscard]] Key key(size_t d, const Epoch& epoch, int64_t hash) const {
    return {replicas_[d], epoch.number, hash};
  }
  static size_t count(const Readers& readers, const Key& key) {
    const auto found = readers.find(key);
    return found == readers.end() ? 0 : found->second.size();
  }

  std::span<const RankDigest> digests_;
  std::vector<std::string> replicas_;
  std::vector<std::vector<Epoch>> epochs_;
  Readers readers_;  // of each batch
  Readers whole_;    // of each epoch as a whole, where hashes are sums
};

// Share of the common positions of two epochs at which they read the same batch.
double repeated(const Epoch& a, const Epoch& b) {
  const size_t places = std::min(a.batches.size(), b.batches.size());
  if (places < kFewestSampleBatches) return 0;
  size_t equal = 0;
  for (size_t i = 0; i < places; ++i) equal += a.batches[i]->hash == b.batches[i]->hash ? 1 : 0;
  return static_cast<double>(equal) / static_cast<double>(places);
}

// Whether a rank ended properly: after a finished step.
bool ended_between_steps(const RankDigest& digest) {
  if (digest.steps.empty() || digest.steps_begun != static_cast<int64_t>(digest.steps.size()))
    return false;
  // The launcher ends the remaining ranks by a signal, which is not evidence.
  const std::string& status = digest.facts.exit_status;
  if (status.starts_with("signal") && status != "signal:15") return false;
  bool any = false;
  for (const PhaseRange& phase : digest.phases) {
    if (phase.marker != schema::Marker::kOptimizer) continue;
    any = true;
    if (phase.span.begin >= digest.steps.back().window.begin) return true;
  }
  return !any || digest.step_source == schema::StepSource::kOptimizer;
}

// A collective of a common group in which a rank waited, and which the other never called.
std::optional<CollectiveRecord> waited_alone(const RankDigest& waiting, const RankDigest& gone,
                                             int64_t usual_ns) {
  std::map<std::pair<int64_t, schema::Function>, int64_t> called;  // highest number, by group
  for (const CollectiveRecord& record : gone.collectives) {
    const int64_t group = gone.communicators[record.communicator].hash;
    int64_t& highest = called.try_emplace({group, record.function}, -1).first->second;
    highest = std::max(highest, record.sequence);
  }
  for (size_t i = waiting.collectives.size(); i-- > 0;) {
    const CollectiveRecord& record = waiting.collectives[i];
    const int64_t group = waiting.communicators[record.communicator].hash;
    if (!is_synchronising(record.function) ||
        std::ranges::count(gone.communicators, group, &CommunicatorInfo::hash) == 0)
      continue;
    const auto theirs = called.find({group, record.function});
    if (theirs != called.end() && record.sequence <= theirs->second) return {};
    const std::optional<TraceNs> from = record.arrival();
    const bool long_wait = !record.end || (from && (*record.end - *from).ns > 3 * usual_ns);
    if (long_wait) return record;
  }
  return {};
}

int64_t usual_step(const RankDigest& digest) {
  std::vector<int64_t> lengths;
  for (const StepRecord& step : digest.steps) lengths.push_back(step.window.length().ns);
  return median_ns(std::move(lengths));
}

std::optional<Measured> shards_overlap(const RuleInput& input) {
  const CommonBatches common(input.digests);
  double wasted = 0;
  double readers = 0;
  Measured measured{.evidence = std::vector<Evidence>()};
  for (size_t d = 0; d < input.digests.size(); ++d) {
    const Shared shared = common.of(d);
    if (shared.share < kSharedShare) continue;
    measured.ranks.push_back(shared.rank);
    wasted = std::max(wasted, shared.share * (1 - 1 / shared.readers));
    readers = std::max(readers, shared.readers);
    if (measured.ranks.size() > kEvidenceRanks) continue;
    measured.evidence->push_back(rows_of(shared.rank, shared.shown));
    measured.decided_by.push_back(fmt::format("{} of rank {}'s batches were read by {} ranks",
                                              format_share(shared.share), shared.rank,
                                              number(shared.readers)));
  }
  if (measured.ranks.empty()) return {};
  if (median_step(input) > 0)
    measured.cost_ns = std::llround(wasted * static_cast<double>(median_step(input)));
  measured.figures = {{"readers", number(readers)}, {"times", number(1 / (1 - wasted))}};
  return measured;
}

std::optional<Measured> order_repeats(const RuleInput& input) {
  Measured measured{.evidence = std::vector<Evidence>()};
  size_t most_epochs = 0;
  for (const RankDigest& digest : input.digests) {
    const std::vector<Epoch> epochs = epochs_of(digest);
    size_t compared = 0;
    size_t same = 0;
    for (size_t e = 1; e < epochs.size(); ++e) {
      if (std::min(epochs[e].batches.size(), epochs[e - 1].batches.size()) < kFewestSampleBatches)
        continue;
      ++compared;
      same += repeated(epochs[e - 1], epochs[e]) >= kRepeatedShare ? 1 : 0;
    }
    if (!is_most(same, compared)) continue;
    measured.ranks.push_back(digest.rank);
    most_epochs = std::max(most_epochs, same + 1);
    if (measured.ranks.size() > kEvidenceRanks) continue;
    measured.evidence->push_back(rows_of(digest.rank, epochs.back().batches));
    measured.decided_by.push_back(fmt::format(
        "rank {}: {} of {} epochs read the same batches in the same order as the epoch before",
        digest.rank, same, compared));
  }
  if (measured.ranks.empty()) return {};
  measured.figures = {{"epochs", most_epochs}};
  return measured;
}

// The rank with most steps begins a further one, with a further batch, and waits in it for ranks
// that have finished theirs. Whether it still waited at the end, or gave up, is irrelevant.
std::optional<Measured> ended_early(const RuleInput& input) {
  const auto steps = [](const RankDigest& digest) { return digest.steps_begun; };
  if (input.digests.size() < 2) return {};
  const RankDigest& longest = *std::ranges::max_element(input.digests, {}, steps);
  Measured measured{.evidence = std::vector<Evidence>()};
  for (const RankDigest& gone : input.digests) {
    if (gone.steps_begun >= longest.steps_begun || gone.facts.batches.empty()) continue;
    if (gone.facts.batches.size() >= longest.facts.batches.size() || !ended_between_steps(gone))
      return {};
    // A rank that waits elsewhere did not run out of data: the ranks diverged.
    if (waited_alone(gone, longest, usual_step(gone))) return {};
    const std::optional<CollectiveRecord> waited = waited_alone(longest, gone, usual_step(gone));
    if (!waited) return {};
    measured.ranks.push_back(gone.rank);
    measured.decided_by.push_back(fmt::format(
        "rank {} took {} batches and finished its {} steps; rank {} took {} and waits for it in step {}, in {} #{}",
        gone.rank, gone.facts.batches.size(), gone.steps_begun, longest.rank,
        longest.facts.batches.size(), longest.steps_begun, word_of(waited->function),
        waited->sequence));
    measured.evidence->push_back(rows_of(gone.rank, {&gone.facts.batches.back()}));
    const TraceNs from = waited->arrival().value_or(TraceNs{});
    measured.evidence->push_back(
        evidence(longest.rank, "collective", {waited->row}, {from, waited->end.value_or(from)}));
  }
  if (measured.ranks.empty()) return {};
  measured.figures = {{"longest", longest.rank}};
  return measured;
}

constexpr Rule kEndedEarly = {
    .judged = {.cause = "input_imbalance", .confidence = 0.7, .severity = kCritical},
    .title = "{ranks} {runs|run} out of data before the others",
    .detail = "rank {longest} then waits in a collective that no other rank enters",
    .refuted_by = {"ranks with the same number of batches, one of which ended for another reason"}};

// Epoch of the last batch that a rank took in each of its steps.
std::map<int64_t, int64_t> epochs_by_step(const RankDigest& digest) {
  std::map<int64_t, int64_t> epochs;
  size_t step = 0;
  for (const BatchFact& batch : digest.facts.batches) {
    while (step < digest.steps.size() && digest.steps[step].window.end <= batch.at) ++step;
    if (step >= digest.steps.size()) break;
    if (batch.epoch && digest.steps[step].window.begin <= batch.at)
      epochs[digest.steps[step].index] = *batch.epoch;
  }
  return epochs;
}

// Several epochs: a rank with fewer batches is in the next epoch while the others finish theirs.
std::optional<Measured> epochs_apart(const RuleInput& input) {
  std::map<int64_t, std::pair<int64_t, int64_t>> range;  // of epochs, by step
  std::vector<std::map<int64_t, int64_t>> of_rank;
  for (const RankDigest& digest : input.digests) {
    of_rank.push_back(replicas_of(digest).empty() ? std::map<int64_t, int64_t>()
                                                  : epochs_by_step(digest));
    for (const auto& [step, epoch] : of_rank.back()) {
      const auto [known, is_new] = range.try_emplace(step, epoch, epoch);
      known->second.first = std::min(known->second.first, epoch);
      known->second.second = std::max(known->second.second, epoch);
    }
  }
  const auto apart =
      std::ranges::count_if(range, [](const auto& e) { return e.second.first < e.second.second; });
  if (apart < kFewestAhead) return {};
  Measured measured{.figures = {{"apart", apart}, {"steps", range.size()}},
                    .evidence = std::vector<Evidence>()};
  for (size_t d = 0; d < of_rank.size(); ++d) {
    const bool ahead = std::ranges::any_of(
        of_rank[d], [&](const auto& entry) { return entry.second > range.at(entry.first).first; });
    if (!ahead) continue;
    measured.ranks.push_back(input.digests[d].rank);
    if (measured.evidence->size() >= kEvidenceRanks) continue;
    std::vector<const BatchFact*> shown;
    for (const BatchFact& batch : input.digests[d].facts.batches) {
      if (batch.epoch.value_or(0) > 0 && shown.size() < kEvidenceRows) shown.push_back(&batch);
    }
    if (!shown.empty()) measured.evidence->push_back(rows_of(input.digests[d].rank, shown));
  }
  return measured;
}

constexpr Rule kEpochsApart = {
    .judged = {.cause = "input_imbalance", .confidence = 0.9, .severity = kWarn},
    .title = "{ranks} {is|are} ahead of the others by an epoch in {apart} of {steps} steps",
    .detail =
        "their shards have fewer batches: "
        "their samples are used more often, and at the end the others wait for them forever",
    .decided_by = {"ranks took batches of different epochs in {apart} steps"},
    .refuted_by = {"a program that numbers epochs differently on each rank"}};

}  // namespace

constexpr Rule kShardsOverlap = {
    .name = "input.shards-overlap",
    .ids = "M1",
    .finds = "ranks of one model read the same samples",
    .costs = "share of the steps that read another rank's samples",
    .guard =
        "sample hashes were not reported, ranks pass messages (stages of one pipeline), or hardly any hash agrees",
    .advice = "give each rank its own share of the data: DistributedSampler(num_replicas, rank)",
    .judged = {.cause = "dataloader", .confidence = 0.95, .severity = kCritical},
    .title = "{who} read the same samples: the data is not sharded",
    .detail =
        "{readers} ranks read each sample, so an epoch takes {times} times the steps it needs; "
        "the cost is the share of a step that repeats another rank's work",
    .refuted_by = {"reported hashes that are not of sample indices"},
    .measure = shards_overlap};

constexpr Rule kOrderRepeats = {
    .name = "input.order-repeats",
    .ids = "M2",
    .finds = "the samples come in the same order in consecutive epochs",
    .costs = "none in time: the model sees the same sequence again",
    .guard = "fewer than 3 batches per epoch, fewer than 2 epochs, or no sample hashes",
    .advice =
        "call sampler.set_epoch(epoch) at the start of each epoch; "
        "in C++ on the loader's own sampler, since make_data_loader copies it",
    .judged = {.cause = "dataloader", .confidence = 0.95, .severity = kWarn},
    .title = "{who} {reads|read} samples in the same order in {epochs} epochs",
    .detail = "the data is not reshuffled: this costs no time, but the model learns less",
    .refuted_by = {"an order that is fixed on purpose, as in validation"},
    .measure = order_repeats};

constexpr Rule kShardsUneven = {
    .name = "input.shards-uneven",
    .ids = "M4",
    .finds = "ranks have different numbers of batches: some end early, or run epochs ahead",
    .costs = "fatal if the others then wait forever",
    .guard = "the rank was killed, or ended within a step",
    .advice =
        "make the shards equal (drop_last=True, or a sampler that pads), or wrap the loop in DDP's join()",
    .detect = [](const RuleInput& input) {
      std::vector<Finding> early = found(input, kEndedEarly, ended_early(input));
      return early.empty() ? found(input, kEpochsApart, epochs_apart(input)) : early;
    }};
}  // namespace dprof::analyzer
