// SPDX-License-Identifier: Apache-2.0
// Assembles a collective from its events in a file: its kernel, the call that launched it
// (record_param_comms), and PyTorch's range around it (nccl:all_reduce, gloo:broadcast).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/import/kineto/event.h"
#include "analyzer/import/kineto/groups.h"
#include "analyzer/import/sink/trace_sink.h"

namespace dprof::analyzer::kineto {

// Facts about a collective, from any of its events.
struct CollectiveFields {
  std::optional<schema::Function> function;
  schema::DataType dtype{};
  std::optional<int64_t> count;  // elements of this rank's input
  std::optional<int64_t> group_sequence;
  std::optional<int64_t> peer_rank;  // global, of a message
  size_t group = 0;                  // of Groups
  bool has_group = false;
};

// A kernel belongs to the call that contains its launch (on the launching thread, by correlation),
// else to the call with its external id. A call without a kernel gets its own row, without
// execution times; a Gloo range is the execution itself. Launches are found in the second pass,
// when the ranges are in order.
//
// Memory  about 1 KB per collective.
class Collectives {
 public:
  explicit Collectives(TraceSink& sink) : sink_(sink) {}

  Groups& groups() { return groups_; }
  void set_own_rank(std::optional<int> rank) { own_rank_ = rank; }
  void set_job_backend(schema::Backend backend) { job_backend_ = backend; }

  // The event is a kernel of a communication library, or carries its metadata.
  void add_kernel(const Event& event, const schema::GpuActivityRow& row, std::string_view name);
  // The event is record_param_comms, or a range "nccl:…", "gloo:…", "mpi:…".
  void add_call(const Event& event, const schema::HostRangeRow& row, std::string_view name);

  // A wait for an event whose record call has this correlation.
  void add_dependency(const schema::GpuDependencyRow& row, std::optional<int64_t> record);

  void range(const schema::HostRangeRow& row);
  void all_seen();

 private:
  struct Launch {
    int64_t thread = -1;  // -1 = not found
    int64_t start = 0;
  };
  struct Kernel {
    schema::GpuActivityRow row;
    std::optional<int64_t> external;
    schema::Reduction reduction{};
    CollectiveFields fields;
  };
  struct Call {
    int64_t thread = 0;
    int64_t start = 0;
    int64_t end = 0;
    std::optional<int64_t> external;
    schema::Backend backend{};
    CollectiveFields fields;
    bool used = false;
  };
  struct Dependency {
    schema::GpuDependencyRow row;
    int64_t record = 0;
  };

  CollectiveFields fields_of(const Event& event, std::string_view name);
  void index_calls();
  Call* find_call(std::vector<Call>& calls, const Kernel& kernel, const Launch& launch,
                  const std::unordered_map<int64_t, size_t>& by_external);
  void add_from_kernel(const Kernel& kernel);
  void add_executions();
  void add_unobserved();
  schema::CollectiveRow row_of(const CollectiveFields& fields, const CollectiveFields* more,
                               schema::Backend backend);
  void add_dependencies();

  TraceSink& sink_;
  Groups groups_;
  std::optional<int> own_rank_;
  schema::Backend job_backend_{};
  std::vector<Kernel> kernels_;
  std::vector<Call> calls_;   // record_param_comms
  std::vector<Call> ranges_;  // nccl:…, gloo:…, mpi:…
  std::vector<Dependency> dependencies_;
  std::unordered_map<int64_t, Launch> launches_;  // by correlation, only those needed
  std::unordered_map<int64_t, size_t> calls_by_external_, ranges_by_external_;
  int64_t without_group_ = 0;
};

}  // namespace dprof::analyzer::kineto
