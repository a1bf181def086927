// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/kineto/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include "analyzer/import/kineto/decimal.h"
#include "analyzer/import/kineto/words.h"
#include "schema/data_type.h"

namespace dprof::analyzer::kineto {
namespace {

using schema::CollectiveState;
using schema::Function;

// The first element of an array of strings: ["float", "Int"]: float.
std::string_view first_string(std::string_view array) {
  const size_t open = array.find('"');
  if (open == std::string_view::npos) return {};
  const size_t close = array.find('"', open + 1);
  return close == std::string_view::npos ? std::string_view{}
                                         : array.substr(open + 1, close - open - 1);
}

// Elements of the first tensor, or list of tensors: [[2, 3], []]: 6; [[[2], [3]], []]: 5.
std::optional<int64_t> first_elements(std::string_view dims) {
  constexpr int64_t kMost = int64_t{1} << 50;
  int depth = 0;
  int64_t sum = 0;
  int64_t product = 1;
  bool any = false;
  size_t at = 0;
  while (at < dims.size()) {
    const char c = dims[at];
    if (c == '[') {
      ++depth;
      product = 1;
      any = false;
      ++at;
    } else if (c == ']') {
      if (any) sum += product;
      any = false;
      --depth;
      ++at;
      if (depth == 1) break;  // end of the first input
    } else if (c >= '0' && c <= '9') {
      const size_t begin = at;
      while (at < dims.size() && dims[at] >= '0' && dims[at] <= '9') ++at;
      const std::optional<int64_t> size = whole_number(dims.substr(begin, at - begin));
      if (!size || *size < 0 || *size > kMost || (*size > 0 && product > kMost / *size))
        return std::nullopt;
      product *= *size;
      any = true;
    } else {
      ++at;
    }
    if (depth < 0 || sum > kMost) return std::nullopt;
  }
  return sum > 0 ? std::optional(sum) : std::nullopt;
}

template <typename Call>
bool holds(const Call& call, int64_t thread, int64_t time) {
  return call.thread == thread && call.start <= time && time <= call.end;
}

}  // namespace

CollectiveFields Collectives::fields_of(const Event& event, std::string_view name) {
  CollectiveFields fields;
  if (const Value function = event[Arg::kCollectiveName]; function.there()) {
    fields.function = function_of(function.raw);
  } else if (name != kCallName) {
    fields.function = function_of(name);
  }
  if (const Value type = event[Arg::kDtype]; type.there()) fields.dtype = data_type_of(type.raw);
  fields.count = number_of(event, Arg::kInElements);
  if (!event.has(Arg::kCollectiveName) && event[Arg::kInputDims].kind == Value::Kind::kArray) {
    fields.count = first_elements(event[Arg::kInputDims].raw);
    fields.dtype = data_type_of(first_string(event[Arg::kInputType].raw));
  }
  if (fields.function == Function::kBarrier) fields.count.reset();
  if (const auto sequence = number_of(event, Arg::kGroupSequence); sequence.value_or(0) > 0) {
    fields.group_sequence = *sequence - 1;  // c10d counts from 1
  }
  if (fields.function == Function::kSend)
    fields.peer_rank = number_of(event, Arg::kDestinationRank);
  if (fields.function == Function::kRecv) fields.peer_rank = number_of(event, Arg::kSourceRank);
  GroupFields group = group_fields_of(event);
  fields.has_group = group != GroupFields{};
  fields.group = groups_.number(std::move(group));
  return fields;
}

void Collectives::add_kernel(const Event& event, const schema::GpuActivityRow& row,
                             std::string_view name) {
  Kernel kernel{.row = row, .external = number_of(event, Arg::kExternalId), .fields = {}};
  kernel.fields = fields_of(event, name);
  kernel.reduction = reduction_of(kernel.fields.function.value_or(Function::kUnknown), name);
  if (row.correlation) launches_.try_emplace(*row.correlation);
  kernels_.push_back(std::move(kernel));
}

void Collectives::add_call(const Event& event, const schema::HostRangeRow& row,
                           std::string_view name) {
  Call call{.thread = row.thread_id,
            .start = row.start_ns,
            .end = row.start_ns + row.duration_ns.value_or(0),
            .external = number_of(event, Arg::kExternalId),
            .fields = fields_of(event, name)};
  const bool is_range = name != kCallName;
  call.backend = is_range ? backend_of(name.substr(0, name.find(':'))) : schema::Backend::kUnknown;
  (is_range ? ranges_ : calls_).push_back(std::move(call));
}

void Collectives::add_dependency(const schema::GpuDependencyRow& row,
                                 std::optional<int64_t> record) {
  if (record) launches_.try_emplace(*record);
  dependencies_.push_back({row, record.value_or(-1)});
}

void Collectives::range(const schema::HostRangeRow& row) {
  if (!row.correlation || row.category != schema::RangeCategory::kApi) return;
  const auto wanted = launches_.find(*row.correlation);
  if (wanted != launches_.end()) wanted->second = {row.thread_id, row.start_ns};
}

void Collectives::index_calls() {
  const auto place = [](const Call& call) { return std::make_tuple(call.thread, call.start); };
  std::ranges::stable_sort(calls_, {}, place);
  std::ranges::stable_sort(ranges_, {}, place);
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (calls_[i].external) calls_by_external_.try_emplace(*calls_[i].external, i);
  }
  for (size_t i = 0; i < ranges_.size(); ++i) {
    if (ranges_[i].external) ranges_by_external_.try_emplace(*ranges_[i].external, i);
  }
}

// The innermost call that contains the launch; a nested one begins later.
Collectives::Call* Collectives::find_call(std::vector<Call>& calls, const Kernel& kernel,
                                          const Launch& launch,
                                          const std::unordered_map<int64_t, size_t>& by_external) {
  if (launch.thread >= 0) {
    const auto after = std::ranges::upper_bound(
        calls, std::make_tuple(launch.thread, launch.start), {},
        [](const Call& call) { return std::make_tuple(call.thread, call.start); });
    if (after != calls.begin() && holds(*(after - 1), launch.thread, launch.start)) {
      return &*(after - 1);
    }
    return nullptr;
  }
  if (!kernel.external) return nullptr;
  const auto known = by_external.find(*kernel.external);
  return known == by_external.end() ? nullptr : &calls[known->second];
}

schema::CollectiveRow Collectives::row_of(const CollectiveFields& fields,
                                          const CollectiveFields* more, schema::Backend backend) {
  const auto either = [&](auto member) {
    return (fields.*member || more == nullptr) ? fields.*member : more->*member;
  };
  schema::CollectiveRow row;
  row.source = schema::Source::kImport;
  row.function = either(&CollectiveFields::function).value_or(Function::kUnknown);
  row.count = either(&CollectiveFields::count);
  row.group_sequence = either(&CollectiveFields::group_sequence);
  const bool has_type = fields.dtype != schema::DataType::kUnknown || more == nullptr;
  row.dtype = has_type ? fields.dtype : more->dtype;
  const std::optional<int64_t> each = bytes_of(row.dtype);
  constexpr int64_t kMostElements = int64_t{1} << 55;
  if (row.count && each && *row.count >= 0 && *row.count < kMostElements)
    row.bytes = *row.count * *each;
  const size_t group = fields.has_group || more == nullptr ? fields.group : more->group;
  if (groups_.is_unknown(group)) ++without_group_;
  row.communicator_id = groups_.communicator(sink_, group, backend, own_rank_);
  if (const auto peer = either(&CollectiveFields::peer_rank)) {
    const std::vector<int> members = groups_.members(group);
    const auto known = std::ranges::find(members, *peer);
    if (known != members.end()) row.peer = known - members.begin();
  }
  return row;
}

void Collectives::add_from_kernel(const Kernel& kernel) {
  Launch launch;
  if (kernel.row.correlation) {
    const auto known = launches_.find(*kernel.row.correlation);
    if (known != launches_.end()) launch = known->second;
  }
  Call* call = find_call(calls_, kernel, launch, calls_by_external_);
  Call* range = find_call(ranges_, kernel, launch, ranges_by_external_);
  const bool call_says = call != nullptr && call->fields.function;
  Call* source = call_says ? call : range;
  schema::CollectiveRow row =
      row_of(kernel.fields, source == nullptr ? nullptr : &source->fields, schema::Backend::kNccl);
  row.start_ns = kernel.row.start_ns;
  row.end_ns = kernel.row.start_ns + kernel.row.duration_ns.value_or(0);
  row.state = CollectiveState::kComplete;
  row.stream_id = kernel.row.stream_id;
  row.correlation = kernel.row.correlation;
  row.captured = kernel.row.graph_node ? 1 : 0;
  row.reduction = kernel.reduction;
  if (const Call* outer = call != nullptr ? call : range; outer != nullptr) {
    row.enqueue_ns = outer->start;
    row.enqueue_thread_id = outer->thread;
  } else if (launch.thread >= 0) {
    row.enqueue_ns = launch.start;
    row.enqueue_thread_id = launch.thread;
  }
  if (call != nullptr) call->used = true;
  if (range != nullptr) range->used = true;
  sink_.add(row);
}

// Ranges of Gloo's (and MPI's) workers are the execution; their calls are in the same order.
void Collectives::add_executions() {
  std::map<Function, std::deque<Call*>> waiting;
  std::vector<Call*> in_order;
  for (Call& call : calls_) {
    if (!call.used && call.fields.function) in_order.push_back(&call);
  }
  std::ranges::stable_sort(in_order, {}, &Call::start);
  for (Call* call : in_order) waiting[*call->fields.function].push_back(call);
  std::vector<Call*> executions;
  for (Call& range : ranges_) {
    const bool executes =
        range.backend == schema::Backend::kGloo || range.backend == schema::Backend::kMpi;
    if (executes && !range.used && range.fields.function) executions.push_back(&range);
  }
  std::ranges::stable_sort(executions, {}, &Call::start);
  for (Call* range : executions) {
    std::deque<Call*>& calls = waiting[*range->fields.function];
    Call* call = !calls.empty() && calls.front()->start <= range->start ? calls.front() : nullptr;
    if (call != nullptr) calls.pop_front();
    schema::CollectiveRow row =
        row_of(range->fields, call == nullptr ? nullptr : &call->fields, range->backend);
    row.start_ns = range->start;
    row.end_ns = range->end;
    row.thread_id = range->thread;
    row.state = CollectiveState::kComplete;
    if (call != nullptr) {
      row.enqueue_ns = call->start;
      row.enqueue_thread_id = call->thread;
      call->used = true;
    }
    range->used = true;
    sink_.add(row);
  }
}

// Calls whose execution is not in the file. A range within a call describes the same call.
void Collectives::add_unobserved() {
  const auto add = [&](Call& call, schema::Backend backend) {
    if (call.used || !call.fields.function) return;
    call.used = true;
    schema::CollectiveRow row = row_of(call.fields, nullptr, backend);
    row.enqueue_ns = call.start;
    row.enqueue_thread_id = call.thread;
    row.state = CollectiveState::kUnobserved;
    sink_.add(row);
  };
  for (Call& range : ranges_) {
    const auto after = std::ranges::upper_bound(
        calls_, std::make_tuple(range.thread, range.start), {},
        [](const Call& call) { return std::make_tuple(call.thread, call.start); });
    const bool within = after != calls_.begin() && holds(*(after - 1), range.thread, range.start);
    if (within && ((after - 1)->fields.function || (after - 1)->used)) range.used = true;
  }
  for (Call& call : calls_) add(call, job_backend_);
  for (Call& range : ranges_) add(range, range.backend);
}

void Collectives::add_dependencies() {
  for (Dependency& dependency : dependencies_) {
    const auto record = launches_.find(dependency.record);
    if (record != launches_.end() && record->second.thread >= 0) {
      dependency.row.record_ns = record->second.start;
    }
    sink_.add(dependency.row);
  }
}

void Collectives::all_seen() {
  index_calls();
  for (const Kernel& kernel : kernels_) add_from_kernel(kernel);
  add_executions();
  add_unobserved();
  add_dependencies();
  if (without_group_ > 0) {
    sink_.remark("import_groups_unknown",
                 fmt::format("{} collectives do not name their process group", without_group_),
                 without_group_);
  }
}

}  // namespace dprof::analyzer::kineto
