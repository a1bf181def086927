// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/nsys/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <string_view>

namespace dprof::analyzer::nsys {
namespace {

constexpr int64_t kFarthestNs = int64_t{1} << 61;  // 73 years
constexpr int kMostRanks = 1 << 20;

std::optional<int64_t> number_in(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && !text.empty() ? std::optional(number) : std::nullopt;
}

std::optional<int> rank_in(std::string_view text) {
  const std::optional<int64_t> number = number_in(text);
  return number && *number >= 0 && *number < kMostRanks ? std::optional(static_cast<int>(*number))
                                                        : std::nullopt;
}

bool says(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

class Reading {
 public:
  Reading(const Tables& tables, Session& session) : tables_(tables), session_(session) {}

  void run() {
    export_facts();
    capture_facts();
    clock();
    system();
    devices();
    streams();
    names();
    nvtx_names();
    payload_schemas();
    sync_types();
    warnings();
  }

 private:
  template <typename Visit>
  void each(std::string_view table, std::span<const std::string_view> columns, Visit&& visit,
            std::string_view condition = {}) {
    const auto visit_all = [&](const Row& row) {
      visit(row);
      return true;
    };
    const Status read = tables_.each(table, columns, visit_all, condition);
    if (!read.ok())
      session_.damages.push_back(fmt::format("table {}: {}", table, read.error().what));
  }

  void export_facts() {
    constexpr std::string_view kColumns[] = {"name", "value"};
    const auto visit = [&](const Row& row) {
      const std::string_view name = row.text(0);
      const std::string_view value = row.text(1);
      if (name == "EXPORT_PRODUCT_VERSION") session_.product = value;
      if (name == "EXPORT_SCHEMA_VERSION") session_.schema_version = value;
      if (name == "EXPORT_CONFIG_TIME_SHIFT") whole_shift_ = number_in(value);
      if (name == "EXPORT_PARAM_TIME_SHIFT") shift_ = number_in(value).value_or(0);
      if (name == "EXPORT_PARAM_TIME_NORMALIZE") normalized_ = value == "true" || value == "1";
    };
    each("META_DATA_EXPORT", kColumns, visit);
    each("EXPORT_META_DATA", kColumns, visit);
  }

  void capture_facts() {
    constexpr std::string_view kColumns[] = {"name", "value"};
    each("META_DATA_CAPTURE", kColumns, [&](const Row& row) {
      const std::string_view name = row.text(0);
      if (name.ends_with("ENVIRONMENT_VARIABLE")) return environment(row.text(1));
      if (name == "PROCESS_0:COMMAND" && session_.command.empty())
        session_.command = row.text(1).substr(0, row.text(1).find(' '));
    });
  }

  void environment(std::string_view variable) {
    const size_t equals = variable.find('=');
    if (equals == std::string_view::npos) return;
    const std::string_view name = variable.substr(0, equals);
    const std::optional<int> number = rank_in(variable.substr(equals + 1));
    if (!number) return;
    LaunchedAs& as = session_.launched;
    const auto or_else = [&](std::optional<int>& value, bool first) {
      if (first || !value) value = number;
    };
    if (name == "RANK") or_else(as.rank, true);
    if (name == "SLURM_PROCID" || name == "OMPI_COMM_WORLD_RANK") or_else(as.rank, false);
    if (name == "LOCAL_RANK") or_else(as.local_rank, true);
    if (name == "OMPI_COMM_WORLD_LOCAL_RANK") or_else(as.local_rank, false);
    if (name == "WORLD_SIZE") or_else(as.world_size, true);
    if (name == "OMPI_COMM_WORLD_SIZE") or_else(as.world_size, false);
    if (name == "NODE_RANK") or_else(as.node_rank, true);
  }

  void clock() {
    constexpr std::string_view kStart[] = {"utcEpochNs"};
    each("TARGET_INFO_SESSION_START_TIME", kStart, [&](const Row& row) {
      const std::optional<int64_t> start = row[0];
      if (start && *start > 0 && *start < 2 * kFarthestNs) session_.realtime_at_zero_ns = start;
    });
    const int64_t normal = normalized_ ? session_.realtime_at_zero_ns.value_or(0) : 0;
    if (__builtin_add_overflow(normal, shift_, &session_.shift_ns)) session_.shift_ns = normal;
    if (whole_shift_) session_.shift_ns = *whole_shift_;
    constexpr std::string_view kLength[] = {"duration"};
    each("ANALYSIS_DETAILS", kLength, [&](const Row& row) {
      if (row[0].value_or(0) > 0 && *row[0] < kFarthestNs) session_.end_ns = row[0];
    });
  }

  void system() {
    constexpr std::string_view kColumns[] = {"name", "value"};
    each("TARGET_INFO_SYSTEM_ENV", kColumns, [&](const Row& row) {
      if (row.text(0) == "Hostname") session_.host = row.text(1);
      if (row.text(0) == "CudaDriverVersion") session_.cuda_driver = row.text(1);
    });
    constexpr std::string_view kRanks[] = {"globalTid", "rank"};
    each("MPI_RANKS", kRanks, [&](const Row& row) {
      const std::optional<int64_t> rank = row[1];
      if (row[0] && rank && *rank >= 0 && *rank < kMostRanks)
        session_.mpi_ranks.try_emplace(process_of(*row[0]), static_cast<int>(*rank));
    });
  }

  void devices() {
    std::map<int64_t, Gpu> by_id;
    constexpr std::string_view kGpu[] = {"id",           "name",         "totalMemory", "uuid",
                                         "computeMajor", "computeMinor", "smMajor",     "smMinor"};
    each("TARGET_INFO_GPU", kGpu, [&](const Row& row) {
      if (!row[0]) return;
      Gpu& gpu = by_id[*row[0]];
      gpu.name = row.text(1);
      if (row[2].value_or(0) > 0) gpu.memory_bytes = row[2];
      gpu.uuid = row.text(3);
      const std::optional<int64_t> major = row[4] ? row[4] : row[6];
      const std::optional<int64_t> minor = row[5] ? row[5] : row[7];
      if (major && minor && *major > 0 && *major < 10'000 && *minor >= 0 && *minor < 100)
        gpu.compute_capability = *major * 100 + *minor;
    });
    constexpr std::string_view kCuda[] = {"gpuId", "cudaId", "pid", "uuid"};
    each("TARGET_INFO_CUDA_DEVICE", kCuda, [&](const Row& row) {
      if (!row[1] || !row[2]) return;
      Gpu& gpu = session_.gpus[{*row[2], *row[1]}];
      if (const auto known = by_id.find(row[0].value_or(-1)); known != by_id.end())
        gpu = known->second;
      if (!row.text(3).empty()) gpu.uuid = row.text(3);
      if (!gpu.uuid.empty() && !gpu.uuid.starts_with("GPU-")) gpu.uuid = "GPU-" + gpu.uuid;
    });
  }

  void streams() {
    constexpr std::string_view kContexts[] = {"processId", "contextId", "nullStreamId", "streamId"};
    for (const std::string_view table :
         {"TARGET_INFO_CUDA_CONTEXT_INFO", "TARGET_INFO_CUDA_NULL_STREAM"}) {
      each(table, kContexts, [&](const Row& row) {
        const std::optional<int64_t> stream = row[2] ? row[2] : row[3];
        if (row[0] && row[1] && stream) session_.null_streams[{*row[0], *row[1]}] = *stream;
      });
    }
    constexpr std::string_view kNames[] = {"processId", "contextId", "streamId", "name", "nameId"};
    each("TARGET_INFO_NVTX_CUDA_STREAM", kNames, [&](const Row& row) {
      if (!row[0] || !row[2]) return;
      const std::string_view name = row.has(3) ? row.text(3) : tables_.string(row[4]);
      session_.stream_names[{*row[0], row[1].value_or(0), *row[2]}] = name;
    });
  }

  // Of a thread's names the newest is last.
  void names() {
    constexpr std::string_view kColumns[] = {"globalTid", "nameId"};
    each("ThreadNames", kColumns, [&](const Row& row) {
      if (row[0]) session_.thread_names[*row[0]] = tables_.string(row[1]);
    });
  }

  // Unordered: a domain's ranges can precede its name.
  void nvtx_names() {
    if (!tables_.has("NVTX_EVENTS", "eventType")) return;
    constexpr std::string_view kColumns[] = {"eventType", "globalTid", "domainId", "text",
                                             "textId"};
    const auto visit = [&](const Row& row) {
      if (!row[1]) return;
      const std::string_view name = row.has(3) ? row.text(3) : tables_.string(row[4]);
      if (row[0] == 39) {
        session_.thread_names[*row[1]] = name;
      } else {
        session_.domains[{process_of(*row[1]), row[2].value_or(0)}] = name;
      }
    };
    each("NVTX_EVENTS", kColumns, visit, "eventType IN (39, 75)");
  }

  // If a recording from before 2025 is exported by a newer version, its types are in a separate
  // column, and the new column is 0 in all rows.
  void sync_types() {
    constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
    constexpr std::string_view kEnum[] = {"id", "name"};
    each("ENUM_CUPTI_SYNC_TYPE", kEnum, [&](const Row& row) {
      const SyncKind kind = sync_kind_of_name(row.text(1));
      if (row[0] && kind != SyncKind::kUnknown) session_.sync_names[*row[0]] = kind;
    });
    if (!tables_.has(kTable, "deprecatedSyncType")) return;
    const auto any = [&](std::string_view condition) {
      bool found = false;
      constexpr std::string_view kColumns[] = {"start"};
      (void)tables_.each(
          kTable, kColumns, [&](const Row&) { return !(found = true); }, condition);
      return found;
    };
    session_.old_sync_types = any("deprecatedSyncType IS NOT NULL") &&
                              !(tables_.has(kTable, "syncType") && any("syncType <> 0"));
  }

  // Each process registers the same ones again.
  void payload_schemas() {
    constexpr std::string_view kSchema[] = {"domainId", "schemaId", "name"};
    each("NVTX_PAYLOAD_SCHEMAS", kSchema, [&](const Row& row) {
      if (row[1]) session_.schemas[{row[0].value_or(0), *row[1]}].name = row.text(2);
    });
    constexpr std::string_view kEntry[] = {"domainId", "schemaId", "idx",   "type",
                                           "offset",   "name",     "flags", "arrayOrUnionDetail"};
    each("NVTX_PAYLOAD_SCHEMA_ENTRIES", kEntry, [&](const Row& row) {
      if (!row[1] || !row[2]) return;
      std::vector<SchemaEntry>& entries = session_.schemas[{row[0].value_or(0), *row[1]}].entries;
      const auto place = std::ranges::lower_bound(entries, *row[2], {}, &SchemaEntry::index);
      if (place != entries.end() && place->index == *row[2]) return;
      entries.insert(place, {.index = *row[2],
                             .type = row[3].value_or(0),
                             .offset = row[4].value_or(0),
                             .name = std::string(row.text(5)),
                             .flags = row[6],
                             .detail = row[7]});
    });
  }

  void warnings() {
    constexpr std::string_view kColumns[] = {"severity", "text", "globalPid"};
    constexpr size_t kMost = 200;
    each("DIAGNOSTIC_EVENT", kColumns, [&](const Row& row) {
      if (row[0].value_or(0) < 2 || session_.warnings.size() == kMost) return;
      const std::string_view text = row.text(1);
      session_.warnings.push_back({.process = row[2],
                                   .lost = says(text, "might have been") || says(text, "dropped"),
                                   .text = std::string(text.substr(0, 500))});
    });
  }

  const Tables& tables_;
  Session& session_;
  std::optional<int64_t> whole_shift_;
  int64_t shift_ = 0;
  bool normalized_ = false;
};

}  // namespace

std::optional<int64_t> Session::time(std::optional<int64_t> in_file) const {
  int64_t time = 0;
  if (!in_file || __builtin_sub_overflow(*in_file, shift_ns, &time)) return std::nullopt;
  return time > -kFarthestNs && time < kFarthestNs ? std::optional(time) : std::nullopt;
}

Session read_session(const Tables& tables) {
  Session session;
  Reading(tables, session).run();
  return session;
}

}  // namespace dprof::analyzer::nsys
