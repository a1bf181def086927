// SPDX-License-Identifier: Apache-2.0
// Why nothing could be loaded into a command, as far as its file tells.
#pragma once

#include <string>
#include <string_view>

namespace dprof::recorder {

// `command`: its first word; `path`: the folders in which a shell looks for it. "" = its file is no
// reason: it is a script, or a program that can be recorded.
[[nodiscard]] std::string why_silent(const std::string& command, std::string_view path);

}  // namespace dprof::recorder
