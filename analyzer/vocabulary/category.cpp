// SPDX-License-Identifier: Apache-2.0
#include "analyzer/vocabulary/category.h"

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

std::string_view key_of(Category category) {
  return kCategoryNames.at(static_cast<size_t>(category)).key;
}

std::string_view title_of(Category category) {
  return kCategoryNames.at(static_cast<size_t>(category)).title;
}

std::string_view phase_name(schema::Marker phase) {
  switch (phase) {
    case schema::Marker::kInput:
      return "input";
    case schema::Marker::kForward:
      return "forward";
    case schema::Marker::kBackward:
      return "backward";
    case schema::Marker::kOptimizer:
      return "optimizer";
    case schema::Marker::kCheckpoint:
      return "checkpoint";
    default:
      return "other";
  }
}

}  // namespace dprof::analyzer
