// SPDX-License-Identifier: Apache-2.0
// An export's data besides its events: clock, host, devices, ranks, names.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/import/nsys/tables.h"
#include "analyzer/import/nsys/words.h"
#include "base/result.h"
#include "schema/generated/rows.h"

namespace dprof::analyzer::nsys {

struct Gpu {
  std::string uuid;
  std::string name;
  std::optional<int64_t> memory_bytes;
  std::optional<int64_t> compute_capability;
};

// A remark of the recorder itself.
struct Warning {
  std::optional<int64_t> process;
  bool lost = false;  // it reports missing records
  std::string text;
};

struct SchemaEntry {
  int64_t index = 0;
  int64_t type = 0;
  int64_t offset = 0;
  std::string name;
  std::optional<int64_t> flags;
  std::optional<int64_t> detail;
};
struct PayloadSchema {
  std::string name;
  std::vector<SchemaEntry> entries;  // by index
};
using SchemaKey = std::pair<int64_t, int64_t>;  // domain, schema

// Ranks from the launcher's environment variables. No other variable is read: the environment
// contains passwords and keys.
struct LaunchedAs {
  std::optional<int> rank, local_rank, world_size, node_rank;
};

struct Session {
  std::string product;  // "2025.1.3.140"
  std::string schema_version;
  std::string host;
  std::string cuda_driver;
  std::string command;  // the program only: its arguments can contain keys, too
  std::optional<int64_t> realtime_at_zero_ns;
  int64_t shift_ns = 0;           // added to each time by the exporter
  std::optional<int64_t> end_ns;  // in the time of the rows
  LaunchedAs launched;
  std::map<int64_t, int> mpi_ranks;                             // by process
  std::map<std::pair<int64_t, int64_t>, Gpu> gpus;              // by pid and CUDA's ordinal
  std::map<std::pair<int64_t, int64_t>, int64_t> null_streams;  // by pid and context
  std::map<std::tuple<int64_t, int64_t, int64_t>, std::string>
      stream_names;                                            // pid, context, stream
  std::map<int64_t, std::string> thread_names;                 // by global id
  std::map<std::pair<int64_t, int64_t>, std::string> domains;  // by process and NVTX domain
  std::map<int64_t, SyncKind> sync_names;  // the file's names of its synchronisation types
  bool old_sync_types = false;             // they are in deprecatedSyncType
  std::vector<Warning> warnings;
  std::map<SchemaKey, PayloadSchema> schemas;
  std::vector<std::string> damages;

  // On the session's clock; nullopt: not a possible time.
  [[nodiscard]] std::optional<int64_t> time(std::optional<int64_t> in_file) const;
};

[[nodiscard]] Session read_session(const Tables& tables);

}  // namespace dprof::analyzer::nsys
