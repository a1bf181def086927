// SPDX-License-Identifier: Apache-2.0
// `--matrix FILE`: runs the trainer several times in sequence, each time with other options.
//
// Each line of the file is a run: `[name:] [ranks=N] [expect=fail] OPTIONS`, with quotes as in a
// shell; "#" begins a comment, and empty lines are ignored. The default is two ranks; ranks=0 is a
// single process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trainer_harness/settings/options.h"

namespace dprof::trainer_harness {

struct MatrixRun {
  std::string name;  // of its folder; run-LINE if the line gives none
  int ranks = 2;
  bool should_fail = false;
  std::vector<std::string> arguments;
};

// Throws UsageError, which names the line.
[[nodiscard]] std::vector<MatrixRun> parse_matrix(std::string_view text);

// Words as a shell splits them, with '...' and "...". Throws UsageError for an open quote.
[[nodiscard]] std::vector<std::string> split_words(std::string_view text);

// The command that starts a run: `prefix` is --matrix-command, in which {ranks}, {name} and {dir}
// are replaced; if it is empty, the program itself with --spawn.
[[nodiscard]] std::vector<std::string> matrix_command(const MatrixRun& run,
                                                      const std::string& prefix,
                                                      const std::string& program,
                                                      const std::string& folder,
                                                      const std::vector<std::string>& common);

// Does all runs of options.launch.matrix, with one summary line each. With --truth DIR, a run's
// truth and output are in DIR/<name>/. `common` are the options that every run gets. Returns the
// exit code: 0 if each run ended as expected. Throws UsageError and std::runtime_error.
[[nodiscard]] int run_matrix(const Options& options, const std::vector<std::string>& common);

// `arguments` without the options `names` and their values.
[[nodiscard]] std::vector<std::string> without_options(std::vector<std::string> arguments,
                                                       const std::vector<std::string>& names);

}  // namespace dprof::trainer_harness
