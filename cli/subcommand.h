// SPDX-License-Identifier: Apache-2.0
// One verb of the command line: its options, one call into a module, one rendering, one exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string_view>
#include <vector>

#include "base/exit_code.h"
#include "base/result.h"
#include "cli/console.h"

namespace dprof::cli {

class Subcommand {
 public:
  virtual ~Subcommand() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::string_view summary() const = 0;  // one line, no full stop
  [[nodiscard]] virtual std::string_view details() const = 0;  // examples and exit codes

  virtual void declare(CLI::App& app) = 0;

  // The exit code: one of ExitCode, or the recorded command's own. An error's code follows from its
  // kind; main prints it.
  virtual Result<int> run(Console& console) = 0;
};

// The verbs, in the order of `dprof --help`. Each has a file of its name, which defines its maker.
#define DPROF_VERBS(each)                                                                   \
  each(record) each(report) each(diff) each(check) each(baseline) each(import) each(export) \
      each(gui) each(digest) each(recover) each(doctor) each(ctl) each(demo)

#define DPROF_DECLARE_MAKER(verb) std::unique_ptr<Subcommand> make_##verb();
DPROF_VERBS(DPROF_DECLARE_MAKER)
#undef DPROF_DECLARE_MAKER

// Declares all verbs with their options, in that order.
[[nodiscard]] std::vector<std::unique_ptr<Subcommand>> declare_command_line(CLI::App& app);

// Replaces the "--" between the runs of `dprof diff`, which the parser would remove.
inline constexpr char kBetweenSides[] = "\x1f--";

[[nodiscard]] constexpr int code_of(ExitCode code) { return static_cast<int>(code); }

}  // namespace dprof::cli
