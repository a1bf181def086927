// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analyzer/digest/facts_gatherer.h"
#include "analyzer/digest/gpu_activities.h"
#include "analyzer/digest/gpu_host.h"
#include "analyzer/digest/shift.h"
#include "analyzer/digest/thread_sketch.h"
#include "analyzer/run/sensible.h"
#include "analyzer/vocabulary/loss.h"
#include "base/free_memory.h"
#include "schema/function.h"
#include "schema/trace_reader.h"

namespace dprof::analyzer {
namespace {

using schema::Marker;

// Each large table is read once, in one pass for all consumers; except that memory/ reads
// host_range again once the blocks at the peak are known.
class Digester {
 public:
  Digester(const TraceFile& trace, const schema::TraceReader& reader, int64_t gpu_rows)
      : trace_(trace),
        reader_(reader),
        gpu_rows_(gpu_rows),
        sample_kinds_(sample_kinds(reader.strings())),
        facts_(reader, trace.shift_ns, gpu_rows),
        system_(reader, trace.shift_ns),
        device_uses_(reader) {
    digest_.rank = trace.rank;
    if (gpu_rows > 0) host_side_.emplace();
  }

  Result<RankDigest> run() {
    for (const auto stage :
         {&Digester::read_threads, &Digester::read_communicators, &Digester::read_collectives,
          &Digester::read_ranges, &Digester::read_loader, &Digester::read_remarks,
          &Digester::read_end, &Digester::read_stacks, &Digester::read_gpu, &Digester::read_clock,
          &Digester::read_devices}) {
      if (const Status good = (this->*stage)(); !good.ok()) return fail(good.error());
    }
    close_open_ranges();
    choose_training_thread();
    // If a GPU computes, the duration of host calls says nothing about computation, and the time of
    // its rank is divided by its pieces, which know what the host did.
    if (!digest_.gpu.empty()) {
      digest_.op_times.clear();
      digest_.op_sums.clear();
      for (IntervalSet* set :
           {&digest_.named, &digest_.allocations, &digest_.gc, &digest_.logging, &digest_.profiler})
        free_memory(*set);
    }
    if (const Status good = read_samples(); !good.ok()) return fail(good.error());
    if (const Status good = settle_steps(); !good.ok()) return fail(good.error());
    if (digest_.steps_begun > 0) {
      free_memory(digest_.tokens);
      free_memory(digest_.gpu.tokens);
    }
    std::move(marks_).settle(digest_);
    mark_callers();
    if (bad_rows_ > 0) {
      digest_.losses.push_back(
          {schema::Source::kRecorder, schema::LossReason::kBadRecord, bad_rows_});
    }
    if (!any_time_) digest_.span = {};
    if (const Status good = read_memory(); !good.ok()) return fail(good.error());
    digest_.facts = std::move(facts_).finish(digest_);
    remark_missing_kernels();
    digest_.system = std::move(system_).finish();
    give_back_room();
    digest_.last_sign = std::max(digest_.last_sign, digest_.span.end);
    note_last_activity();
    forget_old_stack();
    return std::move(digest_);
  }

 private:
  // For a process that was killed: steps after its last kernel, if most steps are.
  void remark_missing_kernels() {
    constexpr int64_t kFewest = 3;
    const Facts& facts = digest_.facts;
    if (facts.cuda_source != "on" || !facts.has_gpu || facts.ended == "complete") return;
    TraceNs last{INT64_MIN};
    for (const KernelFact& kernel : facts.kernels) last = std::max(last, kernel.last);
    const auto all = static_cast<int64_t>(digest_.steps.size());
    const int64_t without = std::ranges::count_if(
        digest_.steps, [&](const StepRecord& step) { return step.window.begin > last; });
    if (without < kFewest || 2 * without < all) return;
    digest_.remarks.push_back(make_diagnostic(
        "kernels_missing",
        fmt::format("no kernel is known of the last {} of {} steps", without, all), without));
  }

  Status read_memory() {
    const bool lost_memory = std::ranges::any_of(digest_.losses, [](const LossRecord& loss) {
      return loss.count > 0 && loss.source == schema::Source::kTorch && is_lost(loss.reason);
    });
    Result<MemoryDigest> memory =
        analyzer::read_memory(trace_, reader_,
                              {.phases = digest_.phases,
                               .steps = digest_.steps,
                               .autograd = digest_.autograd,
                               .autograd_elsewhere = digest_.autograd_elsewhere,
                               .loaders = loaders_,
                               .lost_events = lost_memory});
    if (!memory.ok()) return fail(memory.error());
    digest_.memory = *std::move(memory);
    digest_.memory.uses = device_uses_.take();
    return Done{};
  }

  [[nodiscard]] TraceNs on_axis(int64_t time) const { return {time + trace_.shift_ns}; }

  std::optional<TraceNs> moment(const std::optional<int64_t>& time) {
    if (!time) return std::nullopt;
    if (!sensible(*time)) {
      ++bad_rows_;
      return std::nullopt;
    }
    const TraceNs at = on_axis(*time);
    see(at);
    return at;
  }

  void see(TraceNs at) {
    digest_.span.begin = any_time_ ? std::min(digest_.span.begin, at) : at;
    digest_.span.end = any_time_ ? std::max(digest_.span.end, at) : at;
    any_time_ = true;
  }

  ThreadSketch& thread(int64_t id) {
    // Thread ids count from 0 in a sound trace: a short table beats a map.
    if (id >= 0 && id < 4096) {
      const auto index = static_cast<size_t>(id);
      if (index >= threads_.size()) threads_.resize(index + 1);
      return threads_[index];
    }
    return far_threads_[id];
  }

  Status read_threads() {
    return reader_.for_each<schema::ThreadRow>([&](const schema::ThreadRow& row) {
      thread(row.id).role = row.role;
      thread(row.id).os_tid = row.os_tid;
      if (row.role == schema::ThreadRole::kLoader) loaders_.insert(row.id);
      facts_.see(row);
      system_.see(row);
    });
  }

  struct OpenRange {
    int64_t thread_id;
    int64_t start_ns;
    RangeKind kind;
    int64_t name_id;
    int64_t row;
  };

  const RangeKind& kind(schema::RangeCategory category, int64_t name_id) {
    const auto slot = static_cast<size_t>(category) & 15U;
    std::vector<std::optional<RangeKind>>& known = kinds_[slot];
    const auto index = static_cast<size_t>(name_id);
    if (index >= reader_.strings().size()) return kind(category, 0);
    if (known.empty()) known.resize(std::max<size_t>(1, reader_.strings().size()));
    if (!known[index]) known[index] = kind_of(category, reader_.string(name_id));
    return *known[index];
  }

  [[nodiscard]] IntervalSet communication() const {
    std::vector<Interval> spans;
    for (const CollectiveRecord& record : digest_.collectives) {
      if (record.start && record.end) spans.push_back({*record.start, *record.end});
    }
    return union_of(std::move(spans));
  }

  Status read_ranges() {
    OpTimesGatherer op_times(communication(), reader_.strings().size());
    const Status read = read_ranges(op_times);
    if (!read.ok()) return fail(read.error());
    facts_.ranges_end();
    digest_.op_times =
        std::move(op_times).take([&](int64_t name_id) { return reader_.string(name_id); });
    return Done{};
  }

  Status read_ranges(OpTimesGatherer& op_times) {
    return reader_.for_each<schema::HostRangeRow>([&](const schema::HostRangeRow& row) {
      ++digest_.events;
      facts_.see(row);
      if (!sensible(row.start_ns) ||
          (row.duration_ns && (*row.duration_ns < 0 || !sensible(*row.duration_ns)))) {
        ++bad_rows_;
        return;
      }
      const RangeKind& what = kind(row.category, std::max<int64_t>(0, row.name_id));
      const TraceNs begin = on_axis(row.start_ns);
      see(begin);
      if (!row.duration_ns) {
        open_.push_back({row.thread_id, row.start_ns, what, row.name_id, row.id});
        if (host_side_)
          host_side_->add(row, what, reader_.string(row.name_id), {begin, {INT64_MAX}});
        return;
      }
      const Interval span{begin, {begin.ns + *row.duration_ns}};
      see(span.end);
      if (host_side_) host_side_->add(row, what, reader_.string(row.name_id), span);
      ThreadSketch& sketch = thread(row.thread_id);
      ++sketch.ranges;
      if (!sketch.last_ended || span.end >= sketch.last_ended->end) {
        sketch.last_ended = span;
        sketch.last_ended_name_id = row.name_id;
      }
      sketch.add(what, reader_.string(row.name_id), span, row.id, false);
      sketch.add_token(what, row.name_id, span);
      if (what.in_forward) sketch.forward_signs.add(span);
      if (row.sequence && *row.sequence >= 0) {
        if (what.what == RangeClass::kOp) sketch.add_numbered(*row.sequence, span);
        if (what.what == RangeClass::kAutograd) node_sequences_.push_back(*row.sequence);
      }
      if (what.what == RangeClass::kOp || what.what == RangeClass::kAutograd) {
        op_times.add(sketch.op_times_until, row.name_id, span);
        sketch.op_sums.add(row.name_id, what.what == RangeClass::kAutograd, span);
      }
    });
  }

  Status read_loader() {
    return reader_.for_each<schema::LoaderEventRow>([&](const schema::LoaderEventRow& row) {
      ++digest_.events;
      facts_.see(row);
      const std::optional<TraceNs> begin = moment(row.start_ns);
      if (begin && !row.duration_ns) loading_since_ = begin;
      if (!begin || !row.duration_ns || *row.duration_ns < 0 || !sensible(*row.duration_ns)) return;
      const Interval span{*begin, {begin->ns + *row.duration_ns}};
      thread(row.thread_id).phases.push_back({span, Marker::kInput, 0});
      if (host_side_) host_side_->add_loader_wait(row.thread_id, span);
    });
  }

  Status read_communicators() {
    const Status read =
        reader_.for_each<schema::CommunicatorRow>([&](const schema::CommunicatorRow& row) {
          communicator_of_[row.id] = digest_.communicators.size();
          std::string name = row.name_id ? reader_.string(*row.name_id) : std::string();
          if (name.empty()) name = fmt::format("group {:x}", static_cast<uint64_t>(row.hash) >> 32);
          digest_.communicators.push_back(
              {row.hash, row.ordinal, std::move(name), row.size, {}, row.own_rank, row.backend});
        });
    if (!read.ok()) return fail(read.error());
    std::vector<std::vector<int>> members(digest_.communicators.size());
    Status members_read = reader_.for_each<schema::CommunicatorMemberRow>(
        [&](const schema::CommunicatorMemberRow& row) {
          const auto known = communicator_of_.find(row.communicator_id);
          if (known == communicator_of_.end() || row.rank < 0 || row.rank > INT32_MAX) return;
          members[known->second].push_back(static_cast<int>(row.rank));
        });
    for (size_t c = 0; c < members.size(); ++c)
      digest_.communicators[c].members = std::move(members[c]);
    return members_read;
  }

  uint32_t communicator(const std::optional<int64_t>& id) {
    const int64_t key = id.value_or(-1);
    const auto [entry, is_new] = communicator_of_.try_emplace(key, digest_.communicators.size());
    if (is_new)
      digest_.communicators.push_back(
          {.hash = 0, .ordinal = 0, .name = "unknown", .size = {}, .members = {}});
    return static_cast<uint32_t>(entry->second);
  }

  Status read_collectives() {
    std::map<std::pair<size_t, schema::Function>, int64_t> next;
    return reader_.for_each<schema::CollectiveRow>([&](const schema::CollectiveRow& row) {
      ++digest_.events;
      CollectiveRecord record;
      record.row = row.id;
      record.communicator = communicator(row.communicator_id);
      record.function = row.function;
      int64_t& ordinal = next[{record.communicator, row.function}];
      record.numbered = row.sequence.has_value();
      if (!row.sequence && !row.group_sequence && !schema::is_message(row.function))
        digest_.sequences_inferred = true;
      record.sequence = row.sequence.value_or(ordinal);
      ordinal = record.sequence < kTimeLimit ? record.sequence + 1 : 0;
      record.group_sequence = row.group_sequence;
      record.bytes = row.bytes;
      record.dtype = row.dtype;
      record.root = row.root;
      record.peer = row.peer;
      record.enqueue = moment(row.enqueue_ns);
      record.start = moment(row.start_ns);
      record.end = moment(row.end_ns);
      if (record.end && record.start && *record.end < *record.start) record.end.reset();
      record.count = row.count;
      record.bucket = row.bucket;
      record.ready = moment(row.ready_ns);
      record.correlation = row.correlation;
      record.reduction = row.reduction;
      record.state = row.state;
      if (row.state == schema::CollectiveState::kFailed)
        record.failed = std::exchange(record.end, std::nullopt);
      record.captured = row.captured != 0;
      callers_.push_back(row.enqueue_thread_id);
      digest_.collectives.push_back(record);
    });
  }

  Status read_remarks() {
    digest_.events += gpu_rows_;
    for (const std::string_view table : {"gpu_dependency", "memory_event", "nccl_event"}) {
      const Result<int64_t> count = reader_.count(table);
      if (!count.ok()) return fail(count.error());
      digest_.events += *count;
    }
    const Status losses = reader_.for_each<schema::LossRow>([&](const schema::LossRow& row) {
      digest_.losses.push_back({row.source, row.reason, row.count});
    });
    if (!losses.ok()) return fail(losses.error());
    const Status captures =
        reader_.for_each<schema::CaptureRow>([&](const schema::CaptureRow& row) {
          digest_.paused_at_end = row.state != schema::CaptureState::kRecording;
        });
    if (!captures.ok()) return fail(captures.error());
    return reader_.for_each<schema::DiagnosticRow>([&](const schema::DiagnosticRow& row) {
      digest_.remarks.push_back({row.code, row.severity, row.count, reader_.string(row.text_id)});
    });
  }

  // Clock samples continue while the ranks hang: they show how long a hang was.
  Status read_end() {
    digest_.operations = reader_.meta("imported_format") == "operation_table";
    digest_.in_process_ns = reader_.meta_int("in_process_ns");
    digest_.recorder_cpu_ns = reader_.meta_int("recorder_cpu_ns");
    digest_.last_sign = {INT64_MIN};
    const auto sign_at = [&](int64_t time) {
      if (sensible(time)) digest_.last_sign = std::max(digest_.last_sign, on_axis(time));
    };
    if (const auto last = reader_.meta_int("last_event_ns")) sign_at(*last);
    const auto origin = reader_.meta_int("origin_monotonic_raw_ns");
    return reader_.for_each<schema::ClockSampleRow>([&](const schema::ClockSampleRow& row) {
      if (origin && sensible(*origin) && sensible(row.monotonic_raw_ns))
        sign_at(row.monotonic_raw_ns - *origin);
    });
  }

  // The latest stacks, of the process's first thread.
  Status read_stacks() {
    const std::optional<int64_t> first_thread = reader_.meta_int("pid");
    std::vector<StackFrame>& stack = digest_.last_activity.stack;
    return reader_.for_each<schema::StackFrameRow>([&](const schema::StackFrameRow& row) {
      if (!first_thread || row.os_tid != first_thread || !sensible(row.time_ns)) return;
      const TraceNs taken = on_axis(row.time_ns);
      if (stack_taken_ != taken) stack.clear();
      stack_taken_ = taken;
      if (stack.size() >= LastActivity::kFrames) return;
      stack.push_back({std::string(word_of(row.kind)), reader_.string(row.function_id),
                       row.file_id ? reader_.string(*row.file_id) : std::string(), row.line});
    });
  }

  // A later call shows that the thread went on.
  void forget_old_stack() {
    if (!stack_taken_) return;
    const bool went_on = std::ranges::any_of(
        digest_.collectives, [&](const CollectiveRecord& c) { return c.enqueue > stack_taken_; });
    if (went_on || (!digest_.steps.empty() && digest_.steps.back().window.end > *stack_taken_))
      digest_.last_activity.stack.clear();
  }

  Result<Activities> read_activities() {
    ActivityGatherer activities(reader_, trace_.shift_ns, *host_side_, digest_.collectives);
    const Status streams = reader_.for_each<schema::StreamRow>(
        [&](const schema::StreamRow& row) { activities.see(row); });
    if (!streams.ok()) return fail(streams.error());
    const Status read =
        reader_.for_each<schema::GpuActivityRow>([&](const schema::GpuActivityRow& row) {
          activities.see(row);
          facts_.see(row);
        });
    if (!read.ok()) return fail(read.error());
    return std::move(activities).finish();
  }

  Status read_gpu() {
    if (!host_side_) return Done{};
    host_side_->finish();
    Result<Activities> activities = read_activities();
    if (!activities.ok()) return fail(activities.error());
    Result<GpuDigest> gpu =
        digest_gpu(reader_, trace_.shift_ns, *host_side_, *std::move(activities),
                   any_time_ ? std::optional(digest_.span) : std::nullopt, digest_.remarks);
    if (!gpu.ok()) return fail(gpu.error());
    facts_.see_device_waits(host_side_->take_device_waits());
    launched_forwards_ = host_side_->take_forwards();
    host_side_.reset();
    digest_.gpu = *std::move(gpu);
    for (const DeviceDigest& device : digest_.gpu.devices) {
      see(device.pieces.front().begin);
      see(device.end);
    }
    return Done{};
  }

  Status read_clock() {
    Result<ClockEvidence> clock = read_clock_evidence(reader_, trace_.shift_ns);
    if (!clock.ok()) return fail(clock.error());
    digest_.clock = *std::move(clock);
    return Done{};
  }

  void close_open_ranges() {
    digest_.open_ranges = static_cast<int64_t>(open_.size());
    for (const OpenRange& range : open_) {
      const Interval span{on_axis(range.start_ns), digest_.span.end};
      thread(range.thread_id).add(range.kind, reader_.string(range.name_id), span, range.row, true);
    }
  }

  void choose_training_thread() {
    std::vector<std::pair<int64_t, ThreadSketch*>> all;
    for (size_t id = 0; id < threads_.size(); ++id)
      all.emplace_back(static_cast<int64_t>(id), &threads_[id]);
    for (auto& [id, sketch] : far_threads_) all.emplace_back(id, &sketch);
    const auto likelihood = [](const auto& entry) {
      const ThreadSketch& t = *entry.second;
      return std::make_tuple(t.phases.size() + t.step_marks.size(),
                             t.role == schema::ThreadRole::kMain,
                             t.role == schema::ThreadRole::kCommunication ? 0 : t.ranges);
    };
    if (all.empty()) return;
    const auto chosen = *std::ranges::max_element(all, {}, likelihood);
    training_thread_ = chosen.first;
    std::vector<Interval> elsewhere;
    for (auto& [id, sketch] : all) {
      if (id == chosen.first) continue;
      const IntervalSet nodes = sketch->autograd.take();
      elsewhere.insert(elsewhere.end(), nodes.begin(), nodes.end());
    }
    ThreadSketch& t = *chosen.second;
    digest_.autograd_elsewhere = union_of(std::move(elsewhere));
    digest_.autograd = t.autograd.take();
    digest_.ops = t.ops.take();
    digest_.op_sums =
        std::move(t.op_sums).take([&](int64_t id) { return std::string_view(reader_.string(id)); });
    digest_.forward_signs = forward_signs_of(t);
    if (digest_.forward_signs.empty())
      digest_.forward_signs = std::exchange(launched_forwards_, {});
    digest_.waits = t.waits.take();
    digest_.named = t.named.take();
    digest_.allocations = t.allocations.take();
    digest_.gc = t.gc.take();
    digest_.logging = t.logging.take();
    digest_.profiler = t.profiler.take();
    training_os_tid_ = t.os_tid;
    digest_.phases = std::move(t.phases);
    std::ranges::stable_sort(digest_.phases, {}, [](const PhaseRange& p) { return p.span.begin; });
    last_ended_ = t.last_ended;
    last_ended_name_id_ = t.last_ended_name_id;
    step_marks_ = std::move(t.step_marks);
    marks_ = std::move(t.marks);
    if (digest_.collectives.empty()) digest_.tokens = t.tokens.take();
  }

  IntervalSet forward_signs_of(ThreadSketch& t) {
    const bool marked = std::ranges::any_of(
        t.phases, [](const PhaseRange& p) { return p.marker == Marker::kForward; });
    if (marked) return {};
    std::ranges::sort(node_sequences_);
    for (const NumberedOp& op : t.numbered_ops) {
      if (std::ranges::binary_search(node_sequences_, op.sequence)) t.forward_signs.add(op.span);
    }
    return t.forward_signs.take();
  }

  Status read_devices() {
    return reader_.for_each<schema::DeviceRow>(
        [&](const schema::DeviceRow& row) { facts_.see(row); });
  }

  Status read_samples() {
    return reader_.for_each<schema::SystemSampleRow>([&](const schema::SystemSampleRow& row) {
      const auto id = static_cast<size_t>(row.kind_id);
      const SampleKind kind = id < sample_kinds_.size() ? sample_kinds_[id] : SampleKind::kOther;
      if (kind == SampleKind::kThreadRunQueue && row.subject == training_os_tid_ &&
          sensible(row.time_ns))
        digest_.run_queue.push_back({on_axis(row.time_ns), row.value});
      facts_.see(row, kind);
      system_.see(row, kind);
      device_uses_.see(row, kind);
    });
  }

  Status settle_steps() {
    const Status read = reader_.for_each<schema::StepRow>([&](const schema::StepRow& row) {
      ++digest_.steps_begun;
      digest_.step_source = row.source;
      if (!row.end_ns || !sensible(row.start_ns) || !sensible(*row.end_ns)) return;
      digest_.steps.push_back({row.step_index, {on_axis(row.start_ns), on_axis(*row.end_ns)}});
    });
    if (!read.ok()) return fail(read.error());
    if (digest_.steps_begun > 0) {
      std::vector<StepRecord>& steps = digest_.steps;
      for (size_t i = 1; i < steps.size(); ++i)
        end_at_next_if_rounded(steps[i - 1].window, steps[i].window);
      return Done{};
    }
    std::vector<StepMark> found = steps_from_marks(std::move(step_marks_));
    digest_.step_source = schema::StepSource::kMarker;
    if (found.empty()) {
      found = steps_from_optimizer(digest_.phases, digest_.autograd);
      digest_.step_source = schema::StepSource::kOptimizer;
    }
    digest_.steps_begun = static_cast<int64_t>(found.size());
    for (size_t i = 0; i < found.size(); ++i) {
      if (!found[i].open) digest_.steps.push_back({static_cast<int64_t>(i), found[i].span});
    }
    return Done{};
  }

  void note_last_activity() {
    const auto ago = [&](TraceNs time) { return (digest_.last_sign - time).ns; };
    LastActivity& last = digest_.last_activity;
    std::vector<OpenRange> open = open_;
    std::erase_if(open, [&](const OpenRange& r) { return r.thread_id != training_thread_; });
    std::ranges::stable_sort(open, std::ranges::greater(), &OpenRange::start_ns);
    if (open.size() > LastActivity::kOpenRanges) open.resize(LastActivity::kOpenRanges);
    for (const OpenRange& range : open) {
      last.open.push_back(
          {std::string(reader_.string(range.name_id)), ago(on_axis(range.start_ns)), std::nullopt});
    }
    if (last_ended_) {
      last.last = LastRange{std::string(reader_.string(last_ended_name_id_)),
                            ago(last_ended_->begin), ago(last_ended_->end)};
    }
    if (loading_since_) last.loading_for_ns = ago(*loading_since_);
  }

  // All ranks' digests are in memory at once: this releases capacity left over from gathering.
  void give_back_room() {
    for (IntervalSet* set :
         {&digest_.autograd, &digest_.autograd_elsewhere, &digest_.ops, &digest_.forward_signs,
          &digest_.waits, &digest_.named, &digest_.allocations, &digest_.gc, &digest_.logging,
          &digest_.profiler})
      set->shrink_to_fit();
    for (DeviceDigest& device : digest_.gpu.devices) device.pieces.shrink_to_fit();
    digest_.gpu.compute.shrink_to_fit();
    digest_.gpu.communication.shrink_to_fit();
    digest_.gpu.launches.shrink_to_fit();
    digest_.collectives.shrink_to_fit();
    digest_.phases.shrink_to_fit();
  }

  void mark_callers() {
    for (size_t i = 0; i < callers_.size(); ++i) {
      CollectiveRecords::Edited record = digest_.collectives.edit(i);
      record.by_training_thread = !callers_[i] || *callers_[i] == training_thread_;
    }
    digest_.collectives.sort_by_arrival();
  }

  const TraceFile& trace_;
  const schema::TraceReader& reader_;
  const int64_t gpu_rows_;
  RankDigest digest_;
  std::vector<int64_t> node_sequences_;  // of autograd nodes, on all threads
  IntervalSet launched_forwards_;
  std::optional<TraceNs> stack_taken_;
  bool any_time_ = false;
  int64_t bad_rows_ = 0;
  std::vector<ThreadSketch> threads_;
  std::map<int64_t, ThreadSketch> far_threads_;
  std::vector<OpenRange> open_;
  std::vector<std::optional<RangeKind>> kinds_[16];  // by category, then by name
  std::unordered_map<int64_t, size_t> communicator_of_;
  std::vector<std::optional<int64_t>> callers_;
  std::vector<StepMark> step_marks_;
  MarkGatherer marks_;  // of the training thread
  int64_t training_thread_ = -1;
  int64_t training_os_tid_ = -1;
  const std::vector<SampleKind> sample_kinds_;  // by id of the kind
  FactsGatherer facts_;
  SystemGatherer system_;
  DeviceUseGatherer device_uses_;
  std::unordered_set<int64_t> loaders_;  // threads
  std::optional<HostSide> host_side_;    // only if there are GPU rows
  std::optional<Interval> last_ended_;   // range of the training thread
  int64_t last_ended_name_id_ = 0;
  std::optional<TraceNs> loading_since_;
};

}  // namespace

Result<RankDigest> digest_rank(const TraceFile& trace) {
  const Result<schema::TraceReader> reader = schema::TraceReader::open(trace.path);
  if (!reader.ok()) return fail(reader.error());
  const Result<int64_t> gpu_rows = reader->count("gpu_activity");
  if (!gpu_rows.ok()) return fail(gpu_rows.error());
  TraceFile by_its_own_time = trace;
  by_its_own_time.shift_ns = 0;
  Result<RankDigest> digest = Digester(by_its_own_time, *reader, *gpu_rows).run();
  if (digest.ok()) shift_times(*digest, trace.shift_ns);
  return digest;
}

}  // namespace dprof::analyzer
