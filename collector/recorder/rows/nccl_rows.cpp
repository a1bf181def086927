// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/nccl_rows.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>

#include "collector/recorder/common/if_known.h"
#include "collector/recorder/rows/nccl_calls.h"
#include "collector/recorder/rows/nccl_sizes.h"
#include "schema/function.h"

namespace dprof::recorder {

using schema::CollectiveRow;
using schema::CollectiveState;
using schema::Function;
using schema::is_message;
using wire::Kind;

namespace {

bool data_makes_sense(int64_t count, uint8_t function, uint8_t data_type) {
  return count >= -1 && function <= static_cast<uint8_t>(Function::kRecv) &&
         data_type <= static_cast<uint8_t>(schema::DataType::kFloat8);
}

bool makes_sense(const wire::NcclCommunicator& body) {
  return body.hash != 0 && body.ordinal <= std::numeric_limits<int64_t>::max() &&
         body.ranks >= -1 && body.rank >= -1 && (body.ranks < 0 || body.rank < body.ranks);
}

bool makes_sense(const wire::NcclKernelChannel& body) {
  constexpr uint64_t kLatest = std::numeric_limits<int64_t>::max();
  return body.start_device_ns <= kLatest && body.stop_device_ns <= kLatest;
}

bool makes_sense(const wire::NcclProxy& body) {
  return body.bytes >= -1 && body.peer >= -1 && body.is_send <= 1;
}

// 0 is not known.
std::optional<int64_t> nonzero(uint64_t value) {
  return value == 0 ? std::nullopt : std::optional(static_cast<int64_t>(value));
}

void set_input(CollectiveRow& row, Function function, int64_t count, schema::DataType dtype,
               std::optional<int64_t> ranks) {
  row.dtype = dtype;
  const std::optional<int64_t> elements = input_elements(function, count, ranks);
  if (!elements) return;
  row.count = elements;
  row.bytes = elements_to_bytes(*elements, dtype);
}

}  // namespace

bool NcclRows::await_turn(const ThreadRef& thread, int64_t time_ns, What what) {
  items_.push_back({time_ns, arrivals_++, thread, std::move(what)});
  return true;
}

bool NcclRows::on_record(const wire::ReadRecord& read, const ThreadRef& thread, int64_t time_ns) {
  const wire::Record& record = read.record;
  switch (record.kind) {
    case Kind::kNcclCommunicator: {
      const auto body = body_of<wire::NcclCommunicator>(record);
      return makes_sense(body) &&
             await_turn(thread, time_ns, Announced{body, context_.names.find(record.string).id});
    }
    case Kind::kNcclCall: {
      const auto body = body_of<wire::NcclCall>(record);
      return body.id != 0 && body.hash != 0 && body.root >= -1 &&
             data_makes_sense(body.count, body.function, body.data_type) &&
             await_turn(thread, time_ns, body);
    }
    case Kind::kNcclCollective: {
      Collective collective{body_of<wire::NcclCollective>(record), {}};
      const wire::NcclCollective& body = collective.body;
      if (read.more_bytes >= sizeof collective.tuning) {
        std::memcpy(&collective.tuning, read.more, sizeof collective.tuning);
      }
      return body.id != 0 && body.hash != 0 && body.root >= -1 &&
             data_makes_sense(body.count, body.function, body.data_type) &&
             await_turn(thread, time_ns, collective);
    }
    case Kind::kNcclPointToPoint: {
      const auto body = body_of<wire::NcclPointToPoint>(record);
      return body.id != 0 && body.hash != 0 && body.peer >= -1 &&
             is_message(static_cast<Function>(body.function)) &&
             data_makes_sense(body.count, body.function, body.data_type) &&
             await_turn(thread, time_ns, body);
    }
    case Kind::kNcclLaunch: {
      const auto body = body_of<wire::NcclLaunch>(record);
      return body.id != 0 && await_turn(thread, time_ns, body);
    }
    case Kind::kNcclKernelChannel: {
      const auto body = body_of<wire::NcclKernelChannel>(record);
      return makes_sense(body) && await_turn(thread, time_ns, body);
    }
    case Kind::kNcclProxy:
      return on_proxy(record, thread, time_ns);
    default:
      return false;
  }
}

bool NcclRows::on_proxy(const wire::Record& record, const ThreadRef& thread, int64_t time_ns) {
  const auto body = body_of<wire::NcclProxy>(record);
  const auto second = static_cast<uint64_t>(context_.clock.ticks_per_second());
  const uint64_t latest = context_.clock.now_ticks() + second;  // another core may read it later
  if (!makes_sense(body) || record.ticks > latest || body.duration_ticks > latest - record.ticks) {
    return false;
  }
  const int64_t end_ns = context_.clock.to_host(record.ticks + body.duration_ticks).ns;
  return await_turn(thread, time_ns, Proxy{body, end_ns});
}

void NcclRows::on_enqueue(const wire::Record& record, const ThreadRef& thread, int64_t time_ns,
                          std::optional<int64_t> ready_ns) {
  await_turn(thread, time_ns, Enqueue{record.enqueue, ready_ns});
}

bool NcclRows::is_nccl_domain(uint32_t domain) {
  if (!last_domain_ || last_domain_->first != domain) {
    last_domain_ = std::pair(domain, context_.names.text(domain) == kNcclDomain);
  }
  return last_domain_->second;
}

void NcclRows::on_payload(const RangePayload& payload) {
  if (payload.domain == 0 || !is_nccl_domain(payload.domain)) return;
  const PayloadSchemas::Schema* schema = context_.schemas.find(payload.domain, payload.schema_id);
  if (schema == nullptr) return;
  const NvtxNccl body =
      read_nccl_payload(*schema, payload.bytes, context_.names.text(payload.name));
  const int64_t time_ns = payload.end_ns.value_or(payload.start_ns);
  if (const auto* call = std::get_if<NvtxNcclCall>(&body))
    await_turn(payload.thread, time_ns, *call);
  if (const auto* one = std::get_if<NvtxNcclCommunicator>(&body)) {
    await_turn(payload.thread, time_ns, *one);
  }
}

void NcclRows::run(int64_t until_ns) {
  if (items_.empty()) return;
  std::ranges::sort(items_, {},
                    [](const Item& item) { return std::tuple(item.time_ns, item.arrival); });
  const auto end = std::ranges::upper_bound(items_, until_ns, {}, &Item::time_ns);
  for (auto item = items_.begin(); item != end; ++item) {
    join(*item);
  }
  items_.erase(items_.begin(), end);
}

// The effect of each record on the rows: LibTorch's call makes one, the plugin's call adopts it (or
// makes one of its own), its collective or message completes it, channels and proxies refer to
// that; NVTX supplies what the plugin does not.
void NcclRows::join(const Item& item) {
  std::visit(
      [&]<typename What>(const What& what) {
        if constexpr (std::is_same_v<What, Enqueue>) start_torch_row(item, what);
        if constexpr (std::is_same_v<What, Announced>) describe_by_plugin(item, what);
        if constexpr (std::is_same_v<What, NvtxNcclCommunicator>) describe_by_nvtx(item, what);
        if constexpr (std::is_same_v<What, wire::NcclCall>) join_call(item, what);
        if constexpr (std::is_same_v<What, Collective>) join_collective(item, what);
        if constexpr (std::is_same_v<What, wire::NcclPointToPoint>) join_message(item, what);
        if constexpr (std::is_same_v<What, wire::NcclLaunch>) note_launch(what);
        if constexpr (std::is_same_v<What, wire::NcclKernelChannel>) add_channel(item, what);
        if constexpr (std::is_same_v<What, Proxy>) add_proxy(item, what);
        if constexpr (std::is_same_v<What, NvtxNcclCall>) join_nvtx_call(item, what);
      },
      item.what);
}

void NcclRows::count_refused(const Item& item) {
  context_.losses.add(schema::Source::kNccl, item.thread.id, schema::LossReason::kBadRecord, 1,
                      item.time_ns, item.time_ns);
}

// The newest one with that hash.
NcclRows::Communicator* NcclRows::communicator(uint64_t hash) {
  const auto after = communicators_.upper_bound({hash, std::numeric_limits<uint64_t>::max()});
  if (after != communicators_.begin()) {
    const auto last = std::prev(after);
    if (last->first.first == hash) return &last->second;
  }
  if (communicators_.size() >= kMostCommunicators) return nullptr;
  Communicator& made = communicators_[{hash, 0}];
  made.facts.hash = hash;
  return &made;
}

int64_t NcclRows::row_of(Communicator& communicator, std::optional<int64_t> carries) {
  if (!communicator.row_id) {
    communicator.row_id =
        context_.communicators.add_nccl(communicator.facts, carries, context_.output);
  }
  return *communicator.row_id;
}

NcclRows::Caller& NcclRows::caller(const ThreadRef& thread) {
  if (threads_.size() >= kMostThreads && !threads_.contains(thread.os_tid)) threads_.clear();
  return threads_[thread.os_tid];
}

int64_t NcclRows::add(CollectiveRow row) {
  const int64_t id = context_.collectives.add(std::move(row));
  keep(id);
  return id;
}

void NcclRows::keep(int64_t row_id) {
  open_.push_back(row_id);
  if (open_.size() <= kMostOpen) return;
  context_.collectives.release(open_.front());
  open_.pop_front();
}

void NcclRows::start_torch_row(const Item& item, const Enqueue& enqueue) {
  const int64_t id = context_.collectives.enqueue(enqueue.call, item.thread, item.time_ns,
                                                  enqueue.ready_ns, context_.output);
  keep(id);
  caller(item.thread).torch =
      TorchCall{.row_id = id, .function = static_cast<Function>(enqueue.call.function)};
}

void NcclRows::describe_by_plugin(const Item& item, const Announced& announced) {
  const wire::NcclCommunicator& body = announced.body;
  const std::pair key(body.hash, body.ordinal);
  if (communicators_.size() >= kMostCommunicators && !communicators_.contains(key)) {
    return count_refused(item);
  }
  Communicator& one = communicators_[key];
  one.by_plugin = true;
  one.facts.hash = body.hash;
  one.facts.ordinal = static_cast<int64_t>(body.ordinal);
  if (body.ranks >= 0) one.facts.size = body.ranks;
  if (body.rank >= 0) one.facts.own_rank = body.rank;
  if (announced.name_id != 0) one.facts.name_id = announced.name_id;
  if (one.row_id) context_.communicators.complete_nccl(*one.row_id, one.facts, context_.output);
}

void NcclRows::describe_by_nvtx(const Item& item, const NvtxNcclCommunicator& range) {
  Communicator* one = communicator(range.hash);
  if (one == nullptr) return count_refused(item);
  if (!one->facts.size) one->facts.size = if_known(range.ranks);
  if (!one->facts.own_rank) one->facts.own_rank = if_known(range.rank);
  if (one->row_id) context_.communicators.complete_nccl(*one->row_id, one->facts, context_.output);
}

// A group of one rank never reaches the plugin.
bool NcclRows::can_adopt(const Caller& caller, Function function) const {
  if (!caller.torch || !can_carry(caller.torch->function, function)) return false;
  const CollectiveRow* row = context_.collectives.find(caller.torch->row_id);
  return row != nullptr && row->communicator_id &&
         context_.communicators.size_of(*row->communicator_id) != 1;
}

CollectiveRow NcclRows::adopted(const TorchCall& torch, Communicator& communicator) {
  CollectiveRow row = *context_.collectives.find(torch.row_id);
  const std::optional<int64_t> before = row.communicator_id;
  row.communicator_id = row_of(communicator, before);
  if (row.communicator_id != before) {
    row.sequence = context_.collectives.next_sequence(*row.communicator_id, row.function);
  }
  return row;
}

std::optional<int64_t> NcclRows::row_for(const Item& item, const wire::NcclCall& call) {
  Communicator* one = communicator(call.hash);
  if (one == nullptr) return std::nullopt;
  Caller& from = caller(item.thread);
  const auto function = static_cast<Function>(call.function);
  const bool torch_can = can_adopt(from, function);
  const bool composed = torch_can && is_composed(from.torch->function, function);
  const bool same_group = torch_can && from.torch->adopted && call.launch != 0 &&
                          from.torch->launch == call.launch && from.torch->hash == call.hash;
  if (composed && same_group) return from.torch->row_id;

  const bool adopts = torch_can && !from.torch->adopted;
  CollectiveRow row;
  if (adopts) {
    row = adopted(*from.torch, *one);
    from.torch->adopted = true;
    from.torch->launch = call.launch;
    from.torch->hash = call.hash;
  } else {
    row.communicator_id = row_of(*one);
    row.function = function;
    row.enqueue_thread_id = item.thread.id;
    if (same_group) {
      row.reduction = context_.collectives.find(from.torch->row_id)->reduction;
    }
  }
  row.source = schema::Source::kNccl;
  row.state = CollectiveState::kUnobserved;
  row.enqueue_ns = item.time_ns;
  row.captured = (call.flags & wire::nccl_flag::kCaptured) != 0 ? 1 : 0;
  if (row.function == function) {
    row.sequence = std::nullopt;  // NCCL has its own
    if (call.count >= 0) {
      set_input(row, function, call.count, static_cast<schema::DataType>(call.data_type),
                one->facts.size);
    }
    if (call.root >= 0 && !is_message(function)) row.root = call.root;
    const bool ranged =
        from.nvtx && from.nvtx->hash == call.hash && from.nvtx->function == function;
    if (ranged && row.reduction == schema::Reduction::kNone) row.reduction = from.nvtx->reduction;
    if (ranged && is_message(function) && !row.peer) row.peer = if_known(from.nvtx->peer);
  }
  from.nvtx.reset();
  if (!adopts) return add(std::move(row));
  context_.collectives.set(row);
  return row.id;
}

void NcclRows::join_call(const Item& item, const wire::NcclCall& call) {
  const std::optional<int64_t> row_id = row_for(item, call);
  if (!row_id) return count_refused(item);
  calls_.at(call.id, kMostOpen) = *row_id;
  if (call.launch == 0) return;
  std::vector<int64_t>& rows = groups_.at({call.launch, call.stream}, kMostGroups);
  const bool known_already = !rows.empty() && rows.back() == *row_id;
  if (!known_already && rows.size() < kMostRowsOfGroup) rows.push_back(*row_id);
}

void NcclRows::join_collective(const Item& item, const Collective& collective) {
  const wire::NcclCollective& body = collective.body;
  const auto function = static_cast<Function>(body.function);
  const int64_t* of_call = body.call != 0 ? calls_.find(body.call) : nullptr;
  std::optional<int64_t> row_id = of_call != nullptr ? std::optional(*of_call) : std::nullopt;
  if (!row_id) {
    wire::NcclCall call{};
    call.hash = body.hash;
    call.count = body.count;
    call.root = body.root;
    call.function = body.function;
    call.data_type = body.data_type;
    call.flags = body.flags;
    row_id = row_for(item, call);
  }
  if (!row_id) return count_refused(item);
  parents_.at(body.id, kMostOpen) = *row_id;
  const CollectiveRow* found = context_.collectives.find(*row_id);
  if (found == nullptr) return;
  CollectiveRow row = *found;
  const bool in_bytes = function == Function::kAllGather || function == Function::kBroadcast;
  if (of_call == nullptr && in_bytes && row.function == function) {
    row.dtype = schema::DataType::kUnknown;  // NCCL counts these in bytes
    row.count = std::nullopt;
  }
  const bool numbered = body.sequence <= std::numeric_limits<int64_t>::max();
  if (row.function == function && !row.sequence && numbered) {
    row.sequence = static_cast<int64_t>(body.sequence);
  }
  const auto text = [&](uint32_t arena_id) -> std::optional<std::string> {
    return arena_id == 0 ? std::nullopt : std::optional(context_.names.text(arena_id));
  };
  if (!row.algorithm) row.algorithm = text(collective.tuning.algorithm);
  if (!row.protocol) row.protocol = text(collective.tuning.protocol);
  if (!row.channels && body.channels != 0) row.channels = body.channels;
  context_.collectives.set(std::move(row));
}

void NcclRows::join_message(const Item& item, const wire::NcclPointToPoint& message) {
  const int64_t* of_call = message.call != 0 ? calls_.find(message.call) : nullptr;
  std::optional<int64_t> row_id = of_call != nullptr ? std::optional(*of_call) : std::nullopt;
  if (!row_id) {
    wire::NcclCall call{};
    call.hash = message.hash;
    call.count = message.count;
    call.root = -1;
    call.function = message.function;
    call.data_type = message.data_type;
    call.flags = message.flags;
    row_id = row_for(item, call);
  }
  if (!row_id) return count_refused(item);
  parents_.at(message.id, kMostOpen) = *row_id;
  const CollectiveRow* found = context_.collectives.find(*row_id);
  if (found == nullptr) return;
  CollectiveRow row = *found;
  if (is_message(row.function)) {
    if (message.peer >= 0) row.peer = message.peer;
    const bool numbered = message.sequence <= std::numeric_limits<int64_t>::max();
    if (!row.sequence && numbered) row.sequence = static_cast<int64_t>(message.sequence);
  } else if (!row.sequence && row.communicator_id && row.captured == 0) {
    // A collective that NCCL builds from messages: it has no number of its own.
    row.sequence = context_.collectives.next_sequence(*row.communicator_id, row.function);
  }
  if (!row.channels && message.channels != 0) row.channels = message.channels;
  context_.collectives.set(std::move(row));
}

void NcclRows::note_launch(const wire::NcclLaunch& launch) {
  launches_.at(launch.id, kMostGroups) = {launch.group, launch.stream};
}

// The parent can be another process's, or its record lost.
void NcclRows::add_event(uint64_t parent, schema::NcclEventRow row) {
  const int64_t* found = parent != 0 ? parents_.find(parent) : nullptr;
  if (found != nullptr) row.collective_id = *found;
  row.id = ++events_;
  context_.output.append(row);
}

void NcclRows::add_channel(const Item& item, const wire::NcclKernelChannel& channel) {
  const bool in_order = channel.stop_device_ns >= channel.start_device_ns;
  add_event(channel.parent,
            {.kind = schema::NcclEventKind::kChannel,
             .channel = channel.channel,
             .start_ns = item.time_ns,
             .device_start_ns = nonzero(channel.start_device_ns),
             .device_end_ns = in_order ? nonzero(channel.stop_device_ns) : std::nullopt});
}

void NcclRows::add_proxy(const Item& item, const Proxy& proxy) {
  const wire::NcclProxy& body = proxy.body;
  add_event(body.parent, {.kind = schema::NcclEventKind::kProxy,
                          .channel = body.channel,
                          .peer = if_known(body.peer),
                          .is_send = body.is_send,
                          .bytes = if_known(body.bytes),
                          .steps = nonzero(body.steps),
                          .start_ns = item.time_ns,
                          .duration_ns = nonzero(static_cast<uint64_t>(
                              std::max<int64_t>(0, proxy.end_ns - item.time_ns)))});
}

void NcclRows::join_nvtx_call(const Item& item, const NvtxNcclCall& call) {
  Communicator* one = communicator(call.hash);
  if (one == nullptr) return count_refused(item);
  Caller& from = caller(item.thread);
  if (one->by_plugin && one->facts.size != 1) {
    from.nvtx = call;
    return;
  }
  const std::optional<int64_t> bytes =
      input_elements(call.function, call.message_bytes, one->facts.size);
  const bool torch_can = from.torch && can_carry(from.torch->function, call.function);
  const CollectiveRow* torch_row =
      torch_can ? context_.collectives.find(from.torch->row_id) : nullptr;
  if (torch_row != nullptr) {
    TorchCall& torch = *from.torch;
    if (!torch.adopted) {
      torch.adopted = true;
      torch.hash = call.hash;
      torch.nvtx_bytes = bytes.value_or(0);
      context_.collectives.set(adopted(torch, *one));
      return;
    }
    const bool fits = torch_row->bytes && bytes && *bytes <= *torch_row->bytes - torch.nvtx_bytes;
    if (torch.hash == call.hash && (is_composed(torch.function, call.function) || fits)) {
      torch.nvtx_bytes += fits ? *bytes : 0;
      return;
    }
  }
  CollectiveRow row;
  row.communicator_id = row_of(*one);
  row.function = call.function;
  row.sequence = context_.collectives.next_sequence(*row.communicator_id, row.function);
  row.bytes = bytes;
  row.root = if_known(call.root);
  row.peer = if_known(call.peer);
  row.reduction = call.reduction;
  row.enqueue_ns = item.time_ns;
  row.enqueue_thread_id = item.thread.id;
  row.state = CollectiveState::kUnobserved;
  row.source = schema::Source::kNvtx;
  add(std::move(row));
}

void NcclRows::on_kernel(const LaunchedKernel& kernel) {
  const Group* group = launches_.find(kernel.launch);
  const std::vector<int64_t>* rows = group != nullptr ? groups_.find(*group) : nullptr;
  if (rows == nullptr) return;
  for (const int64_t id : *rows) {
    const CollectiveRow* found = context_.collectives.find(id);
    if (found == nullptr) continue;
    CollectiveRow row = *found;
    row.start_ns = std::min(row.start_ns.value_or(kernel.start_ns), kernel.start_ns);
    row.end_ns = std::max(row.end_ns.value_or(kernel.end_ns), kernel.end_ns);
    row.stream_id = kernel.stream_id;
    if (!row.correlation) row.correlation = kernel.correlation;
    row.state = CollectiveState::kComplete;
    context_.collectives.set(std::move(row));
  }
}

void NcclRows::finish() {
  for (auto& [key, one] : communicators_) row_of(one);
}

}  // namespace dprof::recorder
