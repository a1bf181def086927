// SPDX-License-Identifier: Apache-2.0
// Options set by environment variables: they pass through srun, mpirun and containers, where the
// command line is in a script that the user cannot change.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace dprof::cli {

// Each option of `app` has a variable PREFIX plus its longest name in capitals, `--on-hang`:
// DPROF_RECORD_ON_HANG. The command line wins. Positional arguments and --help have none.
void set_from_variables(CLI::App& app, std::string_view prefix);

// A sentence for each variable that begins with `prefix` and is none of these, so that typing
// errors do not go unnoticed.
[[nodiscard]] std::vector<std::string> strange_variables(const CLI::App& app,
                                                         std::string_view prefix,
                                                         const char* const* environment);

// The non-empty variables that set an option of `app`: "A, B", or "".
[[nodiscard]] std::string variables_in_use(const CLI::App& app);

}  // namespace dprof::cli
