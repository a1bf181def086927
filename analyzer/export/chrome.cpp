// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/chrome.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "analyzer/export/json_text.h"

namespace dprof::analyzer {
namespace {

using schema::CollectiveRow;
using schema::Function;
using schema::GpuActivityKind;
using schema::RangeCategory;

constexpr std::string_view kStepPrefix = "ProfilerStep#";
constexpr std::string_view kUnknownGroup = "unknown group";  // as the import names it
constexpr int64_t kGpuSortIndex = 5'000'000;
constexpr int64_t kFreePid = 1000;  // for a process with an unknown number

// c10d's words.
std::string_view collective_word(Function function) {
  switch (function) {
    case Function::kAllReduce:
      return "allreduce";
    case Function::kAllGather:
      return "allgather";
    case Function::kAllToAll:
      return "alltoall";
    default:
      return word_of(function);
  }
}

std::string_view dtype_word(schema::DataType type) {
  using schema::DataType;
  switch (type) {
    case DataType::kUint8:
      return "Byte";
    case DataType::kInt8:
      return "Char";
    case DataType::kInt16:
      return "Short";
    case DataType::kInt32:
      return "Int";
    case DataType::kInt64:
      return "Long";
    case DataType::kFloat16:
      return "Half";
    case DataType::kBfloat16:
      return "BFloat16";
    case DataType::kFloat32:
      return "Float";
    case DataType::kFloat64:
      return "Double";
    case DataType::kBool:
      return "Bool";
    case DataType::kComplex64:
      return "ComplexFloat";
    case DataType::kComplex128:
      return "ComplexDouble";
    case DataType::kFloat8:
      return "Float8_e4m3fn";
    case DataType::kUnknown:
      break;
  }
  return "";
}

std::string_view api_category(std::string_view name) {
  if (name.starts_with("hip")) return "hip_runtime";
  const bool driver = name.starts_with("cu") && !name.starts_with("cuda");
  return driver ? "cuda_driver" : "cuda_runtime";
}

// CUPTI's "cudaLaunchKernel_v7000" is "cudaLaunchKernel" elsewhere.
std::string_view without_version(std::string_view name) {
  const size_t mark = name.rfind("_v");
  if (mark == std::string_view::npos || mark + 2 == name.size()) return name;
  const bool digits = name.find_first_not_of("0123456789", mark + 2) == std::string_view::npos;
  return digits ? name.substr(0, mark) : name;
}

std::string_view copy_word(GpuActivityKind kind) {
  return kind == GpuActivityKind::kMemcpyH2d   ? "HtoD"
         : kind == GpuActivityKind::kMemcpyD2h ? "DtoH"
                                               : "DtoD";
}

// A time, and a thread or stream.
struct Place {
  int64_t where = 0;
  int64_t time_ns = 0;
  friend bool operator==(const Place&, const Place&) = default;
};
struct PlaceHash {
  size_t operator()(const Place& place) const {
    return static_cast<size_t>(static_cast<uint64_t>(place.time_ns) * 0x9E3779B97F4A7C15) ^
           static_cast<size_t>(place.where);
  }
};
using ByPlace = std::unordered_map<Place, size_t, PlaceHash>;

bool is_collective_name(std::string_view name) {
  return name == "record_param_comms" || name.starts_with("nccl:") || name.starts_with("gloo:") ||
         name.starts_with("mpi:");
}

bool is_autograd_name(std::string_view name) {
  if (name.starts_with("autograd::engine::evaluate_function: ")) return true;
  if (name.ends_with("torch::autograd::AccumulateGrad")) return true;
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  return name.ends_with("Backward");
}

class ChromeWriter {
 public:
  ChromeWriter(const RankSource& source, OutFile& out, ExportJob& job)
      : source_(source), reader_(source.reader()), out_(out), job_(job) {}

  Status write() {
    for (const auto part :
         {&ChromeWriter::read_dictionaries, &ChromeWriter::read_collectives,
          &ChromeWriter::write_head, &ChromeWriter::write_ranges, &ChromeWriter::write_steps,
          &ChromeWriter::write_remaining_collectives, &ChromeWriter::write_memory,
          &ChromeWriter::write_activities, &ChromeWriter::count_the_rest}) {
      if (Status good = (this->*part)(); !good.ok()) return good;
      if (Status good = out_.status(); !good.ok()) return good;
    }
    begin("i", "Record Window End", "", last_ns_);
    text_ += R"(,"s":"g","pid":"Traces","tid":"Trace","args":{}})";
    end();
    text_ += fmt::format("\n],\n\"traceName\": \"{}\"\n}}\n", chrome_file_name(source_));
    flush();
    return out_.status();
  }

 private:
  struct Thread {
    std::string pid_tid;  // as members of an event
  };

  // --- dictionaries ---

  Status read_dictionaries() {
    Result<std::vector<schema::ThreadRow>> threads = reader_.read_all<schema::ThreadRow>();
    if (!threads.ok()) return fail(threads.error());
    Result<std::vector<schema::StreamRow>> streams = reader_.read_all<schema::StreamRow>();
    if (!streams.ok()) return fail(streams.error());
    for (const schema::StreamRow& row : *streams) streams_.emplace(row.id, row);
    Result<std::vector<schema::DeviceRow>> devices = reader_.read_all<schema::DeviceRow>();
    if (!devices.ok()) return fail(devices.error());
    devices_ = *std::move(devices);
    name_threads(*threads);
    const int64_t resolution = reader_.meta_int("time_resolution_ns").value_or(1);
    decimals_ = resolution >= 1000 ? 0 : resolution >= 100 ? 1 : resolution >= 10 ? 2 : 3;
    const std::string format = reader_.meta("imported_format").value_or("");
    of_kineto_ = format == "kineto" || format == "chrome";
    return shapes_.read(reader_);
  }

  // The main thread is the one whose number is that of its process.
  void name_threads(const std::vector<schema::ThreadRow>& rows) {
    std::set<int64_t> taken;  // numbers that would turn another thread into a main thread
    std::optional<int64_t> main;
    for (const schema::ThreadRow& row : rows) {
      const bool is_main = row.role == schema::ThreadRole::kMain && row.os_tid > 0;
      if (is_main && !main) main = row.os_tid;
      if (!is_main) taken.insert(row.os_tid);
    }
    pid_ = main ? *main : reader_.meta_int("pid").value_or(kFreePid);
    if (!main) {
      while (pid_ < kFreePid || taken.contains(pid_)) pid_ = std::max(pid_ + 1, kFreePid);
    }
    std::set<std::pair<int64_t, int64_t>> used;
    for (const schema::ThreadRow& row : rows) {
      int64_t pid = row.role == schema::ThreadRole::kMain && row.os_tid > 0 ? row.os_tid : pid_;
      const std::string& name = reader_.string(row.name_id.value_or(0));
      std::string tid;
      if (row.os_tid != -1) {
        while (!used.insert({pid, row.os_tid}).second) pid += 1'000'000;
        append_number(tid, row.os_tid);
      } else {
        append_json_text(tid, name.empty() ? fmt::format("thread {}", row.id) : name);
      }
      threads_.emplace(row.id, Thread{fmt::format(R"(,"pid":{},"tid":{})", pid, tid)});
      if (row.os_tid != -1 && !name.empty()) thread_names_.emplace_back(row.id, name);
      if (row.role == schema::ThreadRole::kMain) main_ = row.id;
    }
  }

  const std::string& thread(int64_t id) {
    auto known = threads_.find(id);
    if (known == threads_.end()) {
      known = threads_.emplace(id, Thread{fmt::format(R"(,"pid":{},"tid":"thread {}")", pid_, id)})
                  .first;
    }
    return known->second.pid_tid;
  }

  // A collective appears as its kernel, its call and Gloo's execution, as far as recorded.
  Status read_collectives() {
    Result<std::vector<schema::CommunicatorRow>> all = reader_.read_all<schema::CommunicatorRow>();
    if (!all.ok()) return fail(all.error());
    for (schema::CommunicatorRow& row : *all) communicators_.emplace(row.id, std::move(row));
    Status read = reader_.for_each<schema::CommunicatorMemberRow>(
        [&](const schema::CommunicatorMemberRow& row) {
          members_[row.communicator_id].push_back(row.rank);
        });
    if (!read.ok()) return read;
    read = reader_.for_each<CollectiveRow>([&](const CollectiveRow& row) {
      const size_t at = collectives_.size();
      collectives_.push_back(row);
      if (row.correlation) by_correlation_.try_emplace(*row.correlation, at);
      if (row.stream_id && row.start_ns)
        by_stream_.try_emplace(Place{*row.stream_id, *row.start_ns}, at);
      if (row.enqueue_thread_id && row.enqueue_ns)
        by_call_.try_emplace(Place{*row.enqueue_thread_id, *row.enqueue_ns}, at);
      if (row.thread_id && row.start_ns)
        by_execution_.try_emplace(Place{*row.thread_id, *row.start_ns}, at);
    });
    written_.assign(collectives_.size(), false);
    if (!read.ok()) return read;
    return reader_.for_each<schema::GpuDependencyRow>([&](const schema::GpuDependencyRow& row) {
      if (row.record_ns) record_correlation_.try_emplace(*row.record_ns, -1);
      dependencies_[row.correlation.value_or(-1)].push_back(row);
    });
  }

  // --- the file ---

  Status write_head() {
    text_ = "{\n\"schemaVersion\": 1,\n\"deviceProperties\": [";
    std::string_view comma;
    for (const schema::DeviceRow& row : devices_) {
      if (row.id < 0) continue;
      text_ += fmt::format("{}\n  {{\"id\": {}", comma, row.id);
      comma = ",";
      if (row.name_id) {
        text_ += ", \"name\": ";
        append_json_text(text_, reader_.string(*row.name_id));
      }
      if (row.memory_bytes) text_ += fmt::format(", \"totalGlobalMem\": {}", *row.memory_bytes);
      if (row.compute_capability) {
        text_ += fmt::format(", \"computeMajor\": {}, \"computeMinor\": {}",
                             *row.compute_capability / 100, *row.compute_capability % 100);
      }
      text_ += "}";
    }
    text_ += "\n],\n\"distributedInfo\": " + distributed_info() + ",\n";
    if (!source_.file().host.empty()) {
      text_ += "\"host_name\": ";
      append_json_text(text_, source_.file().host);
      text_ += ",\n";
    }
    for (const auto& [member, key] :
         {std::pair("cuda_driver_version", "cuda_driver"), {"cupti_version", "cupti_version"}}) {
      const std::string value = reader_.meta(key).value_or("");
      if (!value.empty() && value.find_first_not_of("0123456789") == std::string::npos)
        text_ += fmt::format("\"{}\": {},\n", member, value);
    }
    text_ += "\"displayTimeUnit\": \"ms\",\n";
    if (const auto origin = reader_.meta_int("origin_realtime_ns"))
      text_ += fmt::format("\"baseTimeNanoseconds\": {},\n", *origin);
    text_ += "\"traceEvents\": [";
    write_names();
    return Done{};
  }

  // With a space after each colon: HTA finds the rank by a regular expression that requires it.
  [[nodiscard]] std::string distributed_info() const {
    nlohmann::ordered_json info;
    if (const auto recorded = reader_.meta("distributed_info")) {
      info = nlohmann::ordered_json::parse(*recorded, nullptr, false);
    }
    if (!info.is_object()) info = nlohmann::ordered_json::object();
    if (!info.contains("backend") && !communicators_.empty())
      info["backend"] = std::string(word_of(communicators_.begin()->second.backend));
    info["rank"] = source_.file().rank;
    if (!info.contains("world_size") && source_.file().world_size)
      info["world_size"] = *source_.file().world_size;
    if (const auto nccl = reader_.meta("nccl_version"); nccl && !info.contains("nccl_version"))
      info["nccl_version"] = *nccl;
    return info.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }

  void metadata(std::string_view what, std::string_view pid_tid, std::string_view argument) {
    text_ += is_first_ ? "\n" : ",\n";
    is_first_ = false;
    text_ +=
        fmt::format(R"({{"ph":"M","name":"{}","ts":0{},"args":{{{}}}}})", what, pid_tid, argument);
  }

  void write_names() {
    for (const schema::DeviceRow& row : devices_) {
      const std::string pid = fmt::format(R"(,"pid":{},"tid":0)", row.id);
      metadata("process_name", pid, fmt::format(R"("name":"GPU {}")", row.id));
      metadata("process_sort_index", pid,
               fmt::format(R"("sort_index":{})", sum_within_reach(kGpuSortIndex, row.id)));
    }
    for (const auto& [id, name] : thread_names_) {
      std::string argument = "\"name\":";
      append_json_text(argument, name);
      metadata("thread_name", thread(id), argument);
    }
  }

  // {"ph":"X","cat":"cpu_op","name":"…","ts":…: its place and arguments follow.
  void begin(std::string_view phase, std::string_view name, std::string_view category,
             int64_t time_ns) {
    text_ += is_first_ ? "\n" : ",\n";
    is_first_ = false;
    text_ += R"({"ph":")";
    text_ += phase;
    if (!category.empty()) {
      text_ += R"(","cat":")";
      text_ += category;
    }
    text_ += R"(","name":)";
    append_json_text(text_, name);
    text_ += R"(,"ts":)";
    append_microseconds(text_, time_ns, decimals_);
  }
  void duration(int64_t ns) {
    text_ += R"(,"dur":)";
    append_microseconds(text_, ns, decimals_);
  }
  void begin_args() {
    text_ += R"(,"args":{)";
    has_arg_ = false;
  }
  void key(std::string_view name) {
    text_ += has_arg_ ? ",\"" : "\"";
    has_arg_ = true;
    text_ += name;
    text_ += "\":";
  }
  void arg(std::string_view name, int64_t value) {
    key(name);
    append_number(text_, value);
  }
  void arg(std::string_view name, std::string_view value) {
    key(name);
    append_json_text(text_, value);
  }
  void end_args() { text_ += "}}"; }
  void end() {
    constexpr size_t kHeld = size_t{1} << 16;
    if (text_.size() >= kHeld) flush();
  }
  void flush() {
    out_.write(text_);
    text_.clear();
  }

  void seen(int64_t time_ns) { last_ns_ = std::max(last_ns_, time_ns); }

  // --- host ---

  Status write_ranges() {
    return reader_.for_each<schema::HostRangeRow>([&](const schema::HostRangeRow& row) {
      // The record's correlation shows which record a wait was for.
      if (row.category == RangeCategory::kApi && row.correlation && !record_correlation_.empty()) {
        const auto wanted = record_correlation_.find(row.start_ns);
        if (wanted != record_correlation_.end()) wanted->second = *row.correlation;
      }
      if (!source_.wants(row.start_ns, row.duration_ns)) return;
      const std::string& name = reader_.string(row.name_id);
      has_profiler_steps_ = has_profiler_steps_ || name.starts_with(kStepPrefix);
      seen(row.start_ns);
      switch (row.category) {
        case RangeCategory::kNvtxMark:
          begin("i", name, "nvtx", row.start_ns);
          text_ += R"(,"s":"t")" + thread(row.thread_id) + R"(,"args":{}})";
          break;
        case RangeCategory::kNvtxProcess:
          write_async(row, name);
          break;
        default:
          write_range(row, name);
      }
      end();
      job_.wrote();
    });
  }

  void write_async(const schema::HostRangeRow& row, const std::string& name) {
    const std::string place =
        fmt::format(R"(,"id":{}{},"args":{{}}}})", row.id, thread(row.thread_id));
    begin("b", name, "nvtx", row.start_ns);
    text_ += place;
    if (!row.duration_ns) return;
    begin("e", name, "nvtx", sum_within_reach(row.start_ns, *row.duration_ns));
    text_ += place;
  }

  static std::string_view range_category(RangeCategory category, std::string_view name) {
    switch (category) {
      case RangeCategory::kOp:
      case RangeCategory::kAutograd:
        return "cpu_op";
      case RangeCategory::kApi:
        return api_category(name);
      case RangeCategory::kOverhead:
        return "overhead";
      case RangeCategory::kPython:
        return "python_function";
      default:
        return "user_annotation";
    }
  }

  void write_range(const schema::HostRangeRow& row, const std::string& name) {
    const bool is_api = row.category == RangeCategory::kApi;
    begin(row.duration_ns ? "X" : "B",
          is_api && !of_kineto_ ? without_version(name) : std::string_view(name),
          range_category(row.category, name), row.start_ns);
    if (row.duration_ns) {
      duration(std::max<int64_t>(0, *row.duration_ns));
      seen(sum_within_reach(row.start_ns, *row.duration_ns));
    }
    text_ += thread(row.thread_id);
    begin_args();
    if (row.sequence) arg("Sequence number", *row.sequence);
    if (row.category == RangeCategory::kAutograd && !is_autograd_name(name))
      arg("Fwd thread id", 1);
    if (row.correlation) arg("correlation", *row.correlation);
    if (is_collective_name(name)) write_collective_args(collective_of(row, name));
    end_args();
    if (is_api && row.correlation && *row.correlation > 0)
      flow("s", *row.correlation, thread(row.thread_id), row.start_ns);
  }

  std::optional<size_t> collective_of(const schema::HostRangeRow& row,
                                      std::string_view name) const {
    const Place place{row.thread_id, row.start_ns};
    if (name.starts_with("gloo:") || name.starts_with("mpi:")) {
      if (const auto known = by_execution_.find(place); known != by_execution_.end())
        return known->second;
    }
    const auto known = by_call_.find(place);
    return known != by_call_.end() ? std::optional(known->second) : std::nullopt;
  }

  void flow(std::string_view phase, int64_t id, std::string_view pid_tid, int64_t time_ns) {
    begin(phase, "ac2g", "ac2g", time_ns);
    text_ += R"(,"id":)";
    append_number(text_, id);
    text_ += pid_tid;
    text_ += phase == "f" ? R"(,"bp":"e"})" : "}";
  }

  // Steps without a range of the profiler.
  Status write_steps() {
    if (has_profiler_steps_) return Done{};
    return reader_.for_each<schema::StepRow>([&](const schema::StepRow& row) {
      if (!row.end_ns ||
          !source_.wants(row.start_ns, within_reach(*row.end_ns) - within_reach(row.start_ns)))
        return;
      begin("X", fmt::format("{}{}", kStepPrefix, row.step_index), "user_annotation", row.start_ns);
      duration(std::max<int64_t>(0, within_reach(*row.end_ns) - within_reach(row.start_ns)));
      text_ += thread(main_) + R"(,"args":{}})";
      end();
      job_.wrote();
    });
  }

  // --- collectives ---

  void write_collective_args(std::optional<size_t> at) {
    if (!at) return;
    const CollectiveRow& row = collectives_[*at];
    written_[*at] = true;
    arg("External id", static_cast<int64_t>(*at) + 1);
    if (row.function != Function::kUnknown) arg("Collective name", collective_word(row.function));
    const auto group = communicators_.find(row.communicator_id.value_or(-1));
    const auto members = members_.find(row.communicator_id.value_or(-1));
    const bool has_members = members != members_.end();
    const int64_t size = has_members ? static_cast<int64_t>(members->second.size())
                         : group != communicators_.end() ? group->second.size.value_or(0)
                                                         : 0;
    if (row.count) {
      arg("In msg nelems", *row.count);
      constexpr int64_t kMostElements = int64_t{1} << 40;
      const int64_t count = std::clamp<int64_t>(*row.count, 0, kMostElements);
      const int64_t ranks = std::clamp<int64_t>(size, 1, 1 << 20);
      arg("Out msg nelems", row.function == Function::kAllGather       ? count * ranks
                            : row.function == Function::kReduceScatter ? count / ranks
                                                                       : count);
    }
    if (const std::string_view type = dtype_word(row.dtype); !type.empty()) arg("dtype", type);
    if (row.group_sequence)
      arg("Seq", sum_within_reach(*row.group_sequence, 1));  // c10d counts from 1
    const auto rank_of = [&](const std::optional<int64_t>& number) -> std::optional<int64_t> {
      if (!number || !has_members || *number < 0 || *number >= size) return std::nullopt;
      return members->second[static_cast<size_t>(*number)];
    };
    if (const auto root = rank_of(row.root)) arg("Root Rank", *root);
    if (const auto peer = rank_of(row.peer))
      arg(row.function == Function::kRecv ? "Src Rank" : "Dst Rank", *peer);
    if (group == communicators_.end()) return;
    const std::string& name = reader_.string(group->second.name_id.value_or(0));
    if (name == kUnknownGroup) return;
    arg("Process Group Name", name.empty() ? fmt::format("{:x}", group->second.hash) : name);
    if (size > 0) arg("Group size", size);
    if (has_members)
      arg("Process Group Ranks", fmt::format("[{}]", fmt::join(members->second, ", ")));
  }

  // Executions on a host thread without a range; others are counted.
  Status write_remaining_collectives() {
    for (size_t i = 0; i < collectives_.size(); ++i) {
      const CollectiveRow& row = collectives_[i];
      if (written_[i] || !row.thread_id || !row.start_ns || !row.end_ns) continue;
      const auto group = communicators_.find(row.communicator_id.value_or(-1));
      const bool on_gloo =
          group != communicators_.end() && group->second.backend == schema::Backend::kGloo;
      const int64_t length =
          std::max<int64_t>(0, within_reach(*row.end_ns) - within_reach(*row.start_ns));
      if (!on_gloo || !source_.wants(*row.start_ns, length)) continue;
      begin("X", fmt::format("gloo:{}", word_of(row.function)), "user_annotation", *row.start_ns);
      duration(length);
      text_ += thread(*row.thread_id);
      begin_args();
      write_collective_args(i);
      end_args();
      end();
      job_.wrote();
    }
    return Done{};
  }

  // --- memory ---

  Status write_memory() {
    return reader_.for_each<schema::MemoryEventRow>([&](const schema::MemoryEventRow& row) {
      using schema::MemoryEventKind;
      if (!source_.wants(row.time_ns, {})) return;
      const bool frees = row.kind == MemoryEventKind::kFree;
      const bool failed = row.kind == MemoryEventKind::kOom;
      if (!frees && !failed && row.kind != MemoryEventKind::kAlloc)
        return job_.left_out("memory events of segments and categories");
      begin("i", failed ? "[OutOfMemory]" : "[memory]", "cpu_instant_event", row.time_ns);
      text_ += R"(,"s":"t")" + thread(row.thread_id.value_or(main_));
      begin_args();
      arg("Addr", row.address);
      arg("Bytes", frees ? -within_reach(row.bytes) : row.bytes);
      if (row.allocated_bytes) arg("Total Allocated", *row.allocated_bytes);
      if (row.reserved_bytes) arg("Total Reserved", *row.reserved_bytes);
      arg("Device Type", row.device_id < 0 ? 0 : 1);
      arg("Device Id", row.device_id);
      end_args();
      end();
      job_.wrote();
    });
  }

  // --- devices ---

  Status write_activities() {
    return reader_.for_each<schema::GpuActivityRow>([&](const schema::GpuActivityRow& row) {
      if (!source_.wants(row.start_ns, row.duration_ns)) return;
      if (!row.duration_ns) return job_.left_out("GPU rows that never ended");
      write_activity(row);
      end();
      job_.wrote();
    });
  }

  void write_activity(const schema::GpuActivityRow& row) {
    const bool copies = row.kind == GpuActivityKind::kMemcpyH2d ||
                        row.kind == GpuActivityKind::kMemcpyD2h ||
                        row.kind == GpuActivityKind::kMemcpyD2d;
    const std::string_view category = copies                                 ? "gpu_memcpy"
                                      : row.kind == GpuActivityKind::kMemset ? "gpu_memset"
                                      : row.kind == GpuActivityKind::kSync   ? "cuda_sync"
                                                                             : "kernel";
    std::string name = reader_.string(row.name_id);
    // Readers recognise copies by these words.
    if (copies && !name.starts_with("Memcpy")) {
      name = fmt::format("Memcpy {} ({})", copy_word(row.kind), name);
    } else if (row.kind == GpuActivityKind::kMemset && !name.starts_with("Memset")) {
      name = fmt::format("Memset ({})", name);
    }
    begin("X", name, category, row.start_ns);
    duration(std::max<int64_t>(0, *row.duration_ns));
    seen(sum_within_reach(row.start_ns, *row.duration_ns));
    const auto stream = streams_.find(row.stream_id);
    const int64_t number = stream == streams_.end() ? row.stream_id : stream->second.cuda_stream;
    const std::string place = fmt::format(R"(,"pid":{},"tid":{})", row.device_id, number);
    text_ += place;
    begin_args();
    arg("device", row.device_id);
    arg("stream", number);
    arg("correlation", row.correlation.value_or(0));  // HTA ignores GPU rows without one
    if (row.bytes) arg("bytes", *row.bytes);
    if (row.graph) arg("graph id", *row.graph);
    if (row.graph_node) arg("graph node id", *row.graph_node);
    if (const schema::KernelShapeRow* shape = shapes_.of(row.id); shape != nullptr) {
      key("grid");
      text_ += fmt::format("[{}, {}, {}]", shape->grid_x, shape->grid_y, shape->grid_z);
      key("block");
      text_ += fmt::format("[{}, {}, {}]", shape->block_x, shape->block_y, shape->block_z);
      arg("registers per thread", shape->registers);
      arg("shared memory",
          sum_within_reach(shape->static_shared_bytes, shape->dynamic_shared_bytes));
    }
    if (row.kind == GpuActivityKind::kSync) write_wait_args(row, name);
    if (row.kind == GpuActivityKind::kKernel) write_collective_args(collective_of(row));
    end_args();
    if (row.correlation && *row.correlation > 0 && row.kind != GpuActivityKind::kSync)
      flow("f", *row.correlation, place, row.start_ns);
  }

  [[nodiscard]] std::optional<size_t> collective_of(const schema::GpuActivityRow& row) const {
    const auto same = by_stream_.find({row.stream_id, row.start_ns});
    if (same != by_stream_.end()) return same->second;
    if (!row.correlation) return std::nullopt;
    const auto launched = by_correlation_.find(*row.correlation);
    return launched != by_correlation_.end() ? std::optional(launched->second) : std::nullopt;
  }

  void write_wait_args(const schema::GpuActivityRow& row, std::string_view name) {
    const auto known = dependencies_.find(row.correlation.value_or(-1));
    if (known == dependencies_.end() || known->second.empty()) {
      if (!name.starts_with("Stream Sync")) arg("cuda_sync_kind", name);
      return;
    }
    const schema::GpuDependencyRow wait = known->second.front();
    known->second.pop_front();
    if (wait.event == 0 && wait.record_stream_id == row.stream_id && !wait.wait_stream_id)
      return arg("cuda_sync_kind", "Stream Sync");
    arg("cuda_sync_kind", wait.wait_stream_id ? "Stream Wait Event" : "Event Sync");
    arg("wait_on_cuda_event_id", wait.event);
    const auto recorder = streams_.find(wait.record_stream_id.value_or(-1));
    arg("wait_on_stream", recorder == streams_.end() ? -1 : recorder->second.cuda_stream);
    if (!wait.record_ns) return;
    const int64_t record = record_correlation_[*wait.record_ns];
    if (record > 0) arg("wait_on_cuda_event_record_corr_id", record);
  }

  // Data that Kineto's JSON cannot represent.
  Status count_the_rest() {
    for (size_t i = 0; i < collectives_.size(); ++i) {
      const CollectiveRow& row = collectives_[i];
      const std::optional<int64_t> time = row.start_ns ? row.start_ns : row.enqueue_ns;
      if (!written_[i] && (!time || source_.wants(*time, {})))
        job_.left_out("collectives of which there is neither a kernel nor a range");
    }
    for (const auto& [table, what] : {std::pair("range_detail", "details of NVTX ranges"),
                                      {"memory_sample", "memory samples"},
                                      {"system_sample", "system samples"},
                                      {"nccl_event", "channels and proxies of NCCL"},
                                      {"stack_frame", "frames of stacks"},
                                      {"call_stack", "stacks of allocations"}}) {
      const Result<int64_t> rows = reader_.count(table);
      if (!rows.ok()) return fail(rows.error());
      job_.left_out(what, *rows);
    }
    return Done{};
  }

  const RankSource& source_;
  const schema::TraceReader& reader_;
  OutFile& out_;
  ExportJob& job_;
  std::string text_;
  bool is_first_ = true;
  bool has_arg_ = false;
  int decimals_ = 3;
  int64_t pid_ = kFreePid;
  int64_t main_ = 0;
  int64_t last_ns_ = 0;
  bool has_profiler_steps_ = false;
  bool of_kineto_ = false;  // its names are Kineto's already

  std::unordered_map<int64_t, Thread> threads_;
  std::vector<std::pair<int64_t, std::string>> thread_names_;
  std::unordered_map<int64_t, schema::StreamRow> streams_;
  std::vector<schema::DeviceRow> devices_;
  KernelShapes shapes_;
  std::map<int64_t, schema::CommunicatorRow> communicators_;
  std::unordered_map<int64_t, std::vector<int64_t>> members_;
  std::vector<CollectiveRow> collectives_;
  std::vector<bool> written_;
  std::unordered_map<int64_t, size_t> by_correlation_;
  ByPlace by_stream_;
  ByPlace by_call_;
  ByPlace by_execution_;
  std::unordered_map<int64_t, std::deque<schema::GpuDependencyRow>> dependencies_;
  std::unordered_map<int64_t, int64_t> record_correlation_;  // by the begin of the record's call
};

}  // namespace

std::string chrome_file_name(const RankSource& source) {
  const int64_t start_ns = source.reader().meta_int("origin_realtime_ns").value_or(0);
  return fmt::format("rank-{:05}.{}.pt.trace.json.gz", source.file().rank,
                     std::max<int64_t>(0, start_ns) / kNsPerMs);
}

Status write_chrome(const RankSource& source, OutFile& out, ExportJob& job) {
  return ChromeWriter(source, out, job).write();
}

}  // namespace dprof::analyzer
