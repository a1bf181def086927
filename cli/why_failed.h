// SPDX-License-Identifier: Apache-2.0
// The reason that `dprof record` reports by itself for a command that failed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace dprof::cli {

struct WhyFailed {
  std::string what;    // which rank failed first, how, and during what
  std::string advice;  // "" = none
};

// From the run's traces; nullopt if they do not say, or cannot be read.
// Cost  as a report: a second for 3 million events.
[[nodiscard]] std::optional<WhyFailed> why_it_failed(const std::filesystem::path& run);

}  // namespace dprof::cli
