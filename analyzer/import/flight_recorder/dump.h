// SPDX-License-Identifier: Apache-2.0
// A dump of PyTorch's flight recorder, as it is in the file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/import/plain_data.h"
#include "base/result.h"
#include "schema/generated/rows.h"

namespace dprof::analyzer::flight_recorder {

struct DumpGroup {
  std::string name;  // unique in the job
  std::string description;
  std::vector<int> members;  // global ranks, by number in the group; empty = unknown
};

struct DumpEntry {
  size_t group = 0;  // index into Dump::groups
  schema::Function function{};
  std::optional<int64_t> sequence;  // of collectives per group; of messages per rank
  std::optional<int64_t> peer;      // number in the group
  std::optional<int64_t> own;       // this rank's number in it, from a message's name
  std::optional<int64_t> bytes;     // of this rank's input
  std::optional<int64_t> count;
  schema::DataType dtype{};
  schema::CollectiveState state{};
  std::optional<int64_t> created_ns;  // CLOCK_REALTIME
  std::optional<int64_t> started_ns;
  std::optional<int64_t> completed_ns;
  std::string thread;
  std::string frame;  // the program's innermost frame: "train.py:123 step"
};

struct Dump {
  std::string version;
  std::optional<int> rank;  // if the file contains it
  std::string host;
  std::vector<DumpGroup> groups;
  std::vector<DumpEntry> entries;          // in the file's order: by record number
  std::map<std::string, int64_t> skipped;  // unusable entries, by reason
};

// kNotATrace if the file is no dump.
Result<Dump> dump_of(const PlainData& data);

// "nccl:recv 3<-0", "_all_gather_base", "coalesced": the operation, and the peers of a message.
struct EntryName {
  std::optional<schema::Function> function;  // nullopt = moves no data
  std::optional<int64_t> peer;
  std::optional<int64_t> own;
  bool coalesced = false;  // ends a group of calls that share a number
};
[[nodiscard]] EntryName entry_name(std::string_view profiling_name);

// The rank at the end of a file's name: "_dump_12", "nccl_trace_rank_3.json".
[[nodiscard]] std::optional<int> rank_in_name(std::string_view file_name);

}  // namespace dprof::analyzer::flight_recorder
