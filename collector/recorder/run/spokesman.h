// SPDX-License-Identifier: Apache-2.0
// Under `srun dprof record` each rank has a recorder, and only one of them needs to say why the run
// failed: the first whose command does. A file next to the recorders' locks decides, so that no
// recorder waits for others or searches their files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace dprof::recorder {

// nullopt: the recorder `name` reports it; also if no others share the folder, or if it cannot be
// decided. Otherwise the one that reports it; "" = another one, whose name cannot be read.
[[nodiscard]] std::optional<std::string> take_word(const std::filesystem::path& run,
                                                   const std::string& name);
// The recorder that took the word had nothing to report: the next one can.
void give_back_word(const std::filesystem::path& run);

}  // namespace dprof::recorder
