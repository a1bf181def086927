// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/kineto/event.h"

#include <optional>

#include "analyzer/import/kineto/key_table.h"

namespace dprof::analyzer::kineto {
namespace {

constexpr Named<Field> kFieldNames[] = {
    {"ph", Field::kPh},   {"cat", Field::kCat},  {"name", Field::kName}, {"pid", Field::kPid},
    {"tid", Field::kTid}, {"ts", Field::kTs},    {"dur", Field::kDur},   {"id", Field::kId},
    {"id2", Field::kId2}, {"args", Field::kArgs}};

// Kineto's words of 2020 to 2026; some were once lower-case.
constexpr Named<Arg> kArgNames[] = {
    {"name", Arg::kName},
    {"labels", Arg::kLabels},
    {"correlation", Arg::kCorrelation},
    {"External id", Arg::kExternalId},
    {"external id", Arg::kExternalId},
    {"Sequence number", Arg::kSequenceNumber},
    {"Fwd thread id", Arg::kForwardThread},
    {"device", Arg::kDevice},
    {"stream", Arg::kStream},
    {"bytes", Arg::kBytes},
    {"graph id", Arg::kGraphId},
    {"graph node id", Arg::kGraphNodeId},
    {"grid", Arg::kGrid},
    {"block", Arg::kBlock},
    {"registers per thread", Arg::kRegisters},
    {"shared memory", Arg::kSharedMemory},
    {"cuda_sync_kind", Arg::kSyncKind},
    {"wait_on_stream", Arg::kWaitOnStream},
    {"wait_on_cuda_event_id", Arg::kWaitOnEvent},
    {"wait_on_cuda_event_record_corr_id", Arg::kWaitOnRecord},
    {"Bytes", Arg::kMemoryBytes},
    {"Addr", Arg::kMemoryAddress},
    {"Device Type", Arg::kDeviceType},
    {"Device Id", Arg::kDeviceId},
    {"Total Allocated", Arg::kTotalAllocated},
    {"Total Reserved", Arg::kTotalReserved},
    {"Input Dims", Arg::kInputDims},
    {"Input dims", Arg::kInputDims},
    {"Input type", Arg::kInputType},
    {"Collective name", Arg::kCollectiveName},
    {"dtype", Arg::kDtype},
    {"In msg nelems", Arg::kInElements},
    {"Out msg nelems", Arg::kOutElements},
    {"Process Group Name", Arg::kGroupName},
    {"Process Group ID", Arg::kGroupId},
    {"Process Group Ranks", Arg::kGroupRanks},
    {"Group size", Arg::kGroupSize},
    {"Global rank start", Arg::kGroupStart},
    {"Global rank stride", Arg::kGroupStride},
    {"Root Rank", Arg::kRootRank},
    {"Src Rank", Arg::kSourceRank},
    {"Dst Rank", Arg::kDestinationRank},
    {"Seq", Arg::kGroupSequence},
    {"step", Arg::kStep},
    {"model_chunk", Arg::kModelChunk},
};

template <typename Key, typename Table, typename Found>
Scan read_members(Cursor& cursor, const Table& table, Found&& found) {
  cursor.enter();
  while (true) {
    Value key;
    bool more = false;
    if (const Scan scan = cursor.next_key(key, more); scan != Scan::kDone || !more) return scan;
    if (const Scan scan = found(table.find(key.raw)); scan != Scan::kDone) return scan;
  }
}

Scan read_args(Cursor& cursor, Event& event) {
  static const KeyTable<Arg, 128> kTable(kArgNames);
  return read_members<Arg>(cursor, kTable, [&](std::optional<Arg> arg) {
    Value value;
    const Scan scan = cursor.value(value);
    if (scan == Scan::kDone && arg) event.set(*arg, value);
    return scan;
  });
}

}  // namespace

Scan read_event(Cursor& cursor, Event& event) {
  static const KeyTable<Field, 32> kTable(kFieldNames);
  event.clear();
  return read_members<Field>(cursor, kTable, [&](std::optional<Field> field) {
    if (field == Field::kArgs && cursor.peek() == '{') return read_args(cursor, event);
    Value value;
    const Scan scan = cursor.value(value);
    if (scan == Scan::kDone && field) event.set(*field, value);
    return scan;
  });
}

}  // namespace dprof::analyzer::kineto
