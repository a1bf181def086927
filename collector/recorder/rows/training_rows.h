// SPDX-License-Identifier: Apache-2.0
// libdprof_torch.so's records of memory, gradient buckets and process groups, and a program's facts
// about its data in NVTX payloads (docs/payloads.md), as rows: memory_event, memory_sample,
// loader_event, communicator_member, meta.ddp.
#pragma once

#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "collector/recorder/rows/loader_waits.h"
#include "collector/recorder/rows/row_context.h"
#include "collector/wire/ring.h"
#include "collector/wire/training_records.h"

namespace dprof::recorder {

// Order      memory events of all threads are written in order of time, one flush late: by then,
//            all records from before the previous flush have been read from every ring.
// Threading  one thread.
// Cost       a row per event; memory for the events of two flushes and the live host blocks.
class TrainingRows {
 public:
  explicit TrainingRows(RowContext context)
      : context_(std::move(context)), waits_(context_.output) {}

  // A record of kinds 50 to 69, with a time already checked. False: it is invalid.
  bool on_record(const wire::ReadRecord& read, const ThreadRef& thread, int64_t time_ns);
  // A payload with a schema, of any domain.
  void on_payload(const RangePayload& payload);
  // The end of any range that nests on its thread; loader waits are found by their names.
  void on_range(const OpenRange& range, const ThreadRef& thread, int64_t end_ns);
  void flush();
  void finish();
  [[nodiscard]] int64_t rows() const { return rows_ + waits_.rows(); }

 private:
  struct Bucket {
    int64_t bytes = -1;
    int64_t parameters = -1;
  };
  static constexpr size_t kMostEvents = 1 << 20;   // waiting to be ordered
  static constexpr size_t kMostBlocks = 1 << 20;   // of the host, alive
  static constexpr size_t kMostBuckets = 4096;     // of a group
  static constexpr size_t kMostGroups = 64;        // with buckets
  static constexpr size_t kMostMembers = 1 << 20;  // of all groups
  static constexpr size_t kMostSettings = 64;

  bool on_memory_event(const wire::MemoryEvent& event, const ThreadRef& thread, int64_t time_ns);
  bool on_memory_tag(const wire::MemoryTag& tag, const ThreadRef& thread, int64_t time_ns);
  bool on_memory_sample(const wire::MemorySample& sample, int64_t time_ns);
  bool on_bucket(const wire::Bucket& body);
  bool on_member(const wire::GroupMember& body);
  bool on_setting(const wire::Record& record);
  void on_memory_payload(const PayloadSchemas::Schema& schema, const RangePayload& payload);
  void add(schema::MemoryEventRow row);
  void write_events(int64_t until_ns);
  // False for the free of a block whose allocation was not seen: its size is unknown.
  bool follow_host_block(schema::MemoryEventRow& row);
  void write_ddp();

  RowContext context_;
  LoaderWaits waits_;
  std::vector<schema::MemoryEventRow> events_;
  int64_t latest_ns_ = 0;                             // of an event
  int64_t settled_ns_ = 0;                            // latest_ns_ at the previous flush
  std::unordered_map<int64_t, int64_t> host_blocks_;  // address → bytes
  std::map<uint64_t, std::vector<Bucket>> buckets_;   // by group
  std::map<std::string, std::string> settings_;
  bool ddp_changed_ = false;
  std::set<std::pair<int64_t, int64_t>> members_;  // communicator, number
  uint32_t domain_ = 0;                            // arena id of "dprof", 0 = not seen
  int64_t rows_ = 0;
};

}  // namespace dprof::recorder
