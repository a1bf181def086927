// SPDX-License-Identifier: Apache-2.0
// The reason why no library could be loaded into a command, as its arguments and file show.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dprof::recorder {

// `command`: its first word; `path`: the search path of a shell; `library`: the library to load, ""
// = not known. Returns "" if its file gives no reason: it is a script, or a program that can be
// recorded. Reads the program's C library (2 MB) if it is not the system's.
[[nodiscard]] std::string why_silent(const std::string& command, std::string_view path,
                                     const std::filesystem::path& library = {});
// The loader that the program requires, if that file is missing; else "".
[[nodiscard]] std::string missing_loader(const std::string& command, std::string_view path);
// The reason if the command is known not to pass on the environment to its children, or to start
// them where dprof's files are missing. "" = not known.
[[nodiscard]] std::string why_unreached(const std::vector<std::string>& command);

}  // namespace dprof::recorder
