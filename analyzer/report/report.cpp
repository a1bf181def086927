// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/report.h"

#include <utility>

namespace dprof::analyzer {
namespace {

struct CategoryName {
  std::string_view key;
  std::string_view title;
};

// In the order of Category.
constexpr std::array<CategoryName, kCategories> kCategoryNames = {{
    {"forward", "forward"},
    {"backward", "backward"},
    {"optimizer", "optimizer"},
    {"other_compute", "other compute"},
    {"overlapped", "overlapped"},
    {"exposed_wait", "exposed wait"},
    {"exposed_transfer", "exposed transfer"},
    {"copy", "copy"},
    {"input_wait", "input wait"},
    {"sync_bubble", "sync bubble"},
    {"allocator", "allocator"},
    {"host", "host"},
    {"launch", "launch"},
    {"dependency", "dependency"},
    {"idle", "idle"},
    {"profiler", "profiler"},
}};

}  // namespace

Diagnostic make_diagnostic(std::string_view code, std::string text, int64_t count) {
  const schema::DiagnosticKind& kind = schema::diagnostic_kind(code);
  return {.code = std::string(code),
          .severity = kind.severity,
          .count = count,
          .text = std::move(text)};
}

bool is_lost(const Loss& loss) { return loss.reason != schema::LossReason::kSkippedRow; }

int64_t lost_records(const Recording& recording) {
  int64_t lost = 0;
  for (const Loss& loss : recording.lost) lost += is_lost(loss) ? loss.count : 0;
  return lost;
}

std::string_view key_of(Category category) {
  return kCategoryNames.at(static_cast<size_t>(category)).key;
}

std::string_view title_of(Category category) {
  return kCategoryNames.at(static_cast<size_t>(category)).title;
}

std::string_view word_of(FindingSeverity severity) {
  switch (severity) {
    case FindingSeverity::kInfo:
      return "info";
    case FindingSeverity::kWarn:
      return "warn";
    case FindingSeverity::kCritical:
      return "critical";
  }
  return "info";
}

}  // namespace dprof::analyzer
