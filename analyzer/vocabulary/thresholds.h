// SPDX-License-Identifier: Apache-2.0
// Every threshold that decides which ranks and links are suspected, named and given a cause, with
// its unit, reason and source. docs/analysis/thresholds.md lists them with the scoreboard's
// precision and recall when each is 30 % lower or higher.
#pragma once

#include <cstddef>
#include <string_view>

namespace dprof::analyzer {

// Registered by name so that the scoreboard can vary it. An analysis only reads it.
//
// Threading  reads from any thread; set() only while no other thread runs.
class AnyThreshold {
 public:
  AnyThreshold(std::string_view name, double value, std::string_view unit, std::string_view why,
               std::string_view source) noexcept
      : name(name),
        unit(unit),
        why(why),
        source(source),
        usual(value),
        value_(value),
        next_(newest) {
    newest = this;
  }
  AnyThreshold(const AnyThreshold&) = delete;
  AnyThreshold& operator=(const AnyThreshold&) = delete;

  // Linked list of all thresholds, the most recently constructed first.
  [[nodiscard]] static const AnyThreshold* first() noexcept { return newest; }
  [[nodiscard]] const AnyThreshold* next() const noexcept { return next_; }
  [[nodiscard]] virtual double varied(double factor) const noexcept { return usual * factor; }
  void set(double value) const noexcept { value_ = value; }

  const std::string_view name;
  const std::string_view unit;
  const std::string_view why;
  const std::string_view source;
  const double usual;

 protected:
  ~AnyThreshold() = default;
  [[nodiscard]] double value() const noexcept { return value_; }

 private:
  mutable double value_;
  const AnyThreshold* next_;
  inline static const AnyThreshold* newest = nullptr;
};

class Threshold final : public AnyThreshold {
 public:
  using AnyThreshold::AnyThreshold;
  // NOLINTNEXTLINE(google-explicit-constructor): it stands for a number
  operator double() const noexcept { return value(); }
};

// A ratio near 1: its distance from 1 is varied.
class Ratio1 final : public AnyThreshold {
 public:
  using AnyThreshold::AnyThreshold;
  [[nodiscard]] double varied(double factor) const noexcept override {
    return 1 + (usual - 1) * factor;
  }
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator double() const noexcept { return value(); }
};

// A count: varied by at least 1.
class CountThreshold final : public AnyThreshold {
 public:
  using AnyThreshold::AnyThreshold;
  [[nodiscard]] double varied(double factor) const noexcept override {
    const double exact = usual * factor;
    return factor < 1 ? static_cast<double>(static_cast<size_t>(exact))
                      : static_cast<double>(static_cast<size_t>(exact + 0.999));
  }
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator size_t() const noexcept { return static_cast<size_t>(value()); }
};

namespace limit {
inline const Threshold kNamed{"kNamed", 0.03, "of the median step",
                              "cost from which a culprit is named, or several together, and "
                              "lead of the last rank from which ranks take turns",
                              "relevance: less is not worth a change"};
inline const Threshold kNamedOfTwo{
    "kNamedOfTwo", 0.05, "of the median step",
    "the same where there is one peer only: no third one shows which difference is usual",
    "chosen: above kNamed"};
inline const Threshold kInfoShare{"kInfoShare", 0.01, "of the median step",
                                  "cost from which a suspect is a finding of severity info",
                                  "relevance"};
inline const Threshold kLeastExcess{"kLeastExcess", 0.015, "of the median step",
                                    "typical excess from which a step, or a rank, is flagged",
                                    "relevance: half of what is named"};
inline const Threshold kLeastScale{
    "kLeastScale", 0.003, "of the median step",
    "spread from rank to rank, at least: differences below it are nothing", "chosen"};
inline const Threshold kPrior{
    "kPrior", 0.01, "of the time",
    "spread of computation that healthy machines of one kind have, at least: few peers can be alike by luck",
    "chosen"};
inline const Threshold kHostPrior{"kHostPrior", 0.1, "of the time",
                                  "the same of what the host does", "chosen"};
inline const Threshold kCrowd{"kCrowd", 0.5, "of the share of time in a run queue",
                              "more spread where ranks share cores", "chosen"};
inline const Threshold kZ{
    "kZ", 4, "robust standard deviations", "of a rank among its peers, to stand out",
    "statistics: 6e-5 of a normal distribution, for some ten views of a rank"};
inline const Threshold kZStep{"kZStep", 0.5, "robust standard deviations",
                              "more beyond 64 and beyond 1024 ranks",
                              "statistics: the largest of n"};
inline const Threshold kSpikeSigmas{"kSpikeSigmas", 6, "robust standard deviations",
                                    "of all ranks' excess, for a step to be a spike",
                                    "statistics: none in 1e8 steps of a normal distribution"};
inline const Threshold kSpikeShare{"kSpikeShare", 0.05, "of the median step",
                                   "and a spike's size at least", "relevance"};
inline const Threshold kEvidentShare{"kEvidentShare", 0.02, "of the median step",
                                     "the same where a range says what it was", "relevance"};
inline const Threshold kGreatShare{
    "kGreatShare", 0.5, "of the median step",
    "of two ranks, spikes that are no hiccups of a busy machine, if they are alike", "chosen"};
inline const Threshold kPersistentShare{"kPersistentShare", 0.6, "of the steps",
                                        "in which a lasting delay shows",
                                        "definition: clearly more than half"};
inline const CountThreshold kWindows{"kWindows", 5, "parts of the run",
                                     "of which most have to show a lasting delay by themselves",
                                     "definition"};
inline const CountThreshold kLeastWindows{"kLeastWindows", 3, "of these parts", "that show it",
                                          "definition: more than half"};
inline const Threshold kLeastZ{"kLeastZ", 4, "times its own error",
                               "of a typical excess, each fifth step an observation",
                               "statistics: as kZ"};
inline const CountThreshold kLeastBefore{"kLeastBefore", 3, "steps", "before an onset, at least",
                                         "definition"};
inline const CountThreshold kLeastAfter{"kLeastAfter", 8, "steps", "after an onset, at least",
                                        "definition"};
inline const Threshold kQuietBefore{"kQuietBefore", 0.3, "of the excess after it",
                                    "that may be there before an onset", "definition: hardly any"};
inline const Threshold kTransientShare{"kTransientShare", 0.1, "of the steps",
                                       "spikes in more of them are neither rare nor regular",
                                       "definition of transient"};
inline const CountThreshold kLeastSpikes{"kLeastSpikes", 4, "spikes",
                                         "of a rank; fewer have no rate", "statistics"};
inline const CountThreshold kFewestAlike{"kFewestAlike", 3, "spikes",
                                         "of a rank, all of one size, while no other rank has any",
                                         "statistics: two could be a coincidence"};
inline const Threshold kRival{"kRival", 0.25, "of a rank's typical spike",
                              "spikes of others from that size on are rivals", "definition"};
inline const Threshold kAlike{"kAlike", 0.15, "of the median size",
                              "spread of spikes of one origin", "chosen"};
inline const Threshold kChance{
    "kChance", 0.005, "probability",
    "that spikes of unequal size are one rank's by luck, or those of a tail alike", "statistics"};
inline const Threshold kChanceOfAlike{
    "kChanceOfAlike", 0.05, "probability",
    "that few spikes of one size are one rank's by luck, while no other rank has any",
    "statistics: 5 %; that rank did delay these steps in any case"};
inline const Threshold kSameInterval{"kSameInterval", 0.8, "of the spikes' distances",
                                     "that are one distance, for a periodic delay", "definition"};
inline const Threshold kRotatingEntropy{
    "kRotatingEntropy", 0.7, "of an even deal's",
    "entropy of turns; less, and only some of the ranks take turns",
    "definition; an even deal of so few turns has less, which is computed"};
inline const Threshold kFavoured{
    "kFavoured", 3, "times its share",
    "of the turns: a rank with more is one in particular, if chance hardly gives it that",
    "definition"};
inline const Threshold kMostOfFew{"kMostOfFew", 0.6, "of all turns", "the same of few ranks",
                                  "definition"};
inline const Threshold kByLuck{
    "kByLuck", 0.0001, "probability",
    "that chance gives one rank so many turns, or unrelated ranks turns at all", "statistics"};
inline const Threshold kOneInEach{"kOneInEach", 0.37, "of the steps",
                                  "that have just one of unrelated pauses, at most",
                                  "statistics: x exp(-x) has its maximum 1/e at 1"};
inline const Threshold kOwnLoss{
    "kOwnLoss", 0.01, "of a rank's time",
    "that its pauses take on average, where pauses of all ranks are unrelated",
    "relevance: as kInfoShare"};
inline const Threshold kSizeWidth{
    "kSizeWidth", 0.375, "of the median pause",
    "width of the intervals around it, and below it, in which pauses of one size are counted",
    "experiment: of 15,000 runs with heavy-tailed noise, 20 had pauses of one size without this test, none with it"};
inline const Threshold kSameSize{"kSameSize", 0.25, "of the median lead",
                                 "leads as near to it are alike", "definition"};
inline const Threshold kSameByChance{
    "kSameByChance", 0.23, "of the leads", "that are so near to their median by chance, at most",
    "statistics: 0.17 to 0.23 in simulations of 2 to 16 ranks, of normal, uniform, exponential and heavy-tailed noise"};
inline const Threshold kRelativeOfTwo{
    "kRelativeOfTwo", 0.15, "of the peer's time",
    "of that kind of computation, for one of two ranks to be slower",
    "docs/diagnosis.md: two cores of a virtual machine differ by 10 to 20 % for seconds"};
inline const Threshold kFluctuationsOfTwo{
    "kFluctuationsOfTwo", 2, "times",
    "how much computation fluctuates, and it has to differ by that", "statistics"};
inline const Threshold kStill{"kStill", 0.03, "of the time",
                              "fluctuation of computation on a core, or a device, of its own",
                              "chosen"};
inline const Threshold kRelativeOfStill{"kRelativeOfStill", 0.06, "of the peer's time",
                                        "instead of kRelativeOfTwo where computation is so still",
                                        "twice kStill"};
inline const Threshold kUniformOfTwo{
    "kUniformOfTwo", 0.25, "of the peer's time",
    "where all computation is slower: rather a busy core, or, of a pipeline's stage, another load",
    "as kRelativeOfTwo, and more"};
inline const Threshold kQuiet{"kQuiet", 0.1, "of the time",
                              "fluctuation of a machine that ranks do not share", "chosen"};
inline const Threshold kUnlikeStages{
    "kUnlikeStages", 0.12, "of the time",
    "by which stages of a pipeline differ by design, in operators or in one phase",
    "design: layers are whole, and one of eight is an eighth"};
inline const Threshold kOfHost{"kOfHost", 0.75, "of a node's ranks", "that share a verdict",
                               "definition"};
inline const CountThreshold kLeastPeers{"kLeastPeers", 3, "ranks",
                                        "in a role, to be compared within it",
                                        "statistics: a median that is not the suspect's own"};
inline const Threshold kNoPhases{
    "kNoPhases", 0.1, "of the most",
    "that a rank computes in forward and backward; less, and it does another job", "definition"};
inline const Threshold kFewOps{"kFewOps", 0.5, "of a phase",
                               "in operators; less, and operators were not recorded in it",
                               "definition"};
inline const Threshold kDominant{"kDominant", 0.6, "of the delay",
                                 "that one cause explains; else mixed",
                                 "definition: clearly more than half"};
inline const Threshold kSteady{"kSteady", 2, "times its fluctuation",
                               "of an excess between two ranks", "statistics: 95 %"};
inline const Threshold kMatters{"kMatters", 0.1, "of own work", "a phase whose fluctuation counts",
                                "definition"};
inline const Threshold kCounts{"kCounts", 0.02, "of the peers' own work",
                               "a phase whose ratio means something", "resolution"};
inline const Threshold kSameRatio{
    "kSameRatio", 0.4, "of the larger excess",
    "by which forward's and backward's may differ, to be the same factor", "chosen"};
inline const Threshold kUntouched{"kUntouched", 0.4, "of forward's excess",
                                  "the optimizer's, where it hardly has it",
                                  "mechanism: its work does not depend on the batch"};
inline const Threshold kContention{"kContention", 0.4, "of the delay",
                                   "without a core, to be cpu_contention",
                                   "definition: the rest is what sharing a core costs"};
inline const Ratio1 kLowerClock{"kLowerClock", 0.97, "of the peers' clock", "that is lower",
                                "resolution: three of the steps of 15 MHz of 1,500"};
inline const Threshold kThrottled{"kThrottled", 0.2, "of the samples",
                                  "more than the peers are throttled in", "definition"};
inline const Ratio1 kMoreWork{"kMoreWork", 1.03, "times the peers'",
                              "elements of a batch, operators of a step", "relevance: as kNamed"};
inline const Ratio1 kSlowMemory{"kSlowMemory", 1.05, "times the peers'",
                                "length of memory-bound kernels", "chosen"};
inline const Threshold kHardlyAny{"kHardlyAny", 0.1, "of own time", "of that kind on its peers",
                                  "definition"};
inline const Threshold kOnCpu{"kOnCpu", 0.3, "of the delay",
                              "in CPU time; less, and the thread waited",
                              "mechanism: clearly less than half"};
inline const Threshold kSampled{"kSampled", 0.33, "of the steps' time",
                                "between samples of CPU time, to speak for all of it",
                                "mechanism: two samples at a steady interval always cover more"};
inline const Threshold kMostOfIt{"kMostOfIt", 0.5, "of the delay",
                                 "at least, by looks at the thread, with 95 % confidence",
                                 "definition"};
inline const Threshold kInKernel{"kInKernel", 0.6, "of the delay", "as CPU time within the kernel",
                                 "definition: as kDominant"};
inline const Ratio1 kMorePages{
    "kMorePages", 1.5, "times the peers'", "page faults",
    "experiment: a ConvNet whose memory glibc returned took 65,000 to 72,000 faults, its peer 20,000 at most"};
inline const Threshold kFewPages{"kFewPages", 50, "per step",
                                 "more page faults than the peers, to matter",
                                 "resolution: they take some tens of microseconds"};
inline const Threshold kExplained{"kExplained", 0.6, "of what steps lost",
                                  "that transfers lost, to be the reason",
                                  "definition: as kDominant"};
inline const CountThreshold kAtOnce{"kAtOnce", 2, "steps",
                                    "within which transfers became slower at one time",
                                    "resolution of an onset"};
inline const Ratio1 kSlowRatio{"kSlowRatio", 1.1, "times the usual",
                               "of a group's transfers in a window", "chosen"};
inline const CountThreshold kFewestSlowWindows{"kFewestSlowWindows", 3, "windows in a row",
                                               "in which a group is slow", "definition"};
inline const Threshold kTimesSpread{"kTimesSpread", 2, "times",
                                    "what the faster half differs by among itself", "statistics"};
inline const Ratio1 kSlowMessages{"kSlowMessages", 1.5, "times the usual",
                                  "of messages, less what they met on their way", "chosen"};
inline const Threshold kMostBound{"kMostBound", 0.5, "of a message's transfer",
                                  "that its clocks may be wrong by", "definition"};
inline const Threshold kLeastLoss{"kLeastLoss", 0.01, "of the median step",
                                  "that a slow group loses", "relevance: as kInfoShare"};
inline const CountThreshold kFewestOfLevel{"kFewestOfLevel", 8, "steps",
                                           "before and after transfers became slower",
                                           "definition: as kLeastAfter"};
inline const Ratio1 kRiseRatio{"kRiseRatio", 1.3, "times what it was",
                               "of transfers that became slower", "chosen"};
inline const Threshold kEdge{"kEdge", 0.1, "quantile",
                             "of the one level that still has to lie beyond the other",
                             "statistics"};
inline const Threshold kStageShare{"kStageShare", 0.5, "of what is lost", "that one stage explains",
                                   "arXiv:2505.05713: M_S"};
inline const Threshold kLonger{"kLonger", 0.015, "of the others' time",
                               "more computation, to count a step", "as kLeastExcess"};
inline const Threshold kLasting{"kLasting", 0.6, "of the steps", "in which it is more",
                                "as kPersistentShare"};

}  // namespace limit
}  // namespace dprof::analyzer
