// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/memory/memory.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "analyzer/digest/memory/memory_device.h"
#include "analyzer/digest/memory/memory_stacks.h"
#include "analyzer/run/sensible.h"

namespace dprof::analyzer {
namespace {

// In the trace's own time.
struct SitePoint {
  int64_t thread = 0;
  int64_t time_ns = 0;
  // Result: the outermost operator or autograd node, else the innermost other range.
  std::optional<int64_t> name_id;
  std::optional<int64_t> op_end_ns;  // of that operator
  int64_t range_start_ns = 0;        // of the range found so far
  bool in_op = false;
};

// One pass over host_range; keeps the order of the points. O(rows log points). A point's search
// ends if pathological nesting would cost more than kMostSiteWork steps in total.
inline constexpr int64_t kMostSiteWork = 20'000'000;

bool is_op(schema::RangeCategory category) {
  return category == schema::RangeCategory::kOp || category == schema::RangeCategory::kAutograd;
}

bool is_site(schema::RangeCategory category) {
  return is_op(category) || category == schema::RangeCategory::kUser ||
         category == schema::RangeCategory::kNvtx || category == schema::RangeCategory::kPython;
}

void consider(SitePoint& point, const schema::HostRangeRow& row) {
  const bool op = is_op(row.category);
  // Of operators the outermost, of other ranges the innermost.
  const bool better = op ? !point.in_op || row.start_ns < point.range_start_ns
                         : !point.in_op && (!point.name_id || row.start_ns >= point.range_start_ns);
  if (!better) return;
  point.name_id = row.name_id;
  point.range_start_ns = row.start_ns;
  point.in_op = op;
  if (op) point.op_end_ns = row.start_ns + *row.duration_ns;
}

Status find_sites(const schema::TraceReader& reader, std::vector<SitePoint>& points) {
  if (points.empty()) return Done{};
  std::unordered_map<int64_t, std::vector<SitePoint*>> by_thread;
  for (SitePoint& point : points) by_thread[point.thread].push_back(&point);
  for (auto& [thread, own] : by_thread) {
    std::ranges::stable_sort(own, {}, [](const SitePoint* p) { return p->time_ns; });
  }
  const auto span = std::ranges::minmax(points, {}, &SitePoint::time_ns);
  int64_t work = 0;
  return reader.for_each<schema::HostRangeRow>([&](const schema::HostRangeRow& row) {
    if (!row.duration_ns || *row.duration_ns <= 0 || !is_site(row.category) ||
        !sensible(row.start_ns) || !sensible(*row.duration_ns) || work > kMostSiteWork) {
      return;
    }
    const int64_t end = row.start_ns + *row.duration_ns;
    if (row.start_ns > span.max.time_ns || end <= span.min.time_ns) return;
    const auto own = by_thread.find(row.thread_id);
    if (own == by_thread.end()) return;
    auto at = std::ranges::lower_bound(own->second, row.start_ns, {},
                                       [](const SitePoint* p) { return p->time_ns; });
    for (; at != own->second.end() && (*at)->time_ns < end; ++at, ++work) consider(**at, row);
  });
}

using schema::MemoryEventKind;

constexpr int64_t kMostDevices = 64;
constexpr size_t kMostBlocks = 16'384;  // blocks of a device kept individually
constexpr size_t kMostReadings = 8192;

class MemoryReader {
 public:
  MemoryReader(const TraceFile& trace, const schema::TraceReader& reader,
               const MemoryContext& so_far)
      : trace_(trace), reader_(reader), so_far_(so_far) {}

  Result<MemoryDigest> run() {
    for (const auto stage : {&MemoryReader::read_samples, &MemoryReader::read_events,
                             &MemoryReader::read_devices, &MemoryReader::find_gaps}) {
      if (const Status good = (this->*stage)(); !good.ok()) return fail(good.error());
    }
    if (const Status good = finish_devices(); !good.ok()) return fail(good.error());
    return std::move(digest_);
  }

 private:
  [[nodiscard]] TraceNs on_axis(int64_t time) const { return {time + trace_.shift_ns}; }

  Status read_samples() {
    return reader_.for_each<schema::MemorySampleRow>([&](const schema::MemorySampleRow& row) {
      ++digest_.rows;
      if (!sensible(row.time_ns) || row.device_id < -1 || row.device_id >= kMostDevices) {
        ++digest_.bad_rows;
        return;
      }
      std::vector<MemoryReading>& readings = readings_[static_cast<int>(row.device_id)];
      readings.push_back({on_axis(row.time_ns), credible(row.allocated_bytes),
                          credible(row.reserved_bytes), credible(row.peak_allocated_bytes),
                          credible(row.peak_reserved_bytes), credible(row.largest_free_bytes)});
      if (readings.size() > kMostReadings) thin_out(readings);
    });
  }

  // Of two neighbours, the one with less allocated is kept, with the peaks of both: memory that is
  // never released shows a leak.
  static void thin_out(std::vector<MemoryReading>& readings) {
    const auto larger = [](const std::optional<int64_t>& a, const std::optional<int64_t>& b) {
      return a && b ? std::max(a, b) : a ? a : b;
    };
    std::vector<MemoryReading> thinner;
    for (size_t i = 0; i + 1 < readings.size(); i += 2) {
      const MemoryReading& a = readings[i];
      const MemoryReading& b = readings[i + 1];
      MemoryReading kept = b.allocated && (!a.allocated || *b.allocated < *a.allocated) ? b : a;
      kept.peak_allocated =
          larger(larger(a.peak_allocated, b.peak_allocated), larger(a.allocated, b.allocated));
      kept.peak_reserved =
          larger(larger(a.peak_reserved, b.peak_reserved), larger(a.reserved, b.reserved));
      thinner.push_back(kept);
    }
    if (readings.size() % 2 == 1) thinner.push_back(readings.back());
    readings = std::move(thinner);
  }

  DeviceReplay& device(int64_t id) {
    const int number = static_cast<int>(id);
    const auto known = replays_.find(number);
    if (known != replays_.end()) return known->second;
    return replays_
        .try_emplace(number, number, so_far_.steps, pieces_, std::move(readings_[number]))
        .first->second;
  }

  Status read_events() {
    pieces_ = phase_pieces(so_far_);
    for (auto& [device_id, readings] : readings_) {
      std::ranges::stable_sort(readings, {}, &MemoryReading::at);
      (void)device(device_id);
    }
    std::unordered_set<int64_t> parameters;
    Status read = reader_.for_each<schema::MemoryEventRow>([&](const schema::MemoryEventRow& row) {
      ++digest_.rows;
      if (row.kind == MemoryEventKind::kRegistered &&
          row.category == schema::MemoryCategory::kParameter)
        parameters.insert(row.address);
      if (!sensible(row.time_ns) || row.device_id < -1 || row.device_id >= kMostDevices ||
          row.bytes < 0 || row.bytes > LiveBlocks::kMostBytes ||
          static_cast<int64_t>(row.kind) < 0 || row.kind > MemoryEventKind::kRegistered) {
        ++digest_.bad_rows;
        return;
      }
      if (!device(row.device_id).take(row, on_axis(row.time_ns))) ++digest_.bad_rows;
    });
    digest_.registered_parameters = static_cast<int64_t>(parameters.size());
    return read;
  }

  Status read_devices() {
    return reader_.for_each<schema::DeviceRow>([&](const schema::DeviceRow& row) {
      if (row.id < 0 || row.id >= kMostDevices) return;
      digest_.sizes.push_back(
          {static_cast<int>(row.id), row.uuid.value_or(""), credible(row.memory_bytes)});
    });
  }

  // Host memory is recorded at detail full, device memory from standard on.
  Status find_gaps() {
    const Status capture = reader_.for_each<schema::CaptureRow>([&](const schema::CaptureRow& row) {
      const bool on = row.state == schema::CaptureState::kRecording;
      note_capture(host_capture_, on && row.detail == schema::DetailLevel::kFull);
      note_capture(device_capture_, on && (row.detail == schema::DetailLevel::kStandard ||
                                           row.detail == schema::DetailLevel::kFull));
    });
    if (!capture.ok()) return fail(capture.error());
    digest_.host_gaps = host_capture_.gap || so_far_.lost_events;
    digest_.device_gaps = device_capture_.gap || so_far_.lost_events;
    return Done{};
  }

  // On, off and on again.
  struct Capture {
    bool on = false;
    bool was_on = false;
    bool gap = false;
  };
  static void note_capture(Capture& capture, bool on) {
    capture.gap = capture.gap || (on && capture.was_on && !capture.on);
    capture.on = on;
    capture.was_on = capture.was_on || on;
  }

  Status finish_devices() {
    std::vector<DeviceReplay::Outcome> outcomes;
    for (auto& [number, replay] : replays_) outcomes.push_back(replay.finish());
    for (DeviceReplay::Outcome& outcome : outcomes) {
      for (std::vector<LiveBlock>* blocks : {&outcome.at_peak, &outcome.at_end}) {
        std::ranges::stable_sort(*blocks, [](const LiveBlock& a, const LiveBlock& b) {
          if (a.bytes != b.bytes) return a.bytes > b.bytes;
          return a.born_ns < b.born_ns;
        });
        for (size_t i = 0; i < std::min(blocks->size(), kMostBlocks); ++i) {
          if ((*blocks)[i].serial >= 0)
            points_.push_back({.thread = (*blocks)[i].thread, .time_ns = (*blocks)[i].born_ns});
        }
      }
      for (const Flush& flush : outcome.flushes)
        points_.push_back({.thread = flush.thread, .time_ns = flush.free_ns});
    }
    if (const Status found = find_sites(reader_, points_); !found.ok()) return fail(found.error());
    if (const Status good = stacks_.load(); !good.ok()) return fail(good.error());
    for (DeviceReplay::Outcome& outcome : outcomes) {
      DeviceMemory memory = std::move(outcome.memory);
      memory.at_peak = held(outcome.at_peak);
      memory.at_end = held(outcome.at_end);
      count_retries(outcome.flushes, memory);
      digest_.devices.push_back(std::move(memory));
    }
    return Done{};
  }

  int32_t site_of(int64_t name_id) {
    const auto [known, is_new] =
        site_numbers_.try_emplace(name_id, static_cast<int32_t>(digest_.sites.size()));
    if (is_new) digest_.sites.push_back(reader_.string(name_id));
    return known->second;
  }

  // -1 = no such stack.
  int32_t site_of_stack(int64_t stack) {
    const auto [known, is_new] = stack_numbers_.try_emplace(stack, -1);
    if (!is_new) return known->second;
    std::string words = stacks_.words(stack);
    if (words.empty()) return -1;
    known->second = static_cast<int32_t>(digest_.sites.size());
    digest_.sites.push_back(std::move(words));
    return known->second;
  }

  HeldBlock held(const LiveBlock& block, const SitePoint* point) {
    HeldBlock out{.bytes = block.bytes, .said = block.said};
    if (block.serial >= 0) {
      out.born = on_axis(block.born_ns);
      out.by_loader = so_far_.loaders.contains(block.thread);
    }
    // Memory that a process frees as it ends was held throughout training.
    const bool freed_in_training =
        block.freed_ns != kNeverFreed.ns &&
        (so_far_.steps.empty() || on_axis(block.freed_ns) < so_far_.steps.back().window.end);
    if (freed_in_training) out.freed = on_axis(block.freed_ns);
    const size_t born = piece_at(pieces_, out.born);
    const size_t freed = piece_at(pieces_, out.freed);
    if (block.serial >= 0 && born < pieces_.size()) out.born_in = pieces_[born].phase;
    if (freed_in_training && freed < pieces_.size()) {
      out.freed_in = pieces_[freed].phase;
      out.same_phase = block.serial >= 0 && born == freed;
    }
    if (point == nullptr) return out;
    if (block.stack > 0) out.site = site_of_stack(block.stack);
    if (out.site < 0 && point->name_id) out.site = site_of(*point->name_id);
    out.in_op = point->op_end_ns && block.freed_ns <= *point->op_end_ns;
    return out;
  }

  // The largest blocks individually, in the order in which their points were made; the others as
  // one block of each kind.
  std::vector<HeldBlock> held(const std::vector<LiveBlock>& blocks) {
    std::vector<HeldBlock> out;
    std::map<std::tuple<int, int, int, bool, bool, bool>, HeldBlock> rest;
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (i < kMostBlocks) {
        out.push_back(held(blocks[i], blocks[i].serial >= 0 ? &points_[next_point_++] : nullptr));
        continue;
      }
      const HeldBlock one = held(blocks[i], nullptr);
      const auto [kind, is_new] =
          rest.try_emplace({static_cast<int>(one.said), static_cast<int>(one.born_in),
                            static_cast<int>(one.freed_in), one.same_phase,
                            one.born == kBeforeRecording, one.freed == kNeverFreed},
                           one);
      if (is_new) continue;
      kind->second.bytes += one.bytes;
      ++kind->second.blocks;
      kind->second.born = std::min(kind->second.born, one.born);
      kind->second.freed = std::max(kind->second.freed, one.freed);
    }
    for (const auto& [key, block] : rest) out.push_back(block);
    return out;
  }

  // Within one operator the cache is released only by a failed allocation. If operators are not
  // recorded, that is indistinguishable from a program that emptied the cache.
  void count_retries(const std::vector<Flush>& flushes, DeviceMemory& memory) {
    const auto in_op = [](const SitePoint& point) { return point.in_op; };
    const bool ops = std::ranges::any_of(points_, in_op);
    int64_t retries = 0;
    for (const Flush& flush : flushes) {
      const SitePoint& point = points_[next_point_++];
      if (point.op_end_ns && flush.alloc_ns <= *point.op_end_ns) ++retries;
    }
    if (memory.events > 0 && (ops || flushes.empty())) memory.retries = retries;
  }

  const TraceFile& trace_;
  const schema::TraceReader& reader_;
  const MemoryContext& so_far_;
  MemoryDigest digest_;
  std::vector<MemoryPhase> pieces_;
  std::map<int, std::vector<MemoryReading>> readings_;
  std::map<int, DeviceReplay> replays_;
  Capture host_capture_;
  Capture device_capture_;
  std::vector<SitePoint> points_;
  size_t next_point_ = 0;
  std::unordered_map<int64_t, int32_t> site_numbers_;
  AllocationStacks stacks_{reader_};
  std::unordered_map<int64_t, int32_t> stack_numbers_;
};

}  // namespace

// From the recorder's samples of all processes, in the trace that has them for its host.
void DeviceUseGatherer::see(const schema::SystemSampleRow& row, SampleKind kind) {
  const bool has_room = by_subject_.size() < kMostDevices;
  if (kind == SampleKind::kUuid) {
    if (has_room) by_subject_[row.value].uuid = uuid_of(reader_.string(row.kind_id));
    return;
  }
  if (kind != SampleKind::kMemoryUsed && kind != SampleKind::kMemoryTotal) return;
  if (!row.subject || !credible(row.value)) return;
  if (!has_room && !by_subject_.contains(*row.subject)) return;
  DeviceUse& use = by_subject_[*row.subject];
  int64_t& most = kind == SampleKind::kMemoryUsed ? use.used : use.total;
  most = std::max(most, row.value);
}

std::vector<DeviceUse> DeviceUseGatherer::take() {
  std::vector<DeviceUse> uses;
  for (auto& [subject, use] : by_subject_) {
    if (!use.uuid.empty() && use.used > 0) uses.push_back(std::move(use));
  }
  return uses;
}

Result<MemoryDigest> read_memory(const TraceFile& trace, const schema::TraceReader& reader,
                                 const MemoryContext& so_far) {
  return MemoryReader(trace, reader, so_far).run();
}

}  // namespace dprof::analyzer
