// SPDX-License-Identifier: Apache-2.0
// JSON of AMD's rocprofv3 (`--output-format json`).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "analyzer/import/format.h"
#include "analyzer/import/input.h"
#include "analyzer/import/kineto/words.h"
#include "analyzer/import/nsys/nccl_calls.h"
#include "analyzer/import/nsys/words.h"
#include "analyzer/import/plain_data.h"

namespace dprof::analyzer::rocprofv3 {
namespace {

namespace fs = std::filesystem;
using Id = PlainData::Id;

constexpr size_t kLargestFile = size_t{4} << 30U;
constexpr size_t kMostProcesses = 128;
constexpr int64_t kGpu = 2;  // type of an agent
constexpr int64_t kMostGpus = 1024;
constexpr int64_t kTimeLimitNs = int64_t{1} << 61U;
constexpr int64_t kCopies = 1;  // separate stream for copies without one

constexpr Skip kNoTime{"rows without a usable time"};
constexpr Skip kNoAgent{"rows of devices that the file does not list"};
constexpr Skip kHostCopies{"copies from host to host"};
constexpr Skip kHsaCalls{"HSA calls underneath HIP's"};
constexpr Skip kAllocations{"allocations"};
constexpr Skip kOtherRows{"rows of other tables"};

bool recognises(std::string_view head) {
  return head.substr(0, 1024).find("\"rocprofiler-sdk-tool\"") != std::string_view::npos;
}

struct Agent {
  bool is_gpu = false;
  int64_t ordinal = 0;  // position among the GPUs
};

struct Span {
  int64_t start = 0;
  int64_t length = 0;
  int64_t correlation = 0;
};

// One process of the file.
class Process {
 public:
  Process(const PlainData& data, Id root, TraceSink& sink)
      : data_(data), root_(root), sink_(sink), nccl_(sink) {}

  Status run() {
    read_agents();
    read_names();
    const Id records = find(root_, "buffer_records");
    each(find(records, "kernel_dispatch"), &Process::kernel);
    each(find(records, "memory_copy"), &Process::copy);
    each(find(records, "hip_api"), &Process::hip_call);
    each(find(records, "rccl_api"), &Process::rccl_call);
    each(find(records, "marker_api"), &Process::marker);
    count_the_rest(records);
    nccl_.finish(apis_);
    add_steps();
    give_facts();
    return sink_.status();
  }

 private:
  [[nodiscard]] Id find(Id dict, std::string_view key) const { return data_.find(dict, key); }
  [[nodiscard]] std::optional<int64_t> integer(Id dict, std::string_view key) const {
    return data_.integer(find(dict, key));
  }
  [[nodiscard]] std::string text(Id dict, std::string_view key) const {
    return std::string(data_.text(find(dict, key)).value_or(""));
  }
  [[nodiscard]] std::optional<int64_t> handle(Id dict, std::string_view key) const {
    const Id id = find(dict, key);
    return data_.kind(id) == PlainData::Kind::kDict ? integer(id, "handle") : data_.integer(id);
  }

  void each(Id list, void (Process::*take)(Id row)) {
    for (size_t i = 0; i < data_.size(list); ++i) (this->*take)(data_.item(list, i));
  }

  // A GPU's number is its position among the GPUs.
  void read_agents() {
    const Id agents = find(root_, "agents");
    int64_t gpus = 0;
    for (size_t i = 0; i < data_.size(agents); ++i) {
      const Id dict = data_.item(agents, i);
      const auto id = handle(dict, "id");
      if (!id) continue;
      const bool is_gpu = integer(dict, "type") == kGpu && gpus < kMostGpus;
      if (!agents_.try_emplace(*id, Agent{is_gpu, gpus}).second || !is_gpu) continue;
      std::string name = text(dict, "product_name");
      if (name.empty()) name = text(dict, "name");
      gpu_names_.push_back(std::move(name));
      ++gpus;
    }
  }

  void read_names() {
    const Id symbols = find(root_, "kernel_symbols");
    for (size_t i = 0; i < data_.size(symbols); ++i) {
      const Id symbol = data_.item(symbols, i);
      const auto id = integer(symbol, "kernel_id");
      if (!id) continue;
      std::string name;
      for (const char* key : {"formatted_kernel_name", "demangled_kernel_name", "kernel_name"})
        if (name.empty()) name = text(symbol, key);
      kernels_.insert_or_assign(*id, std::move(name));
    }
    const Id strings = find(root_, "strings");
    kinds_ = find(strings, "buffer_records");
    const Id markers = find(strings, "marker_api");
    for (size_t i = 0; i < data_.size(markers); ++i) {
      const Id marker = data_.item(markers, i);
      if (const auto key = integer(marker, "key"))
        markers_.insert_or_assign(*key, text(marker, "value"));
    }
  }

  // "hipLaunchKernel": the operation in a record.
  [[nodiscard]] std::string operation(Id row) const {
    const auto kind = integer(row, "kind");
    const auto number = integer(row, "operation");
    if (!kind || !number || *kind < 0 || *number < 0) return {};
    const Id operations = find(data_.item(kinds_, static_cast<size_t>(*kind)), "operations");
    return std::string(
        data_.text(data_.item(operations, static_cast<size_t>(*number))).value_or(""));
  }

  std::optional<Span> span(Id row) {
    const auto start = integer(row, "start_timestamp");
    const auto end = integer(row, "end_timestamp");
    if (!start || !end || *start <= 0 || *end < *start || *end > kTimeLimitNs) {
      sink_.skip(kNoTime);
      return std::nullopt;
    }
    const Id ids = find(row, "correlation_id");
    return Span{*start, *end - *start, integer(ids, "internal").value_or(0)};
  }
  static std::optional<int64_t> correlation(const Span& span) {
    return span.correlation > 0 ? std::optional(span.correlation) : std::nullopt;
  }

  int64_t device(const Agent& agent) {
    if (!sink_.has_device(agent.ordinal)) {
      schema::DeviceRow row{.id = agent.ordinal};
      const std::string& name = gpu_names_[static_cast<size_t>(agent.ordinal)];
      if (!name.empty()) row.name_id = sink_.text(name);
      sink_.set_device(row);
    }
    first_gpu_ = std::min(first_gpu_, agent.ordinal);
    return agent.ordinal;
  }
  [[nodiscard]] const Agent* agent(Id dict, std::string_view key) const {
    const auto id = handle(dict, key);
    const auto known = id ? agents_.find(*id) : agents_.end();
    return known == agents_.end() ? nullptr : &known->second;
  }

  int64_t thread(Id row) {
    const int64_t tid = integer(row, "thread_id").value_or(0);
    const auto [entry, is_new] = threads_.try_emplace(tid, 0);
    if (is_new) entry->second = sink_.add_thread({.os_tid = tid});
    return entry->second;
  }

  void kernel(Id row) {
    const auto when = span(row);
    if (!when) return;
    const Id info = find(row, "dispatch_info");
    const Agent* on = agent(info, "agent_id");
    if (on == nullptr || !on->is_gpu) return sink_.skip(kNoAgent, when->start);
    const auto symbol = kernels_.find(integer(info, "kernel_id").value_or(-1));
    const std::string name = symbol == kernels_.end() ? std::string() : symbol->second;
    const auto queue =
        handle(row, "stream_id") ? handle(row, "stream_id") : handle(info, "queue_id");
    schema::GpuActivityRow activity{.device_id = device(*on),
                                    .start_ns = when->start,
                                    .duration_ns = when->length,
                                    .name_id = sink_.text(name),
                                    .kind = schema::GpuActivityKind::kKernel,
                                    .correlation = correlation(*when)};
    activity.stream_id = sink_.stream(activity.device_id, queue.value_or(0));
    sink_.add(activity, shape(info));
    if (kineto::is_communication_kernel(name)) nccl_.add_kernel(activity, name);
  }

  // The grid counts work items; dprof counts blocks.
  std::optional<schema::KernelShapeRow> shape(Id info) const {
    const Id grid = find(info, "grid_size");
    const Id block = find(info, "workgroup_size");
    schema::KernelShapeRow row;
    const auto axis = [&](const char* name, int64_t& blocks, int64_t& threads) {
      const int64_t items = integer(grid, name).value_or(0);
      threads = integer(block, name).value_or(0);
      if (items <= 0 || threads <= 0) return false;
      blocks = (items - 1) / threads + 1;
      return true;
    };
    if (!axis("x", row.grid_x, row.block_x) || !axis("y", row.grid_y, row.block_y) ||
        !axis("z", row.grid_z, row.block_z))
      return std::nullopt;
    row.static_shared_bytes = std::max<int64_t>(0, integer(info, "group_segment_size").value_or(0));
    return row;
  }

  void copy(Id row) {
    using schema::GpuActivityKind;
    const auto when = span(row);
    if (!when) return;
    const Agent* from = agent(row, "src_agent_id");
    const Agent* to = agent(row, "dst_agent_id");
    if (from == nullptr || to == nullptr) return sink_.skip(kNoAgent, when->start);
    if (!from->is_gpu && !to->is_gpu) return sink_.skip(kHostCopies, when->start);
    const bool both = from->is_gpu && to->is_gpu;
    schema::GpuActivityRow activity{.device_id = device(to->is_gpu ? *to : *from),
                                    .start_ns = when->start,
                                    .duration_ns = when->length,
                                    .kind = both         ? GpuActivityKind::kMemcpyD2d
                                            : to->is_gpu ? GpuActivityKind::kMemcpyH2d
                                                         : GpuActivityKind::kMemcpyD2h,
                                    .bytes = integer(row, "bytes"),
                                    .correlation = correlation(*when)};
    activity.name_id = sink_.text(both         ? "Memcpy DtoD"
                                  : to->is_gpu ? "Memcpy HtoD"
                                               : "Memcpy DtoH");
    const auto queue = handle(row, "stream_id");
    activity.stream_id = queue ? sink_.stream(activity.device_id, *queue)
                               : sink_.stream(activity.device_id, 0, kCopies);
    if (!queue) sink_.name_stream(activity.stream_id, "copies");
    sink_.add(activity);
  }

  void hip_call(Id row) {
    const auto when = span(row);
    if (!when) return;
    const int64_t on = thread(row);
    ++calls_[on];
    if (when->correlation > 0) apis_.try_emplace(when->correlation, nsys::ApiCall{on, when->start});
    sink_.add(schema::HostRangeRow{.thread_id = on,
                                   .start_ns = when->start,
                                   .duration_ns = when->length,
                                   .name_id = sink_.text(operation(row)),
                                   .category = schema::RangeCategory::kApi,
                                   .correlation = correlation(*when)});
  }

  void add_range(Id row, const Span& when, std::string_view name) {
    sink_.add(schema::HostRangeRow{.thread_id = thread(row),
                                   .start_ns = when.start,
                                   .duration_ns = when.length,
                                   .name_id = sink_.text(name),
                                   .category = when.length > 0 ? schema::RangeCategory::kNvtx
                                                               : schema::RangeCategory::kNvtxMark});
  }

  void rccl_call(Id row) {
    const auto when = span(row);
    if (!when) return;
    const std::string name = operation(row);
    add_range(row, *when, name);
    nccl_.add_range(thread(row), when->start, when->start + when->length, name, {});
  }

  void marker(Id row) {
    const auto when = span(row);
    if (!when) return;
    const auto marked = markers_.find(when->correlation);
    const std::string name = marked == markers_.end() ? operation(row) : marked->second;
    add_range(row, *when, name);
    const auto step = nsys::step_name(name);
    if (!step || when->length == 0) return;
    steps_.push_back({*step, when->start, when->start + when->length});
  }

  void add_steps() {
    for (const schema::StepRow& row : nsys::steps_of(std::move(steps_))) sink_.add(row);
  }

  void count_the_rest(Id records) {
    constexpr std::string_view kRead[] = {"kernel_dispatch", "memory_copy", "hip_api", "rccl_api",
                                          "marker_api"};
    for (size_t i = 0; i < data_.size(records); ++i) {
      const auto [key, rows] = data_.entry(records, i);
      const std::string_view table = data_.text(key).value_or("");
      const auto count = static_cast<int64_t>(data_.size(rows));
      if (count == 0 || std::ranges::find(kRead, table) != std::end(kRead)) continue;
      sink_.skip(table == "hsa_api"             ? kHsaCalls
                 : table == "memory_allocation" ? kAllocations
                                                : kOtherRows,
                 std::nullopt, count);
    }
  }

  void give_facts() {
    const Id metadata = find(root_, "metadata");
    // Times count from the host's boot.
    sink_.set_clock({.host = text(find(metadata, "node"), "hostname"), .resolution_ns = 1});
    if (const auto pid = integer(metadata, "pid")) sink_.set_meta("pid", std::to_string(*pid));
    if (const auto program = data_.text(data_.item(find(metadata, "command"), 0)))
      sink_.set_meta("command", *program);
    sink_.set_place(first_gpu_);
    const auto most =
        std::ranges::max_element(calls_, {}, [](const auto& one) { return one.second; });
    if (most != calls_.end()) sink_.thread(most->first).role = schema::ThreadRole::kMain;
  }

  const PlainData& data_;
  Id root_;
  TraceSink& sink_;
  nsys::NcclCalls nccl_;
  nsys::ApiCalls apis_;
  std::map<int64_t, Agent> agents_;
  std::vector<std::string> gpu_names_;  // by ordinal
  std::unordered_map<int64_t, std::string> kernels_;
  std::unordered_map<int64_t, std::string> markers_;
  Id kinds_ = PlainData::kNothing;
  std::map<int64_t, int64_t> threads_;
  std::map<int64_t, int64_t> calls_;  // of HIP, by thread
  std::vector<nsys::NamedStep> steps_;
  int64_t first_gpu_ = INT32_MAX;
};

Status read(const fs::path& path, FileSink& sink) {
  PlainData data;
  {
    const Result<std::string> content = read_whole(path, kLargestFile);
    if (!content.ok()) return fail(content.error());
    Result<PlainData> read = read_json(*content);
    if (!read.ok())
      return fail(read.error().code, fmt::format("{}: {}", path.string(), read.error().what));
    data = *std::move(read);
  }
  const Id processes = data.find(data.root(), "rocprofiler-sdk-tool");
  const size_t count = std::min(kMostProcesses, data.size(processes));
  if (count == 0)
    return fail(Code::kNotATrace,
                fmt::format("{}: no process recorded by rocprofv3", path.string()));
  for (size_t i = 0; i < count; ++i) {
    if (!sink.progress(0.5 + 0.5 * static_cast<double>(i) / static_cast<double>(count)))
      return FileSink::cancelled();
    Result<TraceSink*> trace = sink.open_trace();
    if (!trace.ok()) return fail(trace.error());
    if (Status done = Process(data, data.item(processes, i), **trace).run(); !done.ok())
      return done;
    if (count > 1) {
      (*trace)->remark("import_several_ranks",
                       fmt::format("the file holds {} processes; this is number {}", count, i + 1));
    }
  }
  return Done{};
}

}  // namespace

const Format kFormat{.name = "rocprofv3", .recognises = recognises, .read = read};

}  // namespace dprof::analyzer::rocprofv3
