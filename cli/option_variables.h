// SPDX-License-Identifier: Apache-2.0
// Options that environment variables set: they cross srun, mpirun and containers, where a command
// line is in somebody else's script.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace dprof::cli {

// Each option of `app` takes PREFIX and its longest name in capitals, `--on-hang`:
// DPROF_RECORD_ON_HANG. The command line wins. Positional arguments and --help have none.
void set_from_variables(CLI::App& app, std::string_view prefix);

// A sentence for each variable that begins with `prefix` and is none of these: a typing error must
// not go unseen.
[[nodiscard]] std::vector<std::string> strange_variables(const CLI::App& app,
                                                         std::string_view prefix,
                                                         const char* const* environment);

// The variables that set an option of `app` and are not empty: "A, B", or "".
[[nodiscard]] std::string variables_in_use(const CLI::App& app);

}  // namespace dprof::cli
