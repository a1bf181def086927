// SPDX-License-Identifier: Apache-2.0
#include "synth/write/kineto.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "synth/random.h"
#include "synth/write/trace_rows.h"

namespace dprof::synth {
namespace {

using nlohmann::ordered_json;

constexpr int64_t kDeviceStreams[] = {7, 20, 24, 28};

std::string_view collective_name(schema::Function function) {
  using schema::Function;
  switch (function) {
    case Function::kBroadcast:
      return "broadcast";
    case Function::kReduceScatter:
      return "_reduce_scatter_base";
    case Function::kAllGather:
      return "_allgather_base";
    case Function::kSend:
      return "send";
    case Function::kRecv:
      return "recv";
    default:
      return "allreduce";
  }
}

class KinetoFile {
 public:
  KinetoFile(std::ofstream& out, const Model& model, const Truth& truth, int rank,
             const Trail& trail)
      : out_(out),
        model_(model),
        spec_(model.spec()),
        rank_(rank),
        trail_(trail),
        clock_(truth.hosts[static_cast<size_t>(host_of(model.spec(), rank))].clock),
        base_(clock_.origin_realtime()),
        cut_(recorded_until(model, rank, trail)) {}

  void write() {
    out_ << "{\"schemaVersion\": 1,\n\"deviceProperties\": "
         << ordered_json::array({{{"id", 0}, {"name", "Synthetic GPU"}}}).dump()
         << ",\n\"distributedInfo\": " << distributed().dump()
         << fmt::format(
                ",\n\"baseTimeNanoseconds\": {},\n\"displayTimeUnit\": \"ms\",\n"
                "\"traceEvents\": [",
                base_);
    for (const RangeDone& range : trail_.ranges) {
      if (range.end <= cut_) put(range);
    }
    for (const ActivityDone& activity : trail_.activities) {
      if (activity.end <= cut_) put(activity);
    }
    out_ << fmt::format("\n],\n\"traceName\": \"rank_{}.json\"}}\n", rank_);
  }

 private:
  [[nodiscard]] ordered_json distributed() const {
    ordered_json groups = ordered_json::array();
    for (size_t g = 0; g < model_.groups().size(); ++g) {
      const Group& group = model_.groups()[g];
      if (group.number_of(rank_) < 0) continue;
      groups.push_back({{"pg_name", fmt::to_string(g)},
                        {"pg_desc", group.name},
                        {"backend_config", backend()},
                        {"pg_size", group.members.size()},
                        {"ranks", group.members}});
    }
    const size_t count = groups.size();
    return {{"backend", backend()},           {"rank", rank_},
            {"world_size", spec_.ranks},      {"pg_count", count},
            {"pg_config", std::move(groups)}, {"nccl_version", "2.27.5"}};
  }

  [[nodiscard]] std::string_view backend() const {
    return spec_.shape == Shape::kGpu ? "nccl" : "gloo";
  }

  [[nodiscard]] int64_t since_base(int64_t true_ns) const {
    return clock_.realtime(true_ns) - base_;
  }
  // Microseconds with three digits after the point: exact.
  static std::string us(int64_t ns) {
    return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", std::abs(ns) / 1000, std::abs(ns) % 1000);
  }

  void event(std::string_view head, int64_t begin, int64_t end, const ordered_json& args) {
    out_ << (is_first_ ? "\n" : ",\n")
         << fmt::format("{{\"ph\": \"X\", {}, \"ts\": {}, \"dur\": {}, \"args\": {}}}", head,
                        us(since_base(begin)), us(since_base(end) - since_base(begin)),
                        args.dump());
    is_first_ = false;
  }

  void flow(char phase, int64_t id, int64_t pid, int64_t tid, int64_t at) {
    out_ << fmt::format(
        ",\n{{\"ph\": \"{}\", \"id\": {}, \"pid\": {}, \"tid\": {}, \"ts\": {}, \"cat\": "
        "\"ac2g\", \"name\": \"ac2g\"{}}}",
        phase, id, pid, tid, us(since_base(at)), phase == 'f' ? ", \"bp\": \"e\"" : "");
  }

  void put(const RangeDone& range) {
    using schema::RangeCategory;
    const auto category = static_cast<RangeCategory>(range.category);
    const bool step = range.name == name("step");
    const std::string_view cat = category == RangeCategory::kApi    ? "cuda_runtime"
                                 : category == RangeCategory::kUser ? "user_annotation"
                                                                    : "cpu_op";
    std::string text(kNames[static_cast<size_t>(range.name)]);
    if (category == RangeCategory::kAutograd) text = "autograd::engine::evaluate_function: " + text;
    if (step) text = fmt::format("ProfilerStep#{}", step_++);
    ordered_json args = {{"External id", ++external_}};
    if (range.sequence >= 0) args["Sequence number"] = range.sequence;
    if (range.correlation >= 0) args["correlation"] = range.correlation;
    const int64_t tid = 4000 + rank_ + 20000 * range.thread;
    event(fmt::format("\"cat\": \"{}\", \"name\": {}, \"pid\": {}, \"tid\": {}", cat,
                      ordered_json(text).dump(), 4000 + rank_, tid),
          range.begin, range.end, args);
    if (range.correlation >= 0) flow('s', range.correlation, 4000 + rank_, tid, range.begin);
  }

  void put(const ActivityDone& a) {
    const bool kernel = a.kind == schema::GpuActivityKind::kKernel;
    const int64_t stream = kDeviceStreams[static_cast<size_t>(a.queue)];
    ordered_json args = {
        {"device", 0}, {"context", 1}, {"stream", stream}, {"correlation", a.correlation}};
    if (a.bytes >= 0) args["bytes"] = a.bytes;
    if (a.work >= 0) add_nccl(args, trail_.works[static_cast<size_t>(a.work)]);
    event(fmt::format("\"cat\": \"{}\", \"name\": {}, \"pid\": 0, \"tid\": {}",
                      kernel ? "kernel" : "gpu_memcpy",
                      ordered_json(kNames[static_cast<size_t>(a.name)]).dump(), stream),
          a.begin, a.end, args);
    flow('f', a.correlation, 0, stream, a.begin);
  }

  void add_nccl(ordered_json& args, const WorkDone& work) const {
    const Group& group = model_.groups()[static_cast<size_t>(work.call.group)];
    const auto size = static_cast<int64_t>(group.members.size());
    const int64_t in = work.call.bytes / 4;
    const int64_t out = work.call.function == schema::Function::kAllGather       ? in * size
                        : work.call.function == schema::Function::kReduceScatter ? in / size
                                                                                 : in;
    args["Collective name"] = collective_name(work.call.function);
    args["In msg nelems"] = in;
    args["Out msg nelems"] = out;
    args["Group size"] = size;
    args["dtype"] = "Float";
    args["In split size"] = "[]";
    args["Out split size"] = "[]";
    args["Process Group Name"] = fmt::to_string(work.call.group);
    args["Process Group Description"] = group.name;
    args["Process Group Ranks"] = fmt::format("[{}]", fmt::join(group.members, ", "));
    if (work.group_sequence >= 0) args["Seq"] = work.group_sequence;
  }

  std::ofstream& out_;
  const Model& model_;
  const Spec& spec_;
  int rank_;
  const Trail& trail_;
  const HostClock& clock_;
  int64_t base_;
  int64_t cut_;
  bool is_first_ = true;
  int64_t step_ = 0;
  int64_t external_ = 0;
};

}  // namespace

std::string kineto_file_name(int rank) {
  return fmt::format("trace_{:08x}.json",
                     static_cast<uint32_t>(mixed(static_cast<uint64_t>(rank))));
}

Status write_kineto(const std::filesystem::path& path, const Model& model, const Truth& truth,
                    int rank, const Trail& trail) {
  std::ofstream out(path);
  KinetoFile(out, model, truth, rank, trail).write();
  if (!out) return fail(Code::kIo, fmt::format("{}: cannot be written", path.string()));
  return Done{};
}

}  // namespace dprof::synth
