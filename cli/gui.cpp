// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/beside.h"
#include "cli/subcommand.h"

namespace dprof::cli {
namespace {

constexpr char kGuiDetails[] =
    "\nStarts dprof-gui from dprof's own folder and passes on all arguments after `gui`.\n\n"
    "Examples:\n"
    "  dprof gui run1\n"
    "  dprof gui run1 --screenshot timeline.png --size 1600x900\n\n"
    "Exit codes: those of dprof-gui (`dprof-gui --help`); 125 when there is no dprof-gui.\n";

class Gui final : public Subcommand {
 public:
  std::string_view name() const override { return "gui"; }
  std::string_view summary() const override { return "show the timeline of a run"; }
  std::string_view details() const override { return kGuiDetails; }

  void declare(CLI::App& app) override {
    app.prefix_command();
    app_ = &app;
  }

  Result<int> run(Console&) override {
    const std::filesystem::path program = program_folder() / "dprof-gui";
    std::vector<std::string> arguments{program.string()};
    for (std::string& argument : app_->remaining()) arguments.push_back(std::move(argument));
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    execv(program.c_str(), pointers.data());
    return fail(Code::kInternal, fmt::format("{}: {}", program.string(), std::strerror(errno)),
                "this installation has no window: build dprof with Qt 6 (scripts/setup "
                "installs it), or use `dprof report --format html` instead");
  }

 private:
  CLI::App* app_ = nullptr;
};

}  // namespace

std::unique_ptr<Subcommand> make_gui() { return std::make_unique<Gui>(); }

}  // namespace dprof::cli
