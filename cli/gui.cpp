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
    "Exit codes: those of dprof-gui (`dprof-gui --help`); 125 if there is no dprof-gui.\n";

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
    std::vector<std::string> arguments = {"dprof-gui"};
    for (std::string& argument : app_->remaining()) arguments.push_back(std::move(argument));
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    // The second is where pip installs the wheel dprof-gui, beside that of dprof.
    const std::filesystem::path here = program_folder();
    const std::filesystem::path beside = here / "dprof-gui";
    execv(beside.c_str(), pointers.data());
    const int failed = errno;
    execv((here / "../../../dprof_gui/_native/bin/dprof-gui").c_str(), pointers.data());
    return fail(Code::kInternal, fmt::format("{}: {}", beside.string(), std::strerror(failed)),
                "the window is not installed: pip install 'dprof[gui]', or a build's file: "
                "pip install dist/dprof_gui-*.whl (Debian: apt install dprof-gui), "
                "or use `dprof report --format html` instead");
  }

 private:
  CLI::App* app_ = nullptr;
};

}  // namespace

std::unique_ptr<Subcommand> make_gui() { return std::make_unique<Gui>(); }

}  // namespace dprof::cli
