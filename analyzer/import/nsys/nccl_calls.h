// SPDX-License-Identifier: Apache-2.0
// Puts NCCL's operations together from what a file has of them: the NVTX range of the call, and the
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

// The call of CUDA's API that a row of a device belongs to.
struct ApiCall {
  int64_t thread = -1;  // -1 = it is not in the file
  int64_t start = 0;
  bool polls = false;  // cudaEventQuery and its like: it waits for nothing
};
using ApiCalls = std::unordered_map<int64_t, ApiCall>;  // by correlation, of one process

// What a range of NCCL's carries, where the export has payloads (--include-blobs).
struct NcclPayload {
  std::optional<int64_t> communicator;
  std::optional<int64_t> bytes;
  std::optional<int64_t> reduction;
  std::optional<int64_t> root;
  std::optional<int64_t> peer;
  std::optional<int64_t> ranks;  // of the calls that make a communicator, like `rank`
  std::optional<int64_t> rank;
};
[[nodiscard]] NcclPayload nccl_payload(const PayloadSchema& schema, std::string_view bytes);

// A call launches in itself, or within a group in the outermost ncclGroupEnd: its kernels are then
// given to the group's calls in order, and one kernel to all that it can be of.
//
// Memory  some 200 bytes per call and kernel.
class NcclCalls {
 public:
  explicit NcclCalls(TraceSink& sink) : sink_(sink) {}

  void add_range(int64_t thread, int64_t start, int64_t end, std::string_view name,
                 const NcclPayload& payload);
  void add_kernel(const schema::GpuActivityRow& row, std::string_view name);

  // When all ranges, kernels and calls of the API have come.
  void finish(const ApiCalls& apis);

  // Of the largest communicator, which is the job's.
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
  // Where kernels of some calls are launched.
  struct Window {
    int64_t thread = 0;
    int64_t start = 0;
    int64_t end = 0;
    std::vector<size_t> calls;
    std::vector<size_t> kernels;
  };
  struct Member {
    std::optional<int64_t> ranks, rank;
    std::optional<int64_t> id;  // of the trace's table, once it is there
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
  std::optional<int64_t> untold_;            // the one of calls that tell none
  int64_t without_communicator_ = 0;
  std::optional<int> rank_, world_size_;
};

}  // namespace dprof::analyzer::nsys
