// SPDX-License-Identifier: Apache-2.0
// The words of Kineto and NCCL, and their meaning here.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "schema/generated/rows.h"

namespace dprof::analyzer::kineto {

// The range of a call into c10d.
inline constexpr std::string_view kCallName = "record_param_comms";

// The meaning of an event's `cat`. Kineto's words changed in 2022; both are known.
enum class Topic : uint8_t {
  kOther,  // not one of Kineto's
  kOp,
  kUser,
  kPython,
  kApi,
  kOverhead,
  kKernel,
  kMemcpy,
  kMemset,
  kSync,
  kGpuAnnotation,
  kProfilerSpan,
  kLaunchFlow,  // flow arrows of Kineto's
};
Topic topic_of(std::string_view category);

// True if the name is that of a node of the autograd graph.
bool is_autograd_name(std::string_view name);

schema::GpuActivityKind copy_kind(std::string_view name);

// "nccl:all_reduce", "_reduce_scatter_base", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)":
// nullopt if it names none (wait, init, a generic kernel).
std::optional<schema::Function> function_of(std::string_view name);

// A kernel of NCCL or RCCL.
bool is_communication_kernel(std::string_view name);

// The reduction in a communication kernel's name; kNone = not in the name.
schema::Reduction reduction_of(schema::Function function, std::string_view kernel);

// "Float", "c10::BFloat16", "long int" …
schema::DataType data_type_of(std::string_view name);

// "nccl", "cuda:nccl", "gloo", "cpu:gloo,cuda:nccl" (unknown: two of them).
schema::Backend backend_of(std::string_view name);

}  // namespace dprof::analyzer::kineto
