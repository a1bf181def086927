// SPDX-License-Identifier: Apache-2.0
// A file's data besides its events: rank, job, host, devices, clock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/import/kineto/groups.h"
#include "analyzer/import/kineto/json_scan.h"
#include "analyzer/import/sink/trace_sink.h"

namespace dprof::analyzer::kineto {

class FileFacts {
 public:
  // A member of the outermost object, before or after the events.
  void member(std::string_view key, const Value& value);
  // A process's name from the events' metadata: the only place of "rank 3".
  void process_name(std::string_view process, std::string_view name);
  // Sets the rank; the file's own is that of another one of several.
  void be_rank(int rank) { given_rank_ = rank; }
  // By the text of `pid`; empty unless the processes belong to several ranks.
  [[nodiscard]] const std::map<std::string, int>& ranks_of_processes() const;

  // True: the file has members that only Kineto writes.
  [[nodiscard]] bool of_kineto() const { return of_kineto_; }
  [[nodiscard]] std::optional<int> rank() const;
  [[nodiscard]] std::string_view backend() const { return backend_; }

  // `latest_ns`: the latest time in the file, which shows whether its times count from 1970.
  void give_to(TraceSink& sink, Groups& groups, int64_t latest_ns, int decimals);

 private:
  void read_distributed(std::string_view json);
  void read_devices(std::string_view json);

  bool of_kineto_ = false;
  std::optional<int> rank_;
  std::optional<int> given_rank_;
  std::map<std::string, int> rank_of_process_;
  std::optional<int> world_size_;
  std::string backend_;
  std::string host_;
  std::string distributed_;
  std::optional<int64_t> base_ns_;
  bool bad_base_ = false;  // not a whole number, or beyond kMaxTimeNs
  std::map<std::string, std::string> meta_;
  struct Device {
    std::string name;
    std::optional<int64_t> memory_bytes;
    std::optional<int64_t> compute_capability;
  };
  std::map<int64_t, Device> devices_;
  std::map<std::string, std::vector<int>> groups_;
};

}  // namespace dprof::analyzer::kineto
