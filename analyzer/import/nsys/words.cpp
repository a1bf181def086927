// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/nsys/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace dprof::analyzer::nsys {
namespace {

using schema::DataType;
using schema::GpuActivityKind;

constexpr std::string_view kMemories[] = {"Pageable", "Pinned",        "Device",         "Array",
                                          "Managed",  "Device Static", "Managed Static", "Unknown"};
constexpr std::string_view kCopies[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD",
                                        "DtoA",    "DtoD", "HtoH", "PtoP", "HtoD", "DtoH", "DtoD"};
constexpr std::string_view kOverheads[] = {"Overhead",
                                           "Overhead",
                                           "Driver JIT compiler",
                                           "Buffer flush",
                                           "Instrumentation",
                                           "Resource",
                                           "Runtime triggered module loading",
                                           "Lazy function loading",
                                           "Command buffer full"};

template <size_t N>
std::string_view word(const std::string_view (&words)[N], std::optional<int64_t> number,
                      std::string_view otherwise) {
  const bool known = number && *number >= 0 && *number < static_cast<int64_t>(N);
  return known ? words[static_cast<size_t>(*number)] : otherwise;
}

bool on_host(std::optional<int64_t> memory) { return memory == 0 || memory == 1; }

std::string lower(std::string_view text) {
  std::string low;
  for (const char c : text) low += c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  return low;
}

}  // namespace

std::optional<GpuActivityKind> copy_kind(int64_t kind, std::optional<int64_t> source,
                                         std::optional<int64_t> target) {
  switch (kind) {
    case 1:
    case 3:
    case 11:
      return GpuActivityKind::kMemcpyH2d;
    case 2:
    case 4:
    case 12:
      return GpuActivityKind::kMemcpyD2h;
    case 9:
      return std::nullopt;
    case 5:
    case 6:
    case 7:
    case 8:
    case 10:
    case 13:
      return GpuActivityKind::kMemcpyD2d;
    default:
      break;
  }
  if (on_host(source) && on_host(target)) return std::nullopt;
  if (on_host(source)) return GpuActivityKind::kMemcpyH2d;
  return on_host(target) ? GpuActivityKind::kMemcpyD2h : GpuActivityKind::kMemcpyD2d;
}

std::string copy_name(int64_t kind, std::optional<int64_t> source, std::optional<int64_t> target) {
  std::string name = fmt::format("Memcpy {}", word(kCopies, kind, "Unknown"));
  if (source && target)
    name += fmt::format(" ({} -> {})", word(kMemories, source, "Unknown"),
                        word(kMemories, target, "Unknown"));
  return name;
}

std::string memset_name(std::optional<int64_t> memory) {
  return fmt::format("Memset ({})", word(kMemories, memory, "Device"));
}

std::string_view overhead_name(std::optional<int64_t> type) {
  return word(kOverheads, type, "Overhead");
}

SyncKind sync_kind_of_name(std::string_view name) {
  const std::string low = lower(name);
  const auto says = [&](std::string_view part) { return low.find(part) != std::string::npos; };
  if (says("stream") && says("wait")) return SyncKind::kStreamWait;
  if (says("event")) return SyncKind::kEvent;
  if (says("stream")) return SyncKind::kStream;
  return says("context") || says("device") ? SyncKind::kContext : SyncKind::kUnknown;
}

SyncKind sync_kind(int64_t type) {
  constexpr SyncKind kKinds[] = {SyncKind::kUnknown, SyncKind::kEvent, SyncKind::kStreamWait,
                                 SyncKind::kStream, SyncKind::kContext};
  return type >= 0 && type < 5 ? kKinds[type] : SyncKind::kUnknown;
}

SyncKind old_sync_kind(int64_t type) {
  constexpr SyncKind kKinds[] = {SyncKind::kContext, SyncKind::kEvent, SyncKind::kStream};
  return type >= 0 && type < 3 ? kKinds[type] : SyncKind::kUnknown;
}

std::string_view plain_api_name(std::string_view name) {
  const size_t at = name.rfind("_v");
  if (at == std::string_view::npos || at == 0 || at + 2 == name.size()) return name;
  const std::string_view version = name.substr(at + 2);
  return version.find_first_not_of("0123456789") == std::string_view::npos ? name.substr(0, at)
                                                                           : name;
}

std::optional<StepName> step_name(std::string_view text) {
  if (text.size() > 64) return std::nullopt;
  const std::string low = lower(text);
  const size_t digits = low.find_last_not_of("0123456789") + 1;
  const size_t stem_end = digits == 0 ? 0 : low.find_last_not_of(" _#:=-", digits - 1) + 1;
  const std::string_view stem = std::string_view(low).substr(0, stem_end);
  StepName step;
  if (stem == "profilerstep") {
    step.priority = 4;
  } else if (stem == "step") {
    step.priority = 3;
  } else if (stem == "train step" || stem == "train_step" || stem == "training step" ||
             stem == "training_step" || stem == "global step" || stem == "global_step") {
    step.priority = 2;
  } else if (stem == "iteration" || stem == "iter") {
    step.priority = 1;
  } else {
    return std::nullopt;
  }
  if (digits == low.size()) {
    // A word without a number is weaker: only "step" is one of dprof's own (marker_names.h).
    return stem == low && stem == "step" ? std::optional(step) : std::nullopt;
  }
  int64_t number = 0;
  const auto [end, error] = std::from_chars(low.data() + digits, low.data() + low.size(), number);
  if (error != std::errc() || end != low.data() + low.size()) return std::nullopt;
  step.number = number;
  return step;
}

std::vector<schema::StepRow> steps_of(std::vector<NamedStep> named) {
  std::ranges::stable_sort(named, {}, &NamedStep::start);
  int priority = 0;
  for (const NamedStep& step : named) priority = std::max(priority, step.name.priority);
  int64_t count = 0;
  std::vector<schema::StepRow> rows;
  for (const NamedStep& step : named) {
    if (step.name.priority != priority) continue;
    rows.push_back({.step_index = step.name.number.value_or(count++),
                    .start_ns = step.start,
                    .end_ns = step.end,
                    .source = schema::StepSource::kMarker});
  }
  return rows;
}

DataType kernel_data_type(std::string_view kernel) {
  struct Word {
    std::string_view word;
    DataType type;
  };
  constexpr Word kWords[] = {{"_bf16_", DataType::kBfloat16},  {"_f16_", DataType::kFloat16},
                             {"_f32_", DataType::kFloat32},    {"_f64_", DataType::kFloat64},
                             {"_i8_", DataType::kInt8},        {"_u8_", DataType::kUint8},
                             {"_i32_", DataType::kInt32},      {"_u32_", DataType::kInt32},
                             {"_i64_", DataType::kInt64},      {"_u64_", DataType::kInt64},
                             {"_f8e4m3_", DataType::kFloat8},  {"_f8e5m2_", DataType::kFloat8},
                             {"_half(", DataType::kFloat16},   {"_float(", DataType::kFloat32},
                             {"_double(", DataType::kFloat64}, {"_bfloat16(", DataType::kBfloat16},
                             {"_int8_t(", DataType::kInt8},    {"_uint8_t(", DataType::kUint8},
                             {"_int32_t(", DataType::kInt32},  {"_int64_t(", DataType::kInt64}};
  for (const Word& known : kWords) {
    if (kernel.find(known.word) != std::string_view::npos) return known.type;
  }
  return DataType::kUnknown;
}

}  // namespace dprof::analyzer::nsys
