// SPDX-License-Identifier: Apache-2.0
#include "synth/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "synth/engine/world.h"
#include "synth/model/model.h"
#include "synth/random.h"
#include "synth/write/kineto.h"
#include "synth/write/system_rows.h"
#include "synth/write/trace_rows.h"

namespace dprof::synth {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kWarmUpSteps = 3;       // in which no cost is measured
constexpr size_t kMostMembers = 400'000;  // listed one by one in the truth
constexpr int64_t kMostRecorderStartNs = 300'000'000;
constexpr int64_t kRecorderOutlivesNs = 200'000'000;

std::vector<HostTruth> hosts_of(const Spec& spec) {
  std::vector<HostTruth> hosts;
  for (int h = 0; h < spec.hosts; ++h) {
    ClockSpec clock{.host = h};
    for (const ClockSpec& asked : spec.clocks) {
      if (asked.host == h) clock = asked;
    }
    const auto base = static_cast<int64_t>(uniform(key_of(spec.seed, 111, h)) * 5e15);
    const auto start = h == 0 ? 0
                              : static_cast<int64_t>(uniform(key_of(spec.seed, 112, h)) *
                                                     static_cast<double>(kMostRecorderStartNs));
    hosts.push_back({.name = fmt::format("node-{}", h),
                     .clock_id = fmt::format("b007{:04}/4026531834/0", h),
                     .clock = HostClock(clock, base, start)});
  }
  return hosts;
}

// How long the job takes per step, not counting the first ones.
int64_t step_period(const World& world) {
  const std::vector<int64_t> ends = world.step_ends();
  const auto n = static_cast<int64_t>(ends.size());
  const int64_t first = std::min(kWarmUpSteps, n - 1);
  if (n - 1 <= first) return 0;
  return (ends.back() - ends[static_cast<size_t>(first)]) / (n - 1 - first);
}

class Generator {
 public:
  Generator(const Model& model, const Progress& progress)
      : model_(model),
        spec_(model.spec()),
        world_model_(model.world()),
        world_(world_model_),
        progress_(progress) {
    world_.run();
    end_ns_ = world_.stuck().empty() ? kNever
                                     : world_.last_known() + std::llround(spec_.hang_watch_s * 1e9);
    truth_.hosts = hosts_of(spec_);
    truth_.groups = model.groups();
    truth_.ranks.resize(static_cast<size_t>(spec_.ranks));
    truth_.step_ns = step_period(world_);
    const int64_t last = (end_ns_ < kNever ? end_ns_ : world_.last_known()) + kRecorderOutlivesNs;
    for (HostTruth& host : truth_.hosts) host.end = last;
    for (const Instance& instance : world_.instances()) truth_.collectives.push_back({instance});
    size_t members = 0;
    for (const auto& works : world_.works()) members += works.size();
    lists_members_ = members <= kMostMembers;
  }

  // All ranks, on several threads; `use` gets each trail and can write it.
  template <typename Use>
  Status each_rank(const Use& use) {
    std::atomic<int> next = 0;
    std::mutex mutex;
    Status status = Done{};
    int done = 0;
    const auto work = [&] {
      while (true) {
        const int rank = next.fetch_add(1);
        if (rank >= spec_.ranks) return;
        const Trail trail = trail_of(rank);
        RankTruth truth = rank_truth(rank, trail);
        const Status used = use(rank, trail);
        const std::lock_guard lock(mutex);
        note(rank, trail, std::move(truth));
        if (!used.ok() && status.ok()) status = used;
        if (!status.ok()) return;
        if (progress_) progress_(static_cast<double>(++done) / static_cast<double>(spec_.ranks));
      }
    };
    {
      std::vector<std::jthread> threads;
      for (int t = 1; t < std::clamp(spec_.threads, 1, spec_.ranks); ++t)
        threads.emplace_back(work);
      work();
    }
    finish();
    return status;
  }

  Truth& truth() { return truth_; }

 private:
  Trail trail_of(int rank) const {
    Trail trail;
    Replay replay(world_model_, world_, rank);
    MachineSetting setting = model_.setting(rank);
    setting.end_ns = end_ns_;
    RankMachine machine(setting, model_, replay, &trail);
    machine.advance();
    machine.end_trail();
    return trail;
  }

  RankTruth rank_truth(int rank, const Trail& trail) const {
    const bool gpu = spec_.shape == Shape::kGpu;
    RankTruth truth{
        .host = host_of(spec_, rank), .steps = step_truth(trail, gpu), .ending = trail.ending};
    for (const schema::MemoryEventRow& row : memory_rows(trail, gpu)) {
      truth.peak_allocated_bytes = std::max(truth.peak_allocated_bytes, *row.allocated_bytes);
      truth.peak_reserved_bytes = std::max(truth.peak_reserved_bytes, *row.reserved_bytes);
    }
    return truth;
  }

  void note(int rank, const Trail& trail, RankTruth truth) {
    truth.has_trace = has_trace(rank);
    truth_.ranks[static_cast<size_t>(rank)] = std::move(truth);
    for (const WorkDone& work : trail.works) {
      if (work.instance >= truth_.collectives.size()) continue;
      CollectiveTruth& collective = truth_.collectives[work.instance];
      collective.step = work.program - 1;
      if (!lists_members_) continue;
      const int64_t arrive = std::min(work.last_start, work.end);
      const int64_t wait = arrive >= kNever ? 0 : std::max<int64_t>(0, arrive - work.start);
      collective.members.push_back({rank, work.start, work.end, wait});
    }
  }

  void finish() {
    for (CollectiveTruth& collective : truth_.collectives)
      std::ranges::sort(collective.members, {}, &MemberTruth::rank);
    const FaultPlan& plan = model_.plan();
    for (const Fault& fault : plan.faults())
      truth_.faults.push_back({fault, plan.touched(fault), {}});
    if (const Fault* hang = plan.hang()) {
      truth_.hang = std::string(hang->kind->name);
      truth_.culprits = plan.culprits();
    }
  }

 public:
  [[nodiscard]] bool has_trace(int rank) const {
    return std::ranges::none_of(model_.plan().faults(), [&](const Fault& fault) {
      return fault.rank == rank &&
             (fault.kind->name == "absent" || fault.kind->name == "hang-missing-trace");
    });
  }

 private:
  const Model& model_;
  const Spec& spec_;
  WorldModel world_model_;
  World world_;
  const Progress& progress_;
  Truth truth_;
  int64_t end_ns_ = kNever;
  bool lists_members_ = true;
};

// The cost of each fault: the job's step with it minus the step without it.
Status add_costs(const Spec& spec, Truth& truth) {
  for (size_t f = 0; f < truth.faults.size(); ++f) {
    if (truth.faults[f].fault.kind->family != Family::kFault || truth.hang) continue;
    Spec without = spec;
    without.faults.erase(without.faults.begin() + static_cast<ptrdiff_t>(f));
    const Result<int64_t> length = step_length(without);
    if (!length.ok()) return fail(length.error());
    truth.faults[f].cost_ns = truth.step_ns - *length;
  }
  return Done{};
}

Status write_run_json(const fs::path& run, const Model& model, const Truth& truth) {
  const Spec& spec = model.spec();
  nlohmann::ordered_json json = {
      {"schema", "dprof.run/1"},
      {"id", kRunId},
      {"command", fmt::format("synthetic {} {}", word_of(spec.shape), word_of(spec.technique))},
      {"world_size", spec.ranks},
      {"recorders", nlohmann::ordered_json::array()},
      {"traces", nlohmann::ordered_json::array()},
      {"diagnostics", nlohmann::ordered_json::array()}};
  for (const HostTruth& host : truth.hosts)
    json["recorders"].push_back({{"host", host.name}, {"dprof_version", "0.1.0"}});
  for (size_t r = 0; r < truth.ranks.size(); ++r) {
    const RankTruth& rank = truth.ranks[r];
    if (!rank.has_trace) continue;
    json["traces"].push_back({{"file", trace_file_name(static_cast<int>(r))},
                              {"rank", r},
                              {"host", truth.hosts[static_cast<size_t>(rank.host)].name},
                              {"ended", ended_word(model, static_cast<int>(r), rank.ending)}});
  }
  std::ofstream file(run / "run.json");
  file << json.dump(2) << '\n';
  if (!file) return fail(Code::kIo, fmt::format("{}: cannot write run.json", run.string()));
  return Done{};
}

}  // namespace

Result<int64_t> step_length(const Spec& spec) {
  const Result<Model> model = Model::make(spec);
  if (!model.ok()) return fail(model.error());
  const WorldModel world_model = model->world();
  World world(world_model);
  world.run();
  return step_period(world);
}

Result<Truth> generate(const Spec& spec, const fs::path& run, const Progress& progress) {
  const Result<Model> model = Model::make(spec);
  if (!model.ok()) return fail(model.error());
  std::error_code error;
  fs::create_directories(run, error);
  if (error) return fail(Code::kIo, fmt::format("{}: {}", run.string(), error.message()));
  if (fs::exists(run / "truth.json") || fs::exists(run / "run.json"))
    return fail(Code::kUsage, fmt::format("{}: already holds a run", run.string()));

  Generator generator(*model, progress);
  std::atomic<int64_t> rows = 0;
  std::atomic<int64_t> dropped = 0;
  const Status written = generator.each_rank([&](int rank, const Trail& trail) -> Status {
    if (!generator.has_trace(rank)) return Done{};
    const Truth& truth = generator.truth();
    if (spec.format == Format::kKineto)
      return write_kineto(run / kineto_file_name(rank), *model, truth, rank, trail);
    const TraceOrder order{&*model, &truth, rank,
                           truth.hosts[static_cast<size_t>(host_of(spec, rank))].end};
    const Result<TraceTally> tally = write_trace(run / trace_file_name(rank), order, trail);
    if (!tally.ok()) return fail(tally.error());
    rows += tally->rows;
    dropped += tally->dropped;
    return Done{};
  });
  if (!written.ok()) return fail(written.error());
  Truth truth = std::move(generator.truth());
  truth.rows = rows;
  truth.dropped_records = dropped;
  for (const auto& step : {add_costs(spec, truth), write_truth(run / "truth.json", spec, truth)})
    if (!step.ok()) return fail(step.error());
  if (spec.run_json && spec.format == Format::kDprof) {
    const Status indexed = write_run_json(run, *model, truth);
    if (!indexed.ok()) return fail(indexed.error());
  }
  return truth;
}

Result<Truth> execute(const Spec& spec, std::vector<Trail>* trails) {
  const Result<Model> model = Model::make(spec);
  if (!model.ok()) return fail(model.error());
  const Progress none;
  Generator generator(*model, none);
  if (trails != nullptr) trails->resize(static_cast<size_t>(spec.ranks));
  const Status done = generator.each_rank([&](int rank, const Trail& trail) -> Status {
    if (trails != nullptr) (*trails)[static_cast<size_t>(rank)] = trail;
    return Done{};
  });
  if (!done.ok()) return fail(done.error());
  Truth truth = std::move(generator.truth());
  const Status costs = add_costs(spec, truth);
  if (!costs.ok()) return fail(costs.error());
  return truth;
}

}  // namespace dprof::synth
