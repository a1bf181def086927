// SPDX-License-Identifier: Apache-2.0
// One process of an export, which becomes one trace.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyzer/import/nsys/nccl_calls.h"
#include "analyzer/import/nsys/session.h"
#include "analyzer/import/nsys/tables.h"
#include "analyzer/import/sink/trace_sink.h"

namespace dprof::analyzer::nsys {

// Rows come table by table (kTableReaders), device tables before API calls, so that the relevant
// calls are known.
//
// Memory  besides the sink's: NCCL's operations, synchronisations, steps, distinct names.
class Process {
 public:
  Process(TraceSink& sink, const Tables& tables, const Session& session, int64_t id)
      : sink_(sink), tables_(tables), session_(session), id_(id), nccl_(sink) {}

  void kernel(const Row& row);
  void copy(const Row& row);
  void memset(const Row& row);
  void graph(const Row& row);
  void sync(const Row& row);
  void event(const Row& row);
  void api(const Row& row);
  void nvtx(const Row& row);
  void overhead(const Row& row);
  void memory(const Row& row);

  // After all tables.
  void finish();

  [[nodiscard]] int64_t id() const { return id_; }
  [[nodiscard]] TraceSink& sink() const { return sink_; }
  [[nodiscard]] std::optional<int64_t> first_device() const { return first_device_; }
  [[nodiscard]] std::optional<int> nccl_rank() const { return nccl_.rank(); }
  [[nodiscard]] std::optional<int> nccl_world_size() const { return nccl_.world_size(); }

 private:
  struct Span {
    int64_t start = 0;
    int64_t duration = 0;
  };
  struct Name {
    int64_t text = 0;
    std::string_view name;  // of the file
    bool is_nccl = false;
  };
  struct ApiName {
    int64_t text = 0;
    bool launches = false;
    bool polls = false;
  };
  struct NvtxName {
    std::optional<StepName> step;
    bool is_nccl = false;
    bool classified = false;
  };
  struct Record {  // of an event
    int64_t stream = 0;
    int64_t correlation = 0;
    int64_t event = 0;
  };
  struct Wait {
    SyncKind kind{};
    schema::GpuDependencyRow row;
    std::optional<int64_t> sync_id;
  };

  [[nodiscard]] std::optional<Span> span(const Row& row);
  // For a row with device, context and stream from `column` on.
  int64_t stream(int64_t device, const Row& row, int column);
  int64_t thread(std::optional<int64_t> global_id);
  const Name& name_of(const Row& row, int first, int count);
  const ApiName& api_name(std::optional<int64_t> id);
  NvtxName& nvtx_name(int64_t text, std::string_view name);
  [[nodiscard]] std::string_view domain(int64_t number) const;
  void nvtx_range(const Row& row, const Span& span, bool is_open, schema::RangeCategory category);
  RangeDetail detail(const Row& row, int64_t domain, std::string_view& blob);
  void finish_waits();
  void finish_steps();
  void finish_threads();
  void finish_devices();
  void finish_schemas();

  TraceSink& sink_;
  const Tables& tables_;
  const Session& session_;
  int64_t id_;
  NcclCalls nccl_;
  ApiCalls apis_;

  std::unordered_map<int64_t, int64_t> threads_;  // by global id
  std::vector<int64_t> launches_;                 // by thread
  int64_t last_global_tid_ = 0;
  int64_t last_thread_ = -1;
  std::map<std::tuple<int64_t, int64_t, int64_t>, int64_t> streams_;
  std::optional<int64_t> first_device_;
  std::unordered_map<int64_t, Name> names_;          // of kernels, by string id
  std::unordered_map<int64_t, ApiName> api_names_;   // by string id
  std::unordered_map<int64_t, int64_t> nvtx_texts_;  // of registered strings, by string id
  std::vector<NvtxName> nvtx_names_;                 // by text
  std::vector<NamedStep> steps_;
  std::vector<Wait> waits_;
  std::unordered_map<int64_t, Record> records_;                // by id of the synchronisation
  std::unordered_map<int64_t, std::vector<Record>> of_event_;  // if there is no such id
  bool has_payloads_ = false;
  std::string payload_;      // of the row being read
  int64_t last_schema_ = 0;  // and its schema
  int64_t json_payloads_ = 0;
  int64_t failed_calls_ = 0;
  int64_t graphs_ = 0;
};

// The tables' readers, in this order. Columns: start, end, process or thread, further ones.
struct TableReader {
  std::string_view table;
  std::span<const std::string_view> columns;
  void (Process::*read)(const Row& row);
  bool makes_a_trace = true;  // rows of other processes are only counted
};
[[nodiscard]] std::span<const TableReader> table_readers();

}  // namespace dprof::analyzer::nsys
