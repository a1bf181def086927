// SPDX-License-Identifier: Apache-2.0
// Assembles NCCL's operations from their events in a file: the NVTX range of the call, and the
// kernel that it launched.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/import/nsys/session.h"
#include "analyzer/import/sink/trace_sink.h"

namespace dprof::analyzer::nsys {

// The CUDA API call of a device row.
struct ApiCall {
  int64_t thread = -1;  // -1 = not in the file
  int64_t start = 0;
  bool polls = false;  // cudaEventQuery and the like: does not wait
};
using ApiCalls = std::unordered_map<int64_t, ApiCall>;  // by correlation, of one process

// The payload of an NCCL range, if the export has payloads (--include-blobs).
struct NcclPayload {
  std::optional<int64_t> communicator;
  std::optional<int64_t> bytes;
  std::optional<int64_t> reduction;
  std::optional<int64_t> root;
  std::optional<int64_t> peer;
  std::optional<int64_t> ranks;  // for calls that create a communicator, like `rank`
  std::optional<int64_t> rank;
};
[[nodiscard]] NcclPayload nccl_payload(const PayloadSchema& schema, std::string_view bytes);

// A call launches its kernel itself or, within a group, in the outermost ncclGroupEnd: its kernels
// are then assigned to the group's calls in order, and one kernel to all calls that it fits.
//
// Memory  some 200 bytes per call and kernel.
class NcclCalls {
 public:
  explicit NcclCalls(TraceSink& sink) : sink_(sink) {}

  void add_range(int64_t thread, int64_t start, int64_t end, std::string_view name,
                 const NcclPayload& payload);
  void add_kernel(const schema::GpuActivityRow& row, std::string_view name);

  // After all ranges, kernels and API calls.
  void finish(const ApiCalls& apis);

  // In the largest communicator, which is the job's.
  [[nodiscard]] std::optional<int> rank() const { return rank_; }
  [[nodiscard]] std::optional<int> world_size() const { return world_size_; }

 private:
  struct Call {
    int64_t thread = 0;
    int64_t start = 0;
    int64_t end = 0;
    enum class Kind : uint8_t { kOperation, kGroupStart, kGroupEnd } kind = Kind::kOperation;
    schema::Function function{};
    NcclPayload payload;
  };
  struct Kernel {
    schema::GpuActivityRow row;
    std::optional<schema::Function> function;
    schema::Reduction reduction{};
    schema::DataType dtype{};
    bool of_messages = false;
    ApiCall launch;
  };
  // The window in which some calls' kernels are launched.
  struct Window {
    int64_t thread = 0;
    int64_t start = 0;
    int64_t end = 0;
    std::vector<size_t> calls;
    std::vector<size_t> kernels;
  };
  struct Member {
    std::optional<int64_t> ranks, rank;
    std::optional<int64_t> id;  // in the trace's table, once it exists
  };

  [[nodiscard]] std::vector<Window> windows() const;
  void give_kernels(std::vector<Window>& windows);
  [[nodiscard]] static bool fits(const Kernel& kernel, schema::Function function);
  void write(const Window& window);
  void add(const Call* call, const Kernel* kernel);
  int64_t communicator(std::optional<int64_t> hash);

  TraceSink& sink_;
  std::vector<Call> calls_;
  std::vector<Kernel> kernels_;
  std::map<int64_t, Member> communicators_;  // by hash
  std::optional<int64_t> unknown_;           // for calls without a communicator
  int64_t without_communicator_ = 0;
  std::optional<int> rank_, world_size_;
};

}  // namespace dprof::analyzer::nsys
