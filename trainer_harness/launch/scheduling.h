// SPDX-License-Identifier: Apache-2.0
// `--nice` and `--affinity`: a rank's CPU priority and cores.
#pragma once

#include <string>
#include <vector>

namespace dprof::trainer_harness {

// The cores of each local rank: "0-1,4;2" gives {{0, 1, 4}, {2}}. Throws UsageError.
[[nodiscard]] std::vector<std::vector<int>> parse_affinity(const std::string& text);

// For this process and the threads that it starts from now on. Throws UsageError if the kernel
// refuses.
void set_niceness(int niceness);

// Binds to the cores of `local_rank`; if there are more ranks than entries, the entries repeat.
void set_affinity(const std::string& text, int local_rank);

}  // namespace dprof::trainer_harness
