// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/range_names.h"

#include <algorithm>
#include <string>

namespace dprof::analyzer {

using schema::RangeCategory;

namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

// CUPTI's work for the profiler; the driver's work (loading modules) belongs to the program.
bool is_profilers_own(std::string_view overhead) {
  return contains_any(lower_case(overhead),
                      {"buffer flush", "buffer request", "instrumentation", "resource"});
}

// For ranges named by a program or by Python.
RangeClass class_of_named(std::string_view name) {
  const std::string lower = lower_case(name);
  if (is_any(lower, {"gc", "gc_collect"}) || contains_any(lower, {"gc.collect", "garbage"}))
    return RangeClass::kGc;
  if (contains_any(lower, {"empty_cache", "emptycache", "cudamalloc", "cudafree", "allocator"}) ||
      is_any(lower, {"malloc", "alloc", "allocate", "allocation"}))
    return RangeClass::kAllocation;
  if (is_any(lower, {"log", "logs", "metrics", "print"}) ||
      contains_any(lower, {"logging", "logger", "tensorboard", "wandb", "function print"}))
    return RangeClass::kLogging;
  return RangeClass::kNamed;
}

}  // namespace

bool is_any(std::string_view name, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, name) != words.end();
}

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> starts) {
  return std::ranges::any_of(starts, [&](std::string_view s) { return name.starts_with(s); });
}

bool contains_any(std::string_view name, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

ApiClass api_class_of(std::string_view name) {
  // hipEventSynchronize, cudaStreamSynchronize, cuCtxSynchronize, …
  if (name.find("Synchronize") != std::string_view::npos) return ApiClass::kBlocking;
  if (name.find("Memcpy") != std::string_view::npos) {
    const bool waits = !contains_any(name, {"Async", "Node", "Params", "Batch"});
    const bool copies = !contains_any(name, {"Node", "Params"});
    return waits ? ApiClass::kBlocking : copies ? ApiClass::kAsyncCopy : ApiClass::kOther;
  }
  if (contains_any(
          name, {"Malloc", "MemAlloc", "HostAlloc", "MemHostRegister", "HostRegister",
                 "HostUnregister", "cudaFree", "hipFree", "hipHostFree", "cuMemFree", "cuMemCreate",
                 "cuMemMap", "cuMemUnmap", "cuMemRelease", "cuMemSetAccess", "cuMemAddress"}))
    return ApiClass::kAllocation;
  return ApiClass::kOther;
}

bool names_communication(std::string_view kernel) {
  if (kernel.starts_with("void ")) kernel.remove_prefix(5);
  if (kernel.starts_with("_Z"))  // not demangled: the name's length precedes it
    kernel.remove_prefix(std::min(kernel.find_first_not_of("0123456789", 2), kernel.size()));
  return starts_with_any(kernel, {"nccl", "rccl", "msccl"}) && contains_any(kernel, {"Kernel"});
}

RangeKind kind_of(RangeCategory category, std::string_view name) {
  if (category == RangeCategory::kNvtxMark) return {RangeClass::kMoment};
  if (category == RangeCategory::kAutograd) return {RangeClass::kAutograd};
  if (category == RangeCategory::kOverhead)
    return {is_profilers_own(name) ? RangeClass::kProfiler : RangeClass::kNamed};
  if (std::ranges::find(kWaitNames, name) != std::end(kWaitNames)) return {RangeClass::kWait};
  if (std::ranges::any_of(kCallPrefixes, [&](std::string_view p) { return name.starts_with(p); }))
    return {RangeClass::kCall};
  if (category == RangeCategory::kOp) return {RangeClass::kOp};
  if (category == RangeCategory::kApi &&
      starts_with_any(name, {"cudaGraphLaunch", "cuGraphLaunch", "hipGraphLaunch"}))
    return {.what = RangeClass::kNamed, .launches_graph = true};
  const bool marks = category == RangeCategory::kUser || category == RangeCategory::kNvtx;
  const schema::Marker marker = schema::marker_of(name);
  if (marker != schema::Marker::kNone)
    return {RangeClass::kMarker, marker, marks && marker != schema::Marker::kStep};
  if (name == schema::kMicroStepName) return {RangeClass::kHolder, schema::Marker::kNone, marks};
  return {.what = class_of_named(name),
          .marks = marks,
          .in_forward = starts_with_any(
              name, {"FSDP::root_pre_forward", "FSDP::pre_forward", "FSDP::post_forward"})};
}

}  // namespace dprof::analyzer
