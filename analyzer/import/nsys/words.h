// SPDX-License-Identifier: Apache-2.0
// The meaning of Nsight's numbers and names. The numbers are the same in all versions examined.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/generated/rows.h"

namespace dprof::analyzer::nsys {

// Thread and process ids are serialised into one number: hardware, machine, process, thread.
[[nodiscard]] constexpr int64_t process_of(int64_t global_id) { return global_id & ~0xFFFFFFLL; }
[[nodiscard]] constexpr int64_t pid_of(int64_t global_id) { return global_id >> 24 & 0xFFFFFF; }
[[nodiscard]] constexpr int64_t tid_of(int64_t global_id) { return global_id & 0xFFFFFF; }

// nullopt: from host to host, without a device.
[[nodiscard]] std::optional<schema::GpuActivityKind> copy_kind(int64_t kind,
                                                               std::optional<int64_t> source,
                                                               std::optional<int64_t> target);
// In the form of PyTorch's profiler: "Memcpy HtoD (Pageable -> Device)".
[[nodiscard]] std::string copy_name(int64_t kind, std::optional<int64_t> source,
                                    std::optional<int64_t> target);
[[nodiscard]] std::string memset_name(std::optional<int64_t> memory);
[[nodiscard]] std::string_view overhead_name(std::optional<int64_t> type);

enum class SyncKind : uint8_t { kUnknown, kEvent, kStreamWait, kStream, kContext };
// By the file's name for the number; kUnknown if it has none.
[[nodiscard]] SyncKind sync_kind_of_name(std::string_view name);
// Without names: from the column syncType, or deprecatedSyncType.
[[nodiscard]] SyncKind sync_kind(int64_t type);
[[nodiscard]] SyncKind old_sync_kind(int64_t type);

// "cudaLaunchKernel" from "cudaLaunchKernel_v7000".
[[nodiscard]] std::string_view plain_api_name(std::string_view name);

// A range that marks a step: "step", "step 7", "iteration: 7", "ProfilerStep#7".
struct StepName {
  int priority = 0;  // if one process has several kinds of names, the highest is used
  std::optional<int64_t> number;
};
[[nodiscard]] std::optional<StepName> step_name(std::string_view text);
struct NamedStep {
  StepName name;
  int64_t start = 0;
  std::optional<int64_t> end;
};
// In order of their start; those without a number are numbered consecutively.
[[nodiscard]] std::vector<schema::StepRow> steps_of(std::vector<NamedStep> named);

// The type in the name of an NCCL kernel: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(…)".
[[nodiscard]] schema::DataType kernel_data_type(std::string_view kernel);

}  // namespace dprof::analyzer::nsys
