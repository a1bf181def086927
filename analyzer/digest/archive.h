// SPDX-License-Identifier: Apache-2.0
// How a digest is written to a file and read back (cereal). Private to cache.cpp and its test.
//
// A member that is forgotten here would silently be empty in each second report: the sizes at the
// end do not compile then.
#pragma once

#include <cereal/types/array.hpp>
#include <cereal/types/common.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/vector.hpp>

#include "analyzer/digest/digest.h"
#include "analyzer/digest/facts_archive.h"
#include "analyzer/digest/memory_archive.h"
#include "analyzer/digest/system_archive.h"

namespace dprof {

template <typename Archive>
void serialize(Archive& archive, TraceNs& time) {
  archive(time.ns);
}
template <typename Archive>
void serialize(Archive& archive, Interval& interval) {
  archive(interval.begin, interval.end);
}
template <typename Archive>
void save(Archive& archive, const LogHistogram& h) {
  archive(h.first(), std::vector<uint32_t>(h.counts().begin(), h.counts().end()));
}
template <typename Archive>
void load(Archive& archive, LogHistogram& h) {
  size_t first = 0;
  std::vector<uint32_t> counts;
  archive(first, counts);
  h = LogHistogram(first, std::move(counts));
}

}  // namespace dprof

namespace dprof::analyzer {

template <typename Archive>
void serialize(Archive& archive, Diagnostic& d) {
  archive(d.code, d.severity, d.count, d.text);
}
template <typename Archive>
void serialize(Archive& archive, PhaseRange& p) {
  archive(p.span, p.marker, p.row);
}
template <typename Archive>
void serialize(Archive& archive, CommunicatorInfo& c) {
  archive(c.hash, c.ordinal, c.name, c.size, c.members, c.own_number, c.backend);
}
template <typename Archive>
void serialize(Archive& archive, CollectiveRecord& c) {
  archive(c.row, c.communicator, c.function, c.sequence, c.group_sequence, c.bytes, c.dtype, c.root,
          c.peer, c.enqueue, c.start, c.end, c.count, c.bucket, c.ready, c.correlation, c.reduction,
          c.state, c.captured, c.numbered, c.by_training_thread);
}
template <typename Archive>
void serialize(Archive& archive, StepRecord& s) {
  archive(s.index, s.window);
}
template <typename Archive>
void serialize(Archive& archive, MarksInStep& m) {
  archive(m.step, m.count, m.total_ns);
}
template <typename Archive>
void serialize(Archive& archive, MarkedPhase& m) {
  archive(m.name, m.in_steps);
}
template <typename Archive>
void serialize(Archive& archive, LossRecord& l) {
  archive(l.source, l.reason, l.count);
}
template <typename Archive>
void serialize(Archive& archive, ClockProbe& p) {
  archive(p.peer, p.send, p.peer_receive_raw_ns, p.peer_reply_raw_ns, p.receive);
}
template <typename Archive>
void serialize(Archive& archive, ClockSample& s) {
  archive(s.at, s.realtime_ns, s.width_ns);
}
template <typename Archive>
void serialize(Archive& archive, DevicePair& d) {
  archive(d.device, d.at, d.device_ns, d.width_ns);
}
template <typename Archive>
void serialize(Archive& archive, ClockEvidence& c) {
  archive(c.peers, c.probes, c.samples, c.devices, c.damaged, c.origin_width_ns, c.ticks_per_second,
          c.origin_raw_ns);
}
template <typename Archive>
void serialize(Archive& archive, Launch& l) {
  archive(l.launch, l.start);
}
template <typename Archive>
void serialize(Archive& archive, HostToken& t) {
  archive(t.name, t.at);
}
template <typename Archive>
void serialize(Archive& archive, DevicePiece& p) {
  archive(p.begin, p.collective, p.category, p.phase, p.detail);
}
template <typename Archive>
void serialize(Archive& archive, HeldBack& h) {
  archive(h.from, h.until, h.collective);
}
template <typename Archive>
void serialize(Archive& archive, DeviceDigest& d) {
  archive(d.device, d.span, d.pieces, d.end, d.linked, d.before_launch, d.held_back);
}
template <typename Archive>
void serialize(Archive& archive, RunQueueSample& s) {
  archive(s.at, s.waited_ns);
}
template <typename Archive>
void serialize(Archive& archive, LastRange& r) {
  archive(r.name, r.begun_ago_ns, r.ended_ago_ns);
}
template <typename Archive>
void serialize(Archive& archive, LastActivity& l) {
  archive(l.open, l.last, l.loading_for_ns);
}
template <typename Archive>
void serialize(Archive& archive, OpTimes& o) {
  archive(o.name, o.alone, o.beside, o.beside_ns);
}
template <typename Archive>
void serialize(Archive& archive, CountedDevice& d) {
  archive(d.device, d.rows, d.span_ns, d.busy_ns, d.compute_ns, d.communication_ns, d.memory_ns,
          d.overlap_ns);
}
template <typename Archive>
void serialize(Archive& archive, CountedRows& c) {
  archive(c.devices, c.left_out);
}
template <typename Archive>
void serialize(Archive& archive, GpuDigest& g) {
  archive(g.rows, g.compute, g.communication, g.devices, g.launches, g.tokens, g.without_time,
          g.counted, g.kernel_times);
}
template <typename Archive>
void serialize(Archive& archive, RankDigest& d) {
  archive(d.rank, d.span, d.last_sign, d.events, d.open_ranges, d.phases, d.autograd,
          d.autograd_elsewhere, d.ops, d.waits, d.named, d.allocations, d.gc, d.logging, d.profiler,
          d.run_queue, d.communicators, d.collectives, d.sequences_inferred, d.operations, d.steps,
          d.step_source, d.steps_begun, d.tokens, d.marked, d.marks_left_out, d.last_activity,
          d.op_times, d.gpu, d.clock, d.memory, d.facts, d.system, d.losses, d.remarks,
          d.in_process_ns, d.recorder_cpu_ns);
}

// A new member changes a size: archive it above, then correct the number.
static_assert(sizeof(Diagnostic) == 80);
static_assert(sizeof(PhaseRange) == 32);
static_assert(sizeof(CommunicatorInfo) == 112);
static_assert(sizeof(CollectiveRecord) == 240);
static_assert(sizeof(StepRecord) == 24);
static_assert(sizeof(MarksInStep) == 24);
static_assert(sizeof(MarkedPhase) == 56);
static_assert(sizeof(LossRecord) == 24);
static_assert(sizeof(ClockProbe) == 40);
static_assert(sizeof(ClockSample) == 24);
static_assert(sizeof(DevicePair) == 32);
static_assert(sizeof(ClockEvidence) == 144);
static_assert(sizeof(Launch) == 16);
static_assert(sizeof(HostToken) == 16);
static_assert(sizeof(DevicePiece) == 16);
static_assert(sizeof(HeldBack) == 24);
static_assert(sizeof(DeviceDigest) == 96);
static_assert(sizeof(RunQueueSample) == 16);
static_assert(sizeof(CountedDevice) == 64);
static_assert(sizeof(CountedRows) == 48);
static_assert(sizeof(GpuDigest) == 304);
static_assert(sizeof(LastRange) == 56);
static_assert(sizeof(LastActivity) == 104);
static_assert(sizeof(OpTimes) == 120);
static_assert(sizeof(RankDigest) ==
              1120 + sizeof(MemoryDigest) + sizeof(Facts) + sizeof(SystemDigest));

}  // namespace dprof::analyzer
