// SPDX-License-Identifier: Apache-2.0
// man(1) pages and shell completions, generated from the options that the verbs declare.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace dprof::cli {

// The page of `part`: the whole command line or one of its verbs.
[[nodiscard]] std::string man_page(const CLI::App& part, const std::string& version,
                                   const std::string& date);

// Scripts that complete verbs, options and the words that an option takes; otherwise files.
[[nodiscard]] std::string bash_completion(const CLI::App& command_line);
[[nodiscard]] std::string zsh_completion(const CLI::App& command_line);
[[nodiscard]] std::string fish_completion(const CLI::App& command_line);

}  // namespace dprof::cli
