// SPDX-License-Identifier: Apache-2.0
#include "synth/write/trace_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "synth/clocks/probes.h"
#include "synth/random.h"
#include "synth/write/system_rows.h"

namespace dprof::synth {
namespace {

using schema::CollectiveState;

constexpr int64_t kMainId = 1;
constexpr int64_t kAutogradId = 2;
constexpr int64_t kWorkerId = 3;
constexpr size_t kMostListedMembers = 2048;

class TraceRows {
 public:
  TraceRows(schema::TraceWriter& writer, const TraceOrder& order, const Trail& trail)
      : writer_(writer),
        order_(order),
        model_(*order.model),
        spec_(model_.spec()),
        trail_(trail),
        host_(host_of(spec_, order.rank)),
        clock_(order.truth->hosts[static_cast<size_t>(host_)].clock),
        cut_(recorded_until(model_, order.rank, trail)),
        gpu_(spec_.shape == Shape::kGpu),
        names_(std::size(kNames), -1) {}

  Status write() {
    dictionaries();
    communicators();
    ranges();
    activities();
    dependencies();
    collectives();
    steps();
    loads();
    memory();
    clocks();
    system();
    meta();
    return status_;
  }

  [[nodiscard]] int64_t dropped() const { return dropped_; }

 private:
  template <typename Row>
  void append(const Row& row) {
    if (status_.ok()) status_ = writer_.append(row);
  }

  [[nodiscard]] int64_t on_clock(int64_t true_ns) const { return clock_.trace(true_ns); }
  [[nodiscard]] std::optional<int64_t> seen(int64_t true_ns) const {
    return true_ns <= cut_ ? std::optional(on_clock(true_ns)) : std::nullopt;
  }
  int64_t id_of(int32_t which) {
    int64_t& id = names_[static_cast<size_t>(which)];
    if (id < 0) id = writer_.intern(kNames[static_cast<size_t>(which)]);
    return id;
  }
  void note_event(int64_t at) {
    first_event_ = std::min(first_event_, at);
    last_event_ = std::max(last_event_, at);
  }

  void dictionaries() {
    append(schema::ThreadRow{.id = kMainId,
                             .os_tid = 4000 + order_.rank,
                             .name_id = id_of(name("main")),
                             .role = schema::ThreadRole::kMain});
    if (gpu_) {
      append(schema::ThreadRow{.id = kAutogradId,
                               .os_tid = 24000 + order_.rank,
                               .name_id = id_of(name("pt_autograd_0")),
                               .role = schema::ThreadRole::kAutograd});
      append(schema::DeviceRow{
          .id = 0,
          .uuid = fmt::format("GPU-{:08x}", order_.rank),
          .name_id = writer_.intern(has_older_device() ? "Synthetic GPU, older" : "Synthetic GPU"),
          .memory_bytes = int64_t{80} << 30,
          .compute_capability = 900});
      constexpr std::array<int64_t, 4> kCudaStreams = {7, 20, 24, 28};
      for (size_t q = 0; q < kCudaStreams.size(); ++q) {
        append(schema::StreamRow{
            .id = static_cast<int64_t>(q), .device_id = 0, .cuda_stream = kCudaStreams[q]});
      }
    } else {
      append(schema::ThreadRow{.id = kWorkerId,
                               .os_tid = 44000 + order_.rank,
                               .name_id = id_of(name("gloo worker")),
                               .role = schema::ThreadRole::kCommunication});
    }
  }

  [[nodiscard]] bool has_older_device() const {
    return std::ranges::any_of(model_.plan().faults(), [&](const Fault& fault) {
      return fault.kind->name == "slow-device" &&
             model_.plan().touches(fault, order_.rank, fault.from);
    });
  }

  // Where batches differ they are larger, or their sequences longer. One batch per step.
  [[nodiscard]] std::string batch_shape(int64_t batch) const {
    const bool sequences = spec_.healthy == "variable-sequences" ||
                           std::ranges::any_of(model_.plan().faults(), [](const Fault& fault) {
                             return fault.kind->name == "long-sequences";
                           });
    const double factor = model_.plan().effects(order_.rank, batch).batch_factor;
    if (sequences) return fmt::format("32x{}", std::llround(512 * factor));
    return fmt::format("{}x3x224x224", std::llround(32 * factor));
  }

  void communicators() {
    for (size_t g = 0; g < model_.groups().size(); ++g) {
      const Group& group = model_.groups()[g];
      const int own = group.number_of(order_.rank);
      if (own < 0) continue;
      const auto id = static_cast<int64_t>(g) + 1;
      append(
          schema::CommunicatorRow{.id = id,
                                  .hash = group.hash,
                                  .ordinal = group.ordinal,
                                  .backend = gpu_ ? schema::Backend::kNccl : schema::Backend::kGloo,
                                  .size = static_cast<int64_t>(group.members.size()),
                                  .own_rank = own,
                                  .name_id = writer_.intern(group.name)});
      if (group.members.size() > kMostListedMembers) continue;
      for (size_t m = 0; m < group.members.size(); ++m) {
        append(schema::CommunicatorMemberRow{
            .communicator_id = id, .member = static_cast<int64_t>(m), .rank = group.members[m]});
      }
    }
  }

  void ranges() {
    int64_t id = 0;
    for (const RangeDone& range : trail_.ranges) {
      if (range.begin >= cut_) continue;
      note_event(range.begin);
      schema::HostRangeRow row{.id = ++id,
                               .thread_id = range.thread == 0 ? kMainId : kAutogradId,
                               .start_ns = on_clock(range.begin),
                               .name_id = id_of(range.name),
                               .category = static_cast<schema::RangeCategory>(range.category)};
      if (range.end <= cut_) {
        row.duration_ns = on_clock(range.end) - row.start_ns;
        note_event(range.end);
      }
      if (range.sequence >= 0) row.sequence = range.sequence;
      if (range.correlation >= 0) row.correlation = range.correlation;
      append(row);
    }
  }

  void activities() {
    int64_t id = 0;
    for (const ActivityDone& a : trail_.activities) {
      if (a.end > cut_) continue;  // a device reports only completed work
      note_event(a.end);
      schema::GpuActivityRow row{.id = ++id,
                                 .device_id = 0,
                                 .stream_id = a.queue,
                                 .start_ns = on_clock(a.begin),
                                 .duration_ns = on_clock(a.end) - on_clock(a.begin),
                                 .name_id = id_of(a.name),
                                 .kind = a.kind,
                                 .correlation = a.correlation};
      if (a.bytes >= 0) row.bytes = a.bytes;
      append(row);
    }
  }

  void dependencies() {
    int64_t id = 0;
    for (const DependencyDone& d : trail_.dependencies) {
      if (d.wait > cut_) continue;
      append(schema::GpuDependencyRow{.id = ++id,
                                      .event = d.event + 1,
                                      .record_stream_id = d.from_queue,
                                      .wait_stream_id = d.to_queue,
                                      .record_ns = on_clock(d.record),
                                      .wait_ns = on_clock(d.wait)});
    }
  }

  [[nodiscard]] bool is_lost(size_t work) const {
    for (const Fault& fault : model_.plan().faults()) {
      if (fault.kind->name != "drop") continue;
      if (uniform(key_of(spec_.seed, 81, order_.rank, work)) < fault.probability) return true;
    }
    return false;
  }

  void collectives() {
    int64_t id = 0;
    schema::LossRow loss{.source = gpu_ ? schema::Source::kNccl : schema::Source::kTorch,
                         .reason = schema::LossReason::kRingFull};
    for (size_t i = 0; i < trail_.works.size(); ++i) {
      const WorkDone& work = trail_.works[i];
      if (work.enqueue > cut_) continue;
      ++id;
      if (is_lost(i)) {
        ++loss.count;
        if (!loss.first_ns) loss.first_ns = on_clock(work.enqueue);
        loss.last_ns = on_clock(work.enqueue);
        continue;
      }
      append(row_of(work, id));
    }
    dropped_ = loss.count;
    if (loss.count > 0) append(loss);
  }

  schema::CollectiveRow row_of(const WorkDone& work, int64_t id) {
    const CollectiveCall& call = work.call;
    const bool message =
        call.function == schema::Function::kSend || call.function == schema::Function::kRecv;
    const bool half = call.dtype == schema::DataType::kFloat16;
    schema::CollectiveRow row{.id = id,
                              .communicator_id = call.group + 1,
                              .function = call.function,
                              .sequence = work.sequence,
                              .bytes = call.bytes,
                              .count = call.bytes / (half ? 2 : 4),
                              .dtype = call.dtype,
                              .reduction = message ? schema::Reduction::kNone : call.reduction,
                              .enqueue_ns = seen(work.enqueue),
                              .start_ns = seen(work.start),
                              .end_ns = seen(work.end)};
    if (!message) row.group_sequence = work.group_sequence;
    if (call.root >= 0) row.root = call.root;
    if (message && !call.any_source) row.peer = call.peer;
    if (call.bucket >= 0) row.bucket = call.bucket;
    if (call.bucket >= 0 && work.ready <= cut_) row.ready_ns = on_clock(work.ready);
    row.state = row.end_ns     ? CollectiveState::kComplete
                : row.start_ns ? CollectiveState::kRunning
                               : CollectiveState::kEnqueued;
    row.enqueue_thread_id = work.caller == 0 ? kMainId : kAutogradId;
    row.source = gpu_ ? schema::Source::kNccl : schema::Source::kTorch;
    if (gpu_ && call.queue != kInline) {
      row.stream_id = call.queue;
      row.correlation = work.correlation;
      row.algorithm = "RING";
      row.protocol = call.bytes < 65536 ? "LL" : "SIMPLE";
      row.channels = call.bytes < 65536 ? 2 : 16;
    } else if (row.start_ns) {
      row.thread_id = call.queue == kInline ? kMainId : kWorkerId;
    }
    return row;
  }

  void steps() {
    if (spec_.marks != Marks::kMarker) return;
    for (const StepDone& step : trail_.steps) {
      if (step.begin >= cut_) continue;
      append(schema::StepRow{.step_index = step.index,
                             .start_ns = on_clock(step.begin),
                             .end_ns = seen(step.end),
                             .source = schema::StepSource::kMarker});
    }
  }

  void loads() {
    int64_t id = 0;
    for (const LoadDone& load : trail_.loads) {
      if (load.begin >= cut_) continue;
      schema::LoaderEventRow row{.id = ++id,
                                 .thread_id = kMainId,
                                 .start_ns = on_clock(load.begin),
                                 .queue_depth = load.depth};
      if (load.end <= cut_) {
        row.duration_ns = on_clock(load.end) - row.start_ns;
        row.batch_shape = batch_shape(load.batch);
        row.index_hash = static_cast<int64_t>(key_of(spec_.seed, 91, order_.rank, load.batch) >> 2);
        row.epoch = 0;
      }
      append(row);
    }
  }

  void memory() {
    int64_t id = 0;
    for (const schema::MemoryEventRow& row : memory_rows(trail_, gpu_)) {
      if (row.time_ns > cut_) break;
      schema::MemoryEventRow on = row;
      on.id = ++id;
      on.time_ns = on_clock(row.time_ns);
      on.thread_id = kMainId;
      append(on);
    }
  }

  void clocks() {
    const std::vector<HostTruth>& hosts = order_.truth->hosts;
    const bool first_of_host = order_.rank == 0 || host_of(spec_, order_.rank - 1) != host_;
    const int64_t end = std::min(order_.host_end, std::max(cut_, trail_.ending.at));
    if (first_of_host && host_ > 0) {
      for (const auto& row : probe_rows(spec_.probes, key_of(spec_.seed, 101, host_), clock_,
                                        hosts.front().clock, hosts.front().clock_id, end))
        append(row);
    }
    for (const auto& row : sample_rows(clock_, key_of(spec_.seed, 102, host_), end)) append(row);
  }

  void system() {
    int64_t id = 0;
    const SystemOrder system{&model_, order_.rank, std::min(cut_, trail_.ending.at),
                             4000 + order_.rank, local_rank() == 0};
    for (const SystemValue& value : system_values(system, trail_)) {
      append(schema::SystemSampleRow{.id = ++id,
                                     .time_ns = on_clock(value.at),
                                     .kind_id = writer_.intern(value.kind),
                                     .subject = value.subject,
                                     .value = value.value});
    }
  }

  void meta() {
    const HostTruth& host = order_.truth->hosts[static_cast<size_t>(host_)];
    const auto set = [&](std::string_view key, const auto& value) {
      writer_.set_meta(key, fmt::to_string(value));
    };
    set("dprof_version", "0.1.0");
    set("run_id", kRunId);
    set("host", host.name);
    set("boot_id", fmt::format("b007{:04}-0000-4000-8000-000000000000", host_));
    set("clock_id", host.clock_id);
    set("recorder_id", fmt::format("4ec04de4-{:04}-4000-8000-000000000000", host_));
    set("pid", 4000 + order_.rank);
    set("rank", order_.rank);
    set("local_rank", local_rank());
    set("world_size", spec_.ranks);
    set("node_rank", host_);
    set("launcher", spec_.marks == Marks::kMarker ? "dprof" : "torchrun");
    set("restart_count", 0);
    set("command", fmt::format("synthetic {} {}", word_of(spec_.shape), word_of(spec_.technique)));
    set("detail", "full");
    set("clock_source", "tsc");
    set("ticks_per_second", 2'000'000'000);
    set("origin_realtime_ns", host.clock.origin_realtime());
    set("origin_monotonic_raw_ns", host.clock.origin_raw());
    set("torch_version", "2.11.0");
    set("torch_source", "on");
    set("nvtx_source", "unused");
    if (gpu_) {
      set("nccl_source", "on");
      set("nccl_version", "2.27.5");
      set("cuda_source", "on");
      set("cuda_mode", "cupti");
    }
    set("first_event_ns", on_clock(first_event_));
    set("last_event_ns", on_clock(last_event_));
    const int64_t events = writer_.rows();
    set("records", events * 2);
    set("in_process_ns", events * 60);
    set("recorder_cpu_ns", events * 800);
    const std::string ended = ended_word(model_, order_.rank, trail_.ending);
    if (ended.empty()) return;
    set("ended", ended);
    const Ending& e = trail_.ending;
    set("exit_status",
        e.signal != 0 ? fmt::format("signal:{}", e.signal) : fmt::format("exit:{}", e.exit_code));
  }

  [[nodiscard]] int local_rank() const {
    int first = order_.rank;
    while (first > 0 && host_of(spec_, first - 1) == host_) --first;
    return order_.rank - first;
  }

  schema::TraceWriter& writer_;
  const TraceOrder& order_;
  const Model& model_;
  const Spec& spec_;
  const Trail& trail_;
  int host_;
  const HostClock& clock_;
  int64_t cut_;
  bool gpu_;
  std::vector<int64_t> names_;
  Status status_ = Done{};
  int64_t first_event_ = kNever;
  int64_t last_event_ = 0;
  int64_t dropped_ = 0;
};

const Fault* truncation(const Model& model, int rank) {
  for (const Fault& fault : model.plan().faults()) {
    if (fault.kind->name == "truncate" && fault.rank == rank) return &fault;
  }
  return nullptr;
}

}  // namespace

std::string trace_file_name(int rank) { return fmt::format("rank-{:05}.dprof", rank); }

std::string ended_word(const Model& model, int rank, const Ending& ending) {
  if (ending.lost || truncation(model, rank) != nullptr) return {};
  return ending.signal != 0 ? "process_killed" : "complete";
}

int64_t recorded_until(const Model& model, int rank, const Trail& trail) {
  int64_t until = trail.ending.at;
  if (const Fault* fault = truncation(model, rank)) {
    for (const StepDone& step : trail.steps) {
      if (step.index == fault->from) until = std::min(until, step.begin + 1'000'000);
    }
  }
  return until;
}

Result<TraceTally> write_trace(const std::filesystem::path& file, const TraceOrder& order,
                               const Trail& trail) {
  Result<std::unique_ptr<schema::TraceWriter>> created =
      schema::TraceWriter::create(file, schema::TraceWriter::Journal::kRollback);
  if (!created.ok()) return fail(created.error());
  schema::TraceWriter& writer = **created;
  TraceRows rows(writer, order, trail);
  const Status written = rows.write();
  if (!written.ok()) return fail(written.error());
  const TraceTally tally{writer.rows(), rows.dropped()};
  const Result<bool> finished = writer.finish();
  if (!finished.ok()) return fail(finished.error());
  return tally;
}

}  // namespace dprof::synth
