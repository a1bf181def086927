// SPDX-License-Identifier: Apache-2.0
// The importers' output: one rank's trace, from rows in any order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/generated/rows.h"

namespace dprof::analyzer {

// The reason why a row of a foreign file is in no table. Each format declares its own as constants.
struct Skip {
  std::string_view what;  // plural, like "counters" or "rows without a start": one text per cause
  bool repeats = false;   // other rows contain the same, or it is only for display: nothing is
                          // missing
};

// The clock of a file's times.
struct FileClock {
  std::string host;     // "" = unknown: then the trace has its own clock
  std::string session;  // one recording: traces of the same session share a clock, others do not,
                        // even on the same host; "" = the host alone decides
  std::optional<int64_t> realtime_at_zero_ns;  // CLOCK_REALTIME at the file's time 0; nullopt =
                                               // unknown
  int64_t resolution_ns = 1;                   // smallest step of the file's times
};

// Additional data of some ranges (schema::RangeDetailRow).
struct RangeDetail {
  std::optional<int64_t> domain_id;  // text
  std::optional<int64_t> color;
  std::optional<int64_t> nvtx_category;
  schema::PayloadKind payload_kind = schema::PayloadKind::kNone;
  std::string payload;
  std::optional<int64_t> schema_id;
  friend bool operator==(const RangeDetail&, const RangeDetail&) = default;
};

// Sees the ranges again as they are written: in order of start, of equal starts the longer first.
// For joins that need this order (a kernel's launch with its enclosing call).
class SecondLook {
 public:
  virtual ~SecondLook() = default;
  virtual void range(const schema::HostRangeRow& row) = 0;  // times of the file
  virtual void all_seen() = 0;  // can still add rows to every other table
};

// Rows can come in any order; their `id` is ignored and reassigned. All times are ns on the file's
// clock; the trace's time 0 becomes its earliest moment.
//
// Order      host_range and gpu_activity (with kernel_shape) and memory_event: sorted by start, the
//            longer first, equal ones as they came. At most 32 MiB of each are held; more go to
//            sorted runs in an unlinked file in the run folder, merged at the end (row_sorter.h).
//            collective: by communicator, then call (enqueue, else start). step: by start.
// Memory     constant except for threads, streams, communicators, collectives, steps, distinct
//            texts and payloads of a schema.
// Errors     the first failure is kept; status() and finish() return it.
// Threading  one thread.
class TraceSink {
 public:
  ~TraceSink();
  TraceSink(const TraceSink&) = delete;
  TraceSink& operator=(const TraceSink&) = delete;

  // The trace's rank. Without it the order of the files decides, with a diagnostic.
  void set_rank(int rank);
  // Order among the traces of its file without a rank: the lowest place gets the first free rank.
  // Without it, the order of opening counts.
  void set_place(int64_t place);
  void set_world_size(int ranks);
  void set_clock(FileClock clock);
  void set_meta(std::string_view key, std::string_view value);  // further keys of schema::kMetaKeys
  void set_format(std::string_view name);  // if one reader handles several formats (kineto, chrome)

  // Dictionaries: they return the id that rows refer to.
  int64_t text(std::string_view text);
  int64_t add_thread(const schema::ThreadRow& row);
  [[nodiscard]] schema::ThreadRow& thread(int64_t id);  // to complete it later
  void set_device(const schema::DeviceRow& row);        // by id, which is the device's ordinal
  bool has_device(int64_t id) const;
  // Created on first use, with its device. Streams in different contexts of a device can have the
  // same number.
  int64_t stream(int64_t device_id, int64_t cuda_stream, int64_t context = 0);
  void name_stream(int64_t id, std::string_view name);
  // A frame called by `caller` (0 = the outermost one): returns the stack that ends in it. Equal
  // ones are stored once.
  int64_t stack(int64_t caller, std::string_view function, std::string_view file,
                std::optional<int64_t> line);
  int64_t add_communicator(const schema::CommunicatorRow& row, std::span<const int> members);

  void add(const schema::HostRangeRow& row);
  void add(const schema::HostRangeRow& row, const RangeDetail& detail);
  // `shape`: its activity_id is ignored.
  void add(const schema::GpuActivityRow& row,
           const std::optional<schema::KernelShapeRow>& shape = {});
  void add(const schema::GpuDependencyRow& row);
  void add(const schema::CollectiveRow& row);
  void add(const schema::StepRow& row);
  void add(const schema::MemoryEventRow& row);
  void add(const schema::MemorySampleRow& row);
  void add(const schema::NvtxSchemaRow& row);

  // A row that goes into no table: counted in `loss`, and in a diagnostic by cause.
  void skip(const Skip& cause, std::optional<int64_t> time_ns = {}, int64_t count = 1);
  // A row used for a table that is not counted as rows (a thread's name).
  void used(int64_t count = 1);
  // Further remarks; `code` from schema/diagnostics.h.
  void remark(std::string_view code, std::string_view text, int64_t count = 1);

  void set_second_look(std::shared_ptr<SecondLook> look);

  [[nodiscard]] Status status() const;
  [[nodiscard]] int64_t rows() const;     // added to event tables
  [[nodiscard]] int64_t skipped() const;  // by skip()

 private:
  friend class FileSink;
  struct Impl;
  explicit TraceSink(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dprof::analyzer
