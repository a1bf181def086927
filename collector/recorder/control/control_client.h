// SPDX-License-Identifier: Apache-2.0
// The client side of `dprof ctl`, for the recorders of a run.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dprof::recorder {

struct ControlReplies {
  std::vector<std::string> replies;    // one line of JSON of each recorder on this host
  std::vector<std::string> elsewhere;  // hosts with recorders of the run that were not asked
};

// Asks every recorder of the run on this host. kNotFound: no such run, no recorder in it, or its
// recorder has gone; kUsage: its recorders are on other hosts, or refuse the request.
Result<ControlReplies> ask_recorders(const std::filesystem::path& run, std::string_view request);

}  // namespace dprof::recorder
