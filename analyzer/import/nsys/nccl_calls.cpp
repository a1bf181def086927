// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/nsys/nccl_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "analyzer/import/kineto/words.h"
#include "schema/data_type.h"

namespace dprof::analyzer::nsys {
namespace {

using schema::CollectiveState;
using schema::Function;
using schema::Reduction;

constexpr int64_t kUnknownHash = 0x6E737973;  // "nsys": the same in all files
constexpr int64_t kLargestJob = 1 << 20;

// Little-endian, in the widths of NCCL's fields.
std::optional<int64_t> field(std::string_view bytes, const SchemaEntry& entry) {
  constexpr int64_t kWide[] = {7, 8, 9, 10, 17, 18, 22, 23};  // NVTX's types of eight bytes
  const size_t width =
      std::ranges::find(kWide, entry.type) != std::end(kWide) ? sizeof(int64_t) : sizeof(int32_t);
  if (entry.offset < 0 || static_cast<uint64_t>(entry.offset) + width > bytes.size())
    return std::nullopt;
  const char* at = bytes.data() + entry.offset;
  if (width == sizeof(int64_t)) {
    int64_t wide = 0;
    std::memcpy(&wide, at, sizeof wide);
    return wide;
  }
  int32_t narrow = 0;
  std::memcpy(&narrow, at, sizeof narrow);
  return narrow;
}

std::optional<Function> called_function(std::string_view name) {
  if (name == "ncclBcast") return Function::kBroadcast;
  if (name.starts_with("ncclComm") || name.starts_with("ncclRedOp") ||
      name.starts_with("ncclMem") || name.starts_with("ncclGroup"))
    return std::nullopt;
  return kineto::function_of(name);
}

// Functions that NCCL implements with sends and receives.
bool is_of_messages(Function function) {
  switch (function) {
    case Function::kSend:
    case Function::kRecv:
    case Function::kAllToAll:
    case Function::kGather:
    case Function::kScatter:
      return true;
    default:
      return false;
  }
}

Reduction reduction_of_code(std::optional<int64_t> value) {
  constexpr Reduction kReductions[] = {Reduction::kSum, Reduction::kProduct, Reduction::kMax,
                                       Reduction::kMin, Reduction::kAvg};
  return value && *value >= 0 && *value < 5 ? kReductions[*value] : Reduction::kNone;
}

bool reduces(Function function) {
  return function == Function::kAllReduce || function == Function::kReduce ||
         function == Function::kReduceScatter;
}

}  // namespace

NcclPayload nccl_payload(const PayloadSchema& schema, std::string_view bytes) {
  NcclPayload payload;
  for (const SchemaEntry& entry : schema.entries) {
    const std::optional<int64_t> value = field(bytes, entry);
    if (entry.name == "NCCL communicator ID") payload.communicator = value;
    if (entry.name.starts_with("Message size") && value.value_or(-1) >= 0) payload.bytes = value;
    if (entry.name == "Reduction operation") payload.reduction = value;
    if (entry.name == "Root") payload.root = value;
    if (entry.name == "Peer rank") payload.peer = value;
    if (entry.name == "No. of ranks") payload.ranks = value;
    if (entry.name == "Rank") payload.rank = value;
  }
  return payload;
}

void NcclCalls::add_range(int64_t thread, int64_t start, int64_t end, std::string_view name,
                          const NcclPayload& payload) {
  if (payload.communicator) {
    Member& member = communicators_[*payload.communicator];
    const int64_t ranks = payload.ranks.value_or(0);
    const int64_t rank = payload.rank.value_or(-1);
    if (ranks > 0 && ranks <= kLargestJob && rank >= 0 && rank < ranks) {
      member.ranks = ranks;
      member.rank = rank;
      if (ranks > world_size_.value_or(0)) {
        world_size_ = static_cast<int>(ranks);
        rank_ = static_cast<int>(rank);
      }
    }
  }
  Call call{.thread = thread, .start = start, .end = end, .payload = payload};
  if (name == "ncclGroupStart") {
    call.kind = Call::Kind::kGroupStart;
  } else if (name == "ncclGroupEnd") {
    call.kind = Call::Kind::kGroupEnd;
  } else if (const std::optional<Function> function = called_function(name)) {
    call.function = *function;
  } else {
    return;
  }
  calls_.push_back(call);
}

void NcclCalls::add_kernel(const schema::GpuActivityRow& row, std::string_view name) {
  Kernel kernel{.row = row, .function = kineto::function_of(name), .launch = {}};
  kernel.reduction = kineto::reduction_of(kernel.function.value_or(Function::kUnknown), name);
  kernel.dtype = kernel_data_type(name);
  kernel.of_messages = name.substr(0, name.find('(')).find("SendRecv") != std::string_view::npos;
  kernels_.push_back(std::move(kernel));
}

std::vector<NcclCalls::Window> NcclCalls::windows() const {
  std::vector<Window> windows;
  std::vector<size_t> grouped;
  int depth = 0;
  const auto alone = [&](size_t call) {
    windows.push_back({calls_[call].thread, calls_[call].start, calls_[call].end, {call}, {}});
  };
  for (size_t i = 0; i < calls_.size(); ++i) {
    const Call& call = calls_[i];
    if (call.kind == Call::Kind::kGroupStart) {
      ++depth;
    } else if (call.kind == Call::Kind::kGroupEnd) {
      depth = std::max(0, depth - 1);
      if (depth == 0)
        windows.push_back({call.thread, call.start, call.end, std::exchange(grouped, {}), {}});
    } else if (depth > 0) {
      grouped.push_back(i);
    } else {
      alone(i);
    }
    if (i + 1 < calls_.size() && calls_[i + 1].thread == call.thread) continue;
    for (const size_t left : grouped) alone(left);  // their group has no end
    grouped.clear();
    depth = 0;
  }
  std::ranges::stable_sort(windows, {},
                           [](const Window& w) { return std::make_tuple(w.thread, w.start); });
  return windows;
}

// The kernels in launch order.
void NcclCalls::give_kernels(std::vector<Window>& windows) {
  for (size_t i = 0; i < kernels_.size(); ++i) {
    const ApiCall& launch = kernels_[i].launch;
    const auto after = std::ranges::upper_bound(
        windows, std::make_tuple(launch.thread, launch.start), {},
        [](const Window& w) { return std::make_tuple(w.thread, w.start); });
    const bool held = launch.thread >= 0 && after != windows.begin() &&
                      (after - 1)->thread == launch.thread && launch.start <= (after - 1)->end;
    held ? (after - 1)->kernels.push_back(i) : add(nullptr, &kernels_[i]);
  }
}

// A kernel without a function in its name can be of any.
bool NcclCalls::fits(const Kernel& kernel, Function function) {
  if (kernel.of_messages) return is_of_messages(function);
  return !kernel.function || *kernel.function == function;
}

void NcclCalls::write(const Window& window) {
  std::vector<bool> used(window.kernels.size());
  for (const size_t number : window.calls) {
    const Call& call = calls_[number];
    const Kernel* own = nullptr;
    const Kernel* shared = nullptr;  // also that of an earlier call
    for (size_t k = 0; own == nullptr && k < window.kernels.size(); ++k) {
      const Kernel& kernel = kernels_[window.kernels[k]];
      if (!fits(kernel, call.function)) continue;
      (used[k] ? shared : own) = &kernel;
      used[k] = true;
    }
    add(&call, own != nullptr ? own : shared);
  }
  for (size_t k = 0; k < window.kernels.size(); ++k) {
    if (!used[k]) add(nullptr, &kernels_[window.kernels[k]]);
  }
}

int64_t NcclCalls::communicator(std::optional<int64_t> hash) {
  if (!hash) {
    ++without_communicator_;
    if (unknown_) return *unknown_;
    schema::CommunicatorRow row{.hash = kUnknownHash, .backend = schema::Backend::kNccl};
    row.name_id = sink_.text("unknown group");
    unknown_ = sink_.add_communicator(row, {});
    return *unknown_;
  }
  Member& member = communicators_[*hash];
  if (!member.id) {
    schema::CommunicatorRow row{.hash = *hash, .backend = schema::Backend::kNccl};
    row.size = member.ranks;
    row.own_rank = member.rank;
    member.id = sink_.add_communicator(row, {});
  }
  return *member.id;
}

void NcclCalls::add(const Call* call, const Kernel* kernel) {
  schema::CollectiveRow row;
  row.source = schema::Source::kImport;
  row.function = call != nullptr ? call->function : kernel->function.value_or(Function::kUnknown);
  const NcclPayload payload = call != nullptr ? call->payload : NcclPayload{};
  row.communicator_id = communicator(payload.communicator);
  row.bytes = payload.bytes;
  if (row.bytes && row.function == Function::kReduceScatter) {
    // NCCL records the size of one rank's share; the input is that times the number of ranks.
    const std::optional<int64_t> ranks = communicators_[*payload.communicator].ranks;
    int64_t whole = 0;
    const bool known = ranks && !__builtin_mul_overflow(*row.bytes, *ranks, &whole);
    row.bytes = known ? std::optional(whole) : std::nullopt;
  }
  if (payload.root.value_or(-1) >= 0) row.root = payload.root;
  if (payload.peer.value_or(-1) >= 0) row.peer = payload.peer;
  if (reduces(row.function)) row.reduction = reduction_of_code(payload.reduction);
  row.state = kernel == nullptr ? CollectiveState::kUnobserved : CollectiveState::kComplete;
  if (kernel != nullptr) {
    row.dtype = kernel->dtype;
    if (const auto each = schema::bytes_of(row.dtype); each && row.bytes)
      row.count = *row.bytes / *each;
    if (row.reduction == Reduction::kNone && reduces(row.function))
      row.reduction = kernel->reduction;
    row.start_ns = kernel->row.start_ns;
    row.end_ns = kernel->row.start_ns + kernel->row.duration_ns.value_or(0);
    row.stream_id = kernel->row.stream_id;
    row.correlation = kernel->row.correlation;
    row.captured = kernel->row.graph_node ? 1 : 0;
  }
  if (call != nullptr) {
    row.enqueue_ns = call->start;
    row.enqueue_thread_id = call->thread;
  } else if (kernel->launch.thread >= 0) {
    row.enqueue_ns = kernel->launch.start;
    row.enqueue_thread_id = kernel->launch.thread;
  }
  sink_.add(row);
}

void NcclCalls::finish(const ApiCalls& apis) {
  std::ranges::stable_sort(calls_, {},
                           [](const Call& c) { return std::make_tuple(c.thread, c.start); });
  for (Kernel& kernel : kernels_) {
    const auto launch = apis.find(kernel.row.correlation.value_or(0));
    if (launch != apis.end()) kernel.launch = launch->second;
  }
  std::ranges::stable_sort(kernels_, {}, [](const Kernel& k) {
    return std::make_tuple(k.launch.thread, k.launch.start, k.row.start_ns);
  });
  std::vector<Window> all = windows();
  give_kernels(all);
  for (const Window& window : all) write(window);
  if (without_communicator_ > 0) {
    sink_.remark(
        "import_groups_unknown",
        fmt::format("{} NCCL operations do not name their communicator", without_communicator_),
        without_communicator_);
  }
}

}  // namespace dprof::analyzer::nsys
