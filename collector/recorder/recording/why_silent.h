// SPDX-License-Identifier: Apache-2.0
// Why nothing could be loaded into a command, as far as its words and its file tell.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dprof::recorder {

// `command`: its first word; `path`: the folders in which a shell looks for it; `library`: what is
// to be loaded, "" = not known. "" = its file is no reason: it is a script, or a program that can
// be recorded. Reads the program's C library (2 MB) where it is another one than the system's.
[[nodiscard]] std::string why_silent(const std::string& command, std::string_view path,
                                     const std::filesystem::path& library = {});
// The loader that the program asks for, where there is none of that name; else "".
[[nodiscard]] std::string missing_loader(const std::string& command, std::string_view path);
// Whether the command is one that does not hand on the environment to what it starts, or starts it
// where dprof's files are not. "" = not known to be.
[[nodiscard]] std::string why_unreached(const std::vector<std::string>& command);

}  // namespace dprof::recorder
