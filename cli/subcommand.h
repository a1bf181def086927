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

// In the order of `dprof --help`.
std::vector<std::unique_ptr<Subcommand>> all_subcommands();

std::unique_ptr<Subcommand> make_record();
std::unique_ptr<Subcommand> make_report();
std::unique_ptr<Subcommand> make_import();
std::unique_ptr<Subcommand> make_gui();
std::unique_ptr<Subcommand> make_recover();
std::unique_ptr<Subcommand> make_doctor();
std::unique_ptr<Subcommand> make_ctl();

[[nodiscard]] constexpr int code_of(ExitCode code) { return static_cast<int>(code); }

}  // namespace dprof::cli
