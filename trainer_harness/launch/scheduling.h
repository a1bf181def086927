// SPDX-License-Identifier: Apache-2.0
// `--nice` and `--affinity`: a rank's place among the programs of its host.
#pragma once

#include <string>
#include <vector>

namespace dprof::trainer_harness {

// "0-1,4;2" in cores of each local rank: {{0, 1, 4}, {2}}. Throws UsageError.
[[nodiscard]] std::vector<std::vector<int>> parse_affinity(const std::string& text);

// For this process and the threads that it starts from now on. Throws UsageError where the kernel
// refuses.
void set_niceness(int niceness);

// Keeps to the cores of `local_rank`; more ranks than entries begin anew with the first.
void set_affinity(const std::string& text, int local_rank);

}  // namespace dprof::trainer_harness
