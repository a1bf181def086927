// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/faults/fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace dprof::trainer_harness {
namespace {

constexpr FaultKeys kRank = bit(FaultKey::kRank);
constexpr FaultKeys kMs = bit(FaultKey::kMs);
constexpr FaultKeys kShare = bit(FaultKey::kShare);
constexpr FaultKeys kStep = bit(FaultKey::kStep);
constexpr FaultKeys kFrom = bit(FaultKey::kFrom);
constexpr FaultKeys kTo = bit(FaultKey::kTo);
constexpr FaultKeys kEvery = bit(FaultKey::kEvery);
constexpr FaultKeys kMode = bit(FaultKey::kMode);
constexpr FaultKeys kMb = bit(FaultKey::kMb);
constexpr FaultKeys kLink =
    bit(FaultKey::kRate) | bit(FaultKey::kDelay) | bit(FaultKey::kLoss);  // one of them is enough
constexpr FaultKeys kRange = kFrom | kTo | kEvery;
constexpr FaultKeys kWhen = kRange | kStep;

constexpr FaultRow kKinds[] = {
    {.name = "compute",
     .kind = FaultKind::kCompute,
     .place = Place::kForward,
     .needs = kRank | kMs,
     .takes = kWhen | kMode,
     .spins = true,
     .about = "more matrix products in forward"},
    {.name = "forward",
     .kind = FaultKind::kForward,
     .place = Place::kForward,
     .needs = kRank | kMs,
     .takes = kWhen | kMode,
     .about = "a sleep in forward"},
    {.name = "backward",
     .kind = FaultKind::kBackward,
     .place = Place::kBackward,
     .needs = kRank | kMs,
     .takes = kWhen | kMode,
     .about = "a sleep in the last gradient's hook: no phase time shows it"},
    {.name = "optimizer",
     .kind = FaultKind::kOptimizer,
     .place = Place::kOptimizer,
     .needs = kRank | kMs,
     .takes = kWhen | kMode,
     .spins = true,
     .about = "more work in the optimizer's step"},
    {.name = "loader",
     .kind = FaultKind::kLoader,
     .place = Place::kInput,
     .needs = kRank | kMs,
     .takes = kWhen | kMode,
     .about = "a sleep while a batch is made; its steps are batches"},
    {.name = "gc-pause",
     .kind = FaultKind::kGcPause,
     .place = Place::kStepBegin,
     .needs = kMs,
     .takes = kRank | kShare | kFrom | kTo | kMode,
     .default_rank = kEveryRank,
     .share = 0.1,
     .about = "the training thread stops in random steps, each rank in its own"},
    {.name = "sync",
     .kind = FaultKind::kSync,
     .place = Place::kStepEnd,
     .needs = kRank | kMs,
     .takes = kWhen | kMode,
     .about = "the training thread waits for another thread, on a GPU for the device"},
    {.name = "cpu-contention",
     .kind = FaultKind::kCpuContention,
     .place = Place::kStepBegin,
     .needs = kRank,
     .takes = kRange,
     .about = "another process takes half of the core that the rank is bound to"},
    {.name = "pinned-core",
     .kind = FaultKind::kPinnedCore,
     .place = Place::kStepBegin,
     .needs = kRank,
     .takes = kFrom | kTo,
     .about = "all threads of the rank share one core: slower with several threads or busy cores"},
    {.name = "skewed-batch",
     .kind = FaultKind::kSkewedBatch,
     .place = Place::kNone,
     .needs = kRank | kShare,
     .takes = kWhen,
     .about = "batches are larger by the share F; its steps are batches"},
    {.name = "long-sequences",
     .kind = FaultKind::kLongSequences,
     .place = Place::kNone,
     .needs = kRank | kShare,
     .takes = kWhen,
     .about = "sequences are longer by the share F; its steps are batches"},
    {.name = "rotating",
     .kind = FaultKind::kRotating,
     .place = Place::kForward,
     .needs = kMs,
     .takes = kRange | kMode,
     .default_rank = kEveryRank,
     .about = "a sleep in forward of another rank in each step: step mod ranks"},
    {.name = "transient",
     .kind = FaultKind::kTransient,
     .place = Place::kForward,
     .needs = kRank | kMs,
     .takes = kShare | kFrom | kTo | kMode,
     .share = 0.05,
     .about = "a sleep in forward in the share F of the steps, at random"},
    {.name = "periodic",
     .kind = FaultKind::kPeriodic,
     .place = Place::kForward,
     .needs = kRank | kMs | kEvery,
     .takes = kFrom | kTo | kMode,
     .about = "a sleep in forward in every Kth step"},
    {.name = "onset",
     .kind = FaultKind::kOnset,
     .place = Place::kForward,
     .needs = kRank | kMs | kFrom,
     .takes = kTo | kMode,
     .about = "a sleep in forward from step S on"},
    {.name = "slow-link",
     .kind = FaultKind::kSlowLink,
     .place = Place::kStepBegin,
     .needs = kRank | kLink,
     .takes = kFrom | kTo,
     .about = "the rank's network link: rate in Mbit/s, delay in ms, share of packets lost"},
    {.name = "bucket-cap",
     .kind = FaultKind::kBucketCap,
     .place = Place::kStepBegin,
     .needs = kMb,
     .takes = 0,
     .default_rank = kEveryRank,
     .about = "buckets of that size on all ranks, as --bucket-mb"},
    {.name = "leak",
     .kind = FaultKind::kLeak,
     .place = Place::kStepEnd,
     .needs = 0,
     .takes = kRank | kMb | kRange,
     .default_rank = kEveryRank,
     .mb = 1,
     .about = "X more MiB of tensors in each step, never freed"},
    {.name = "alloc-churn",
     .kind = FaultKind::kAllocChurn,
     .place = Place::kForward,
     .needs = 0,
     .takes = kRank | kMs | kMb | kRange,
     .default_rank = kEveryRank,
     .mb = 8,
     .about = "allocates tensors of random sizes up to X MiB and returns them to the system: 64 of "
              "them, or for D ms"},
    {.name = "empty-cache",
     .kind = FaultKind::kEmptyCache,
     .place = Place::kStepEnd,
     .needs = 0,
     .takes = kRank | kMs | kRange,
     .default_rank = kEveryRank,
     .about = "returns free memory to the system in each step: once, or for D ms"},
    {.name = "checkpoint-stall",
     .kind = FaultKind::kCheckpointStall,
     .place = Place::kCheckpoint,
     .needs = kMs,
     .takes = kRank | kWhen | kMode,
     .about = "saving takes longer on rank 0, or on rank R"},
    {.name = "logging-stall",
     .kind = FaultKind::kLoggingStall,
     .place = Place::kLog,
     .needs = kMs,
     .takes = kRank | kWhen | kMode,
     .about = "writing a line of the log takes longer on rank 0, or on rank R"},
    {.name = "early-exit",
     .kind = FaultKind::kEarlyExit,
     .place = Place::kStepBegin,
     .needs = kRank | kStep,
     .takes = 0,
     .one_rank = true,
     .about = "the rank exits with code 0 while the others continue"},
    {.name = "wrong-size",
     .kind = FaultKind::kWrongSize,
     .place = Place::kStepBegin,
     .needs = kRank | kStep,
     .takes = 0,
     .one_rank = true,
     .about = "this rank calls an all-reduce with a tensor of another size"},
    {.name = "wrong-order",
     .kind = FaultKind::kWrongOrder,
     .place = Place::kStepBegin,
     .needs = kRank | kStep,
     .takes = 0,
     .one_rank = true,
     .about = "this rank calls the all-reduces of two groups in the opposite order"},
    {.name = "hang",
     .kind = FaultKind::kHang,
     .place = Place::kStepBegin,
     .needs = kRank | kStep,
     .takes = 0,
     .about = "the rank stops, until its launcher ends or ten times --timeout"},
    {.name = "crash",
     .kind = FaultKind::kCrash,
     .place = Place::kStepBegin,
     .needs = kRank | kStep,
     .takes = 0,
     .about = "SIGSEGV; not after an elastic restart"},
    {.name = "kill",
     .kind = FaultKind::kKill,
     .place = Place::kStepBegin,
     .needs = kRank | kStep,
     .takes = 0,
     .about = "SIGKILL; not after an elastic restart"},
};

struct KeyName {
  std::string_view name;
  FaultKey key;
  std::string_view usage;
};

constexpr KeyName kKeyNames[] = {
    {"rank", FaultKey::kRank, "rank=R|all"}, {"ms", FaultKey::kMs, "ms=D"},
    {"share", FaultKey::kShare, "share=F"},  {"step", FaultKey::kStep, "step=S"},
    {"from", FaultKey::kFrom, "from=S"},     {"to", FaultKey::kTo, "to=S"},
    {"every", FaultKey::kEvery, "every=K"},  {"mode", FaultKey::kMode, "mode=spin|sleep"},
    {"mb", FaultKey::kMb, "mb=X"},           {"rate", FaultKey::kRate, "rate=MBIT"},
    {"delay", FaultKey::kDelay, "delay=MS"}, {"loss", FaultKey::kLoss, "loss=F"},
};

[[noreturn]] void refuse(std::string_view text, const std::string& why, const std::string& hint) {
  throw UsageError(fmt::format("--inject {}: {}\nhint: {}", text, why, hint));
}

std::string names_of(FaultKeys keys) {
  std::string names;
  for (const KeyName& known : kKeyNames) {
    if ((keys & bit(known.key)) == 0) continue;
    if (!names.empty()) names += ", ";
    names += known.name;
  }
  return names;
}

// One `key=value` pair of a fault.
struct Pair {
  std::string_view text;  // the whole fault, for messages
  std::string_view key;
  std::string_view value;
};

int64_t whole_number(const Pair& pair) {
  int64_t number = 0;
  const char* const last = pair.value.data() + pair.value.size();
  const auto [end, error] = std::from_chars(pair.value.data(), last, number);
  if (error != std::errc{} || end != last || number < 0) {
    refuse(pair.text, fmt::format("{}={} is not a whole number of 0 or more", pair.key, pair.value),
           fmt::format("write {}=N", pair.key));
  }
  return number;
}

double positive_number(const Pair& pair, std::string_view of, std::string_view example) {
  double number = 0;
  const char* const last = pair.value.data() + pair.value.size();
  const auto [end, error] = std::from_chars(pair.value.data(), last, number);
  if (error != std::errc{} || end != last || !std::isfinite(number) || number <= 0) {
    refuse(pair.text, fmt::format("{}={} is not a positive number{}", pair.key, pair.value, of),
           fmt::format("write {}", example));
  }
  return number;
}

int rank_of(const Pair& pair, const FaultRow& row) {
  if (pair.value == "all") {
    if (!row.one_rank) return kEveryRank;
    refuse(pair.text, fmt::format("{} is the fault of one rank among others", row.name),
           "write rank=1");
  }
  const int64_t rank = whole_number(pair);
  if (rank > std::numeric_limits<int>::max()) {
    refuse(pair.text, "no job has that rank", "write rank=1");
  }
  return static_cast<int>(rank);
}

bool spins(const Pair& pair) {
  if (pair.value == "sleep") return false;
  if (pair.value == "spin" || pair.value == "busy") return true;
  refuse(pair.text, fmt::format("mode={} is not known", pair.value),
         "the modes are spin and sleep");
}

// A batch can grow without an upper bound; a share of steps or packets is at most 1.
double share_of(const Pair& pair, bool of_a_whole) {
  const double share = positive_number(pair, "", fmt::format("{}=0.1", pair.key));
  if (of_a_whole && share > 1) {
    refuse(pair.text, fmt::format("{}={} is more than all", pair.key, pair.value),
           fmt::format("a share is at most 1: write {}=0.1", pair.key));
  }
  return share;
}

void set_key(Fault& fault, const FaultRow& row, FaultKey key, const Pair& pair) {
  switch (key) {
    case FaultKey::kRank:
      fault.rank = rank_of(pair, row);
      break;
    case FaultKey::kMs:
      fault.ms = positive_number(pair, " of milliseconds", "ms=12 or ms=0.5");
      break;
    case FaultKey::kShare:
      fault.share = share_of(
          pair, row.kind != FaultKind::kSkewedBatch && row.kind != FaultKind::kLongSequences);
      break;
    case FaultKey::kStep:
      fault.from = whole_number(pair);
      fault.to = fault.from + 1;
      fault.once = true;
      break;
    case FaultKey::kFrom:
      fault.from = whole_number(pair);
      break;
    case FaultKey::kTo:
      fault.to = whole_number(pair);
      break;
    case FaultKey::kEvery:
      fault.every = whole_number(pair);
      if (fault.every == 0) refuse(pair.text, "every=0 selects no step", "every=1 is each step");
      break;
    case FaultKey::kMode:
      fault.spin = spins(pair);
      break;
    case FaultKey::kMb:
      fault.mb = positive_number(pair, " of MiB", "mb=1");
      break;
    case FaultKey::kRate:
      fault.rate_mbit = positive_number(pair, " of Mbit/s", "rate=100");
      break;
    case FaultKey::kDelay:
      fault.delay_ms = positive_number(pair, " of milliseconds", "delay=5");
      break;
    case FaultKey::kLoss:
      fault.loss = share_of(pair, true);
      break;
  }
}

FaultKey key_of(const Pair& pair, const FaultRow& row) {
  const KeyName* const known =
      std::ranges::find(kKeyNames, pair.key, [](const KeyName& name) { return name.name; });
  if (known == std::end(kKeyNames)) {
    refuse(pair.text, fmt::format("no key is called '{}'", pair.key),
           fmt::format("write {}", fault_usage(row)));
  }
  if (((row.needs | row.takes) & bit(known->key)) == 0) {
    refuse(pair.text, fmt::format("{} takes no {}", row.name, pair.key),
           fmt::format("write {}", fault_usage(row)));
  }
  return known->key;
}

void check_whole(const Fault& fault, const FaultRow& row, FaultKeys given) {
  FaultKeys missing = row.needs & ~given;
  if ((row.needs & kLink) != 0 && (given & kLink) != 0) missing &= ~kLink;
  if (missing != 0) {
    const bool one = (missing & (missing - 1)) == 0;
    const char* verb = one ? "is" : "are";
    if ((missing & kLink) != 0) verb = "or one of them is";
    refuse(fault.text, fmt::format("{} {} needed", names_of(missing), verb),
           fmt::format("write {}", fault_usage(row)));
  }
  if ((given & kStep) != 0 && (given & kRange) != 0) {
    refuse(fault.text, "step=S is one step: it cannot be combined with from, to or every",
           "from=10,to=20,every=2 are five steps");
  }
  if (fault.from >= fault.to) {
    refuse(fault.text, "no step lies in from..to",
           "the range is half-open: from=10,to=20 are ten steps");
  }
}

const FaultRow& row_called(std::string_view text, std::string_view name) {
  for (const FaultRow& row : kKinds) {
    if (row.name == name) return row;
  }
  refuse(text, fmt::format("no fault is called '{}'", name),
         fmt::format("the kinds are {}", fault_kind_names()));
}

}  // namespace

std::span<const FaultRow> fault_catalogue() { return kKinds; }

const FaultRow& fault_row(FaultKind kind) {
  return *std::ranges::find(kKinds, kind, [](const FaultRow& row) { return row.kind; });
}

std::string fault_kind_names() {
  std::string names;
  for (const FaultRow& row : kKinds) {
    if (!names.empty()) names += ", ";
    names += row.name;
  }
  return names;
}

std::string fault_usage(const FaultRow& row) {
  std::string needed;
  std::string more;
  for (const KeyName& known : kKeyNames) {
    std::string& keys = (row.needs & ~kLink & bit(known.key)) != 0 ? needed : more;
    if (((row.needs | row.takes) & bit(known.key)) == 0) continue;
    if (&keys == &more || !needed.empty()) keys += ',';
    keys += known.key == FaultKey::kRank && row.one_rank ? "rank=R" : known.usage;
  }
  if (needed.empty() && !more.empty()) more.erase(0, 1);
  std::string usage(row.name);
  if (!needed.empty() || !more.empty()) {
    usage += more.empty() ? ':' + needed : fmt::format(":{}[{}]", needed, more);
  }
  return usage;
}

Fault parse_fault(std::string_view text) {
  const size_t colon = text.find(':');
  const FaultRow& row = row_called(text, text.substr(0, colon));
  Fault fault;
  fault.kind = row.kind;
  fault.rank = row.default_rank;
  fault.spin = row.spins;
  fault.share = row.share;
  fault.mb = row.mb;
  fault.once = row.kind == FaultKind::kBucketCap;
  fault.text = text;
  std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  FaultKeys given = 0;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      refuse(text, fmt::format("'{}' is not key=value", part),
             fmt::format("write {}", fault_usage(row)));
    }
    const Pair pair{text, part.substr(0, equals), part.substr(equals + 1)};
    const FaultKey key = key_of(pair, row);
    if ((given & bit(key)) != 0) {
      refuse(text, fmt::format("{} is given twice", pair.key), "give --inject once per fault");
    }
    given |= bit(key);
    set_key(fault, row, key, pair);
  }
  check_whole(fault, row, given);
  return fault;
}

void check_faults(const std::vector<Fault>& faults, int world_size) {
  for (const Fault& fault : faults) {
    const FaultRow& row = fault_row(fault.kind);
    if (fault.rank >= world_size) {
      throw UsageError(fmt::format(
          "--inject {}: it is for rank {}, but the job has {}\nhint: ranks count from 0",
          fault.text, fault.rank, world_size));
    }
    if (row.one_rank && world_size < 2) {
      refuse(fault.text, fmt::format("{} needs other ranks", row.name),
             "start it with dprof record -n 2, or --spawn 2");
    }
  }
}

}  // namespace dprof::trainer_harness
