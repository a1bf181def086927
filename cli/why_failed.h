// SPDX-License-Identifier: Apache-2.0
// What `dprof record` says of a command that failed, without being asked.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace dprof::cli {

struct WhyFailed {
  std::string what;    // which rank failed first, how, in what
  std::string advice;  // "" = none
};

// From the run's traces; nullopt where they do not say, or cannot be read.
// Cost  a report's: a second for 3 million events.
[[nodiscard]] std::optional<WhyFailed> why_it_failed(const std::filesystem::path& run);

}  // namespace dprof::cli
