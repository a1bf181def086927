// SPDX-License-Identifier: Apache-2.0
// Under `srun dprof record` each rank has a recorder, and one of them is enough to say why the run
// failed: the first whose command does. A file beside the recorders' locks decides, so that nobody
// waits for others or looks through their files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace dprof::recorder {

// nullopt: it is for the recorder `name` to say; also where no others share the folder, and where
// it cannot be decided. Otherwise who says it; "" = another one, whose name cannot be read.
[[nodiscard]] std::optional<std::string> take_word(const std::filesystem::path& run,
                                                   const std::string& name);
// Whoever took the word had nothing to say: the next one may.
void give_back_word(const std::filesystem::path& run);

}  // namespace dprof::recorder
