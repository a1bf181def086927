// SPDX-License-Identifier: Apache-2.0
// Part of archive.h, which includes it.
#pragma once

#include <cereal/types/array.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>

#include "analyzer/digest/memory.h"

namespace dprof::analyzer {

template <typename Archive>
void serialize(Archive& archive, MemoryCell& c) {
  archive(c.begin.ns, c.low, c.high, c.reserved_at_high, c.split_at_high, c.reserved_high,
          c.segment_allocs, c.segment_frees, c.flushes);
}
template <typename Archive>
void serialize(Archive& archive, LevelPoint& p) {
  archive(p.begin.ns, p.low, p.high, p.last, p.reserved);
}
template <typename Archive>
void serialize(Archive& archive, LevelCurve& c) {
  archive(c.cell_ns, c.points, c.end.ns);
}
template <typename Archive>
void serialize(Archive& archive, HeldBlock& b) {
  archive(b.born.ns, b.freed.ns, b.bytes, b.blocks, b.site, b.said, b.born_in, b.freed_in,
          b.same_phase, b.in_op, b.by_loader);
}
template <typename Archive>
void serialize(Archive& archive, MemoryReading& r) {
  archive(r.at.ns, r.allocated, r.reserved, r.peak_allocated, r.peak_reserved);
}
template <typename Archive>
void serialize(Archive& archive, OomRecord& o) {
  archive(o.at.ns, o.bytes, o.free_bytes);
}
template <typename Archive>
void serialize(Archive& archive, DeviceMemory& d) {
  archive(d.device, d.events, d.own_totals, d.peak_allocated, d.peak_reserved, d.peak_at.ns,
          d.peak_phase, d.before_at_peak, d.phase_peaks, d.cells, d.curve, d.at_peak, d.at_end,
          d.unmatched_frees, d.reused, d.retries, d.readings, d.out_of_memory);
}
template <typename Archive>
void serialize(Archive& archive, DeviceUse& u) {
  archive(u.uuid, u.used, u.total);
}
template <typename Archive>
void serialize(Archive& archive, DeviceSize& s) {
  archive(s.device, s.uuid, s.bytes);
}
template <typename Archive>
void serialize(Archive& archive, MemoryDigest& d) {
  archive(d.rows, d.bad_rows, d.host_gaps, d.device_gaps, d.devices, d.sizes, d.uses, d.sites);
}

// A new member changes a size: archive it above, then correct the number.
static_assert(sizeof(MemoryCell) == 64);
static_assert(sizeof(LevelPoint) == 40);
static_assert(sizeof(LevelCurve) == 40);
static_assert(sizeof(HeldBlock) == 56);
static_assert(sizeof(MemoryReading) == 72);
static_assert(sizeof(OomRecord) == 32);
static_assert(sizeof(DeviceMemory) == 384);
static_assert(sizeof(DeviceUse) == 48);
static_assert(sizeof(DeviceSize) == 56);
static_assert(sizeof(MemoryDigest) == 120);

}  // namespace dprof::analyzer
