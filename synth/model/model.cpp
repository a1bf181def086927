// SPDX-License-Identifier: Apache-2.0
#include "synth/model/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "synth/random.h"

namespace dprof::synth {
namespace {

using schema::Function;

constexpr int64_t kJobStartNs = 500'000'000;
constexpr double kStartSkewNs = 150e6;          // of the processes
constexpr int64_t kParameterBytes = 5'242'880;  // carried by the first broadcast
constexpr double kJitter = 0.01;                // of a transfer

double or_default(double asked, double usual) { return asked > 0 ? asked : usual; }

struct Wire {
  double latency_ns;
  double bytes_per_ns;
};

Wire wire_of(const Spec& spec, bool inside) {
  const bool gpu = spec.shape == Shape::kGpu;
  if (inside) {
    return {or_default(spec.network.inside_latency_us, gpu ? 5 : 15) * 1e3,
            or_default(spec.network.inside_bandwidth_gb_s, gpu ? 200 : 5)};
  }
  return {or_default(spec.network.latency_us, gpu ? 15 : 30) * 1e3,
          or_default(spec.network.bandwidth_gb_s, gpu ? 25 : 1.25)};
}

// Rings for the bytes, trees for the latency.
double alone_ns(Function function, double bytes, double n, const Wire& wire) {
  const double hops = std::ceil(std::log2(std::max(2.0, n)));
  const double share = (n - 1) / n;
  switch (function) {
    case Function::kAllReduce:
      return 2 * hops * wire.latency_ns + 2 * share * bytes / wire.bytes_per_ns;
    case Function::kReduceScatter:
      return hops * wire.latency_ns + share * bytes / wire.bytes_per_ns;
    case Function::kAllGather:
      return hops * wire.latency_ns + share * n * bytes / wire.bytes_per_ns;
    case Function::kBarrier:
      return 2 * hops * wire.latency_ns;
    case Function::kGather:
    case Function::kScatter:
      return hops * wire.latency_ns + share * n * bytes / wire.bytes_per_ns;
    case Function::kSend:
    case Function::kRecv:
      return wire.latency_ns + bytes / wire.bytes_per_ns;
    default:
      return hops * wire.latency_ns + bytes / wire.bytes_per_ns;
  }
}

}  // namespace

Model::Model(const Spec& spec, FaultPlan plan) : spec_(spec), plan_(std::move(plan)) {
  make_groups();
  make_sizes();
}

Result<Model> Model::make(const Spec& spec) {
  const Status good = check(spec);
  if (!good.ok()) return fail(good.error());
  Result<FaultPlan> plan = FaultPlan::make(spec);
  if (!plan.ok()) return fail(plan.error());
  return Model(spec, *std::move(plan));
}

int Model::add_group(std::string name, std::vector<int> members) {
  std::ranges::sort(members);
  members.erase(std::unique(members.begin(), members.end()), members.end());
  std::vector<int> hosts;
  for (const int rank : members) {
    const int host = host_of(spec_, rank);
    if (hosts.empty() || hosts.back() != host) hosts.push_back(host);
  }
  group_hosts_.push_back(std::move(hosts));
  const auto hash = static_cast<int64_t>(key_of(0x9f3a, groups_.size(), spec_.seed) >> 2);
  groups_.push_back({std::move(name), hash, 0, std::move(members)});
  return static_cast<int>(groups_.size()) - 1;
}

void Model::make_groups() {
  std::vector<int> world(static_cast<size_t>(spec_.ranks));
  std::iota(world.begin(), world.end(), 0);
  add_group("default_pg", world);
  if (spec_.technique == Technique::kTensorData) {
    const int t = spec_.tensor_ranks;
    first_tensor_group_ = static_cast<int>(groups_.size());
    for (int first = 0; first < spec_.ranks; first += t) {
      add_group(fmt::format("tensor_{}", first / t),
                {world.begin() + first, world.begin() + first + t});
    }
    first_data_group_ = static_cast<int>(groups_.size());
    for (int index = 0; index < t; ++index) {
      std::vector<int> members;
      for (int rank = index; rank < spec_.ranks; rank += t) members.push_back(rank);
      add_group(fmt::format("data_{}", index), std::move(members));
    }
  }
  if (spec_.replicas > 1) {
    const int r = spec_.replicas;
    first_pipe_group_ = static_cast<int>(groups_.size());
    for (int replica = 0; replica < r; ++replica) {
      std::vector<int> members;
      for (int rank = replica; rank < spec_.ranks; rank += r) members.push_back(rank);
      add_group(fmt::format("pipeline_{}", replica), std::move(members));
    }
    first_stage_group_ = static_cast<int>(groups_.size());
    for (int first = 0; first < spec_.ranks; first += r) {
      add_group(fmt::format("stage_{}", first / r),
                {world.begin() + first, world.begin() + first + r});
    }
  }
  const Fault* hang = plan_.hang();
  if (hang == nullptr) return;
  const std::string_view what = hang->kind->name;
  if (what == "hang-swapped" || what == "hang-queued")
    pair_group_ = add_group("pair", {hang->rank, hang->other});
  if (what == "hang-queued") {
    std::erase(world, hang->rank);
    rest_group_ = add_group("rest", world);
  }
  if (what == "hang-two-culprits") {
    const auto middle = world.begin() + spec_.ranks / 2;
    first_half_group_ = add_group("first_half", {world.begin(), middle});
    add_group("second_half", {middle, world.end()});
  }
}

void Model::make_sizes() {
  const double ns = spec_.step_ms * 1e6;
  sizes_.forward_ns = 0.29 * ns;
  sizes_.backward_ns = 0.58 * ns;
  sizes_.optimizer_ns = 0.08 * ns;
  const bool gpu = spec_.shape == Shape::kGpu;
  const int buckets = std::max(1, spec_.buckets);
  const int64_t memory = spec_.technique == Technique::kDdp ? 2 * spec_.micro_steps : 0;
  const int64_t fixed = 8 + buckets * ((gpu ? 6 : 2) + memory);
  const int64_t ops = std::max<int64_t>(9, (spec_.rows_per_step - fixed) / (gpu ? 3 : 2));
  sizes_.forward_ops = std::max<int64_t>(3, ops * 30 / 100);
  sizes_.optimizer_ops = std::max<int64_t>(2, ops * 15 / 100);
  sizes_.backward_ops = std::max<int64_t>(3, ops - sizes_.forward_ops - sizes_.optimizer_ops);
  // Sizes differ, so that the latency and the bandwidth of a link can be distinguished.
  double weights = 0;
  const auto weight = [](int b) { return 1.0 + b % 4; };
  for (int b = 0; b < buckets; ++b) weights += weight(b);
  const double bytes = or_default(spec_.bytes_per_step, gpu ? 100e6 : 12e6);
  for (int b = 0; b < buckets; ++b) {
    const auto size = static_cast<int64_t>(bytes * weight(b) / weights) / 64 * 64;
    sizes_.bucket_bytes.push_back(std::max<int64_t>(64, size));
    sizes_.all_bytes += sizes_.bucket_bytes.back();
  }
}

int Model::tensor_group(int rank) const { return first_tensor_group_ + rank / spec_.tensor_ranks; }
int Model::data_group(int rank) const { return first_data_group_ + rank % spec_.tensor_ranks; }
int Model::pipe_group(int rank) const {
  return first_pipe_group_ < 0 ? kWorldGroup : first_pipe_group_ + rank % spec_.replicas;
}
int Model::stage_group(int rank) const {
  return first_stage_group_ < 0 ? -1 : first_stage_group_ + stage(rank);
}
int Model::half_group(int rank) const {
  if (first_half_group_ < 0) return -1;
  return first_half_group_ + (rank < spec_.ranks / 2 ? 0 : 1);
}

MachineSetting Model::setting(int rank) const {
  const double skew = kStartSkewNs * uniform(key_of(spec_.seed, 31, rank));
  return {.rank = rank,
          .queues = kQueues,
          .gpu = spec_.shape == Shape::kGpu,
          .start_ns = kJobStartNs + std::llround(skew),
          .api_launch = name("cudaLaunchKernel"),
          .api_copy = name("cudaMemcpyAsync"),
          .api_nccl = name("cuLaunchKernelEx"),
          .forever_op = name("aten::mm")};
}

WorldModel Model::world() const {
  WorldModel world{
      .programs = this,
      .groups = groups_,
      .links = static_cast<size_t>(2 * spec_.hosts),
      .cost = [this](const Instance& i, const CollectiveCall& c) { return cost(i, c); },
      .seed = spec_.seed,
      .spread_ns = std::llround(spec_.network.spread_us * 1e3)};
  for (int rank = 0; rank < spec_.ranks; ++rank) world.ranks.push_back(setting(rank));
  return world;
}

double Model::slow(int group, int64_t step) const {
  return slow_between(group_hosts_[static_cast<size_t>(group)], step);
}

double Model::slow_message(int from, int to, int64_t step) const {
  std::vector<int> hosts = {host_of(spec_, from)};
  if (host_of(spec_, to) != hosts.front()) hosts.push_back(host_of(spec_, to));
  return slow_between(hosts, step);
}

double Model::slow_between(const std::vector<int>& hosts, int64_t step) const {
  double factor = 1;
  for (const Fault& fault : plan_.faults()) {
    const std::string_view what = fault.kind->name;
    const bool link = what == "slow-link";
    if ((!link && what != "slow-network") || !fault.at_work(spec_.seed, step)) continue;
    const bool touched = !link || (hosts.size() > 1 && std::ranges::count(hosts, fault.host) != 0);
    if (touched) factor = std::max(factor, fault.factor_in(step));
  }
  return factor;
}

TransferCost Model::cost(const Instance& instance, const CollectiveCall& call) const {
  TransferCost cost{.never = call.never};
  const bool message = instance.peer >= 0;
  std::vector<int> hosts = group_hosts_[static_cast<size_t>(instance.group)];
  auto members = static_cast<double>(groups_[static_cast<size_t>(instance.group)].members.size());
  if (message) {
    hosts = {host_of(spec_, instance.root)};
    if (host_of(spec_, instance.peer) != hosts.front())
      hosts.push_back(host_of(spec_, instance.peer));
    members = 2;
  }
  const bool inside = hosts.size() == 1;
  const double bytes =
      static_cast<double>(call.network_bytes >= 0 ? call.network_bytes : call.bytes);
  const double jitter =
      1 + kJitter * normal(key_of(spec_.seed, 61, instance.group, instance.function,
                                  instance.sequence, instance.root, instance.peer));
  cost.ns = alone_ns(instance.function, bytes, members, wire_of(spec_, inside)) * call.slow *
            std::max(0.9, jitter);
  if (inside) hosts.front() += spec_.hosts;
  cost.links = std::move(hosts);
  return cost;
}

bool Model::program(int rank, int64_t index, Program& out) const {
  const int64_t step = index - 1;
  StepBuilder b(spec_, plan_, rank, step, out);
  if (step < 0) {
    b.host(Busy::kNothing, 2'000'000);
    using schema::MemoryCategory;
    for (const auto category : {MemoryCategory::kParameter, MemoryCategory::kGradient,
                                MemoryCategory::kOptimizerState, MemoryCategory::kBucket}) {
      b.memory(true, kParameterBlock + static_cast<int64_t>(category), sizes_.all_bytes, category);
    }
    const int64_t call = b.collective({.group = kWorldGroup,
                                       .function = Function::kBroadcast,
                                       .reduction = schema::Reduction::kNone,
                                       .bytes = kParameterBytes,
                                       .root = 0});
    b.wait(call);
    if (spec_.shape == Shape::kGpu) b.add({.what = Do::kSyncQueue, .a = kFirstCommQueue});
    return true;
  }
  if (step == spec_.steps) {
    if (spec_.shape != Shape::kGpu) return false;
    for (int queue = 0; queue < kQueues; ++queue) b.add({.what = Do::kSyncQueue, .a = queue});
    return true;
  }
  if (step > spec_.steps) return false;
  switch (spec_.technique) {
    case Technique::kDdp:
      ddp_step(b, *this, rank, step);
      break;
    case Technique::kZero1:
    case Technique::kZero2:
    case Technique::kZero3:
      zero_step(b, *this, rank, step);
      break;
    case Technique::kPipeline:
      pipeline_step(b, *this, rank, step);
      break;
    case Technique::kParameterServer:
      parameter_server_step(b, *this, rank, step);
      break;
    case Technique::kTensorData:
      tensor_data_step(b, *this, rank, step);
      break;
  }
  return true;
}

}  // namespace dprof::synth
