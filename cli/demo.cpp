// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/beside.h"
#include "cli/subcommand.h"

namespace dprof::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kDemoDetails[] =
    "\nRecords a two-rank training run of a few seconds on this machine's CPUs, and reports\n"
    "on it: rank 1 loads data slowly on purpose. Needs a Python with torch, which does not come\n"
    "with dprof; the script is share/dprof/demo_train.py next to dprof's folder.\n\n"
    "Examples:\n"
    "  dprof demo\n"
    "  dprof demo --python ~/venv/bin/python -o run1\n\n"
    "Exit codes: those of `dprof record` and `dprof report`; 2 if the Python cannot be started or has\n"
    "no torch.\n";

enum class Output { kShown, kDropped };

// The exit code of a program (128+N if signal N ended it).
Result<int> run_program(std::vector<std::string> words, Output output) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (output == Output::kDropped) {
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
      posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0);
  }
  pid_t child = 0;
  const int error = posix_spawnp(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail(Code::kUsage, fmt::format("{}: {}", words[0], std::strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return fail(Code::kInternal, std::strerror(errno));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

class Demo final : public Subcommand {
 public:
  std::string_view name() const override { return "demo"; }
  std::string_view summary() const override { return "record and report a tiny training run"; }
  std::string_view details() const override { return kDemoDetails; }

  void declare(CLI::App& app) override {
    app.add_option("-o", folder_, "run folder; replaced if it holds a run")
        ->type_name("RUN")
        ->capture_default_str();
    app.add_option("--python", python_, "a Python that has torch")
        ->type_name("PROGRAM")
        ->envname("DPROF_PYTHON")
        ->capture_default_str();
  }

  Result<int> run(Console& console) override {
    const fs::path self = program_folder() / "dprof";
    const fs::path script = (program_folder() / "../share/dprof/demo_train.py").lexically_normal();
    std::error_code error;
    if (!fs::exists(script, error)) {
      return fail(Code::kInternal, fmt::format("{}: no such file", script.string()),
                  "it belongs in ../share/dprof next to the dprof program: reinstall dprof");
    }
    const Result<int> torch =
        run_program({python_, "-c", "import torch.distributed as d; d.is_available() or exit(1)"},
                    Output::kDropped);
    if (!torch.ok()) {
      return fail(torch.error().code, torch.error().what,
                  "give a Python that has torch: dprof demo --python PROGRAM");
    }
    if (*torch != 0) {
      return fail(Code::kUsage, fmt::format("{}: cannot import torch.distributed", python_),
                  fmt::format("{} -m pip install torch (the CPU build will do), or give a "
                              "Python that has it: dprof demo --python PROGRAM",
                              python_));
    }
    console.message("recording two ranks of " + script.string());
    const Result<int> recorded =
        run_program({self.string(), "record", "--overwrite", "-o", folder_, "--", python_, "-m",
                     "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1",
                     "--nproc-per-node=2", script.string()},
                    Output::kShown);
    if (!recorded.ok()) return recorded;
    if (*recorded != 0) return recorded;
    return run_program({self.string(), "report", folder_}, Output::kShown);
  }

 private:
  std::string folder_ = "dprof-demo";
  std::string python_ = "python3";
};

}  // namespace

std::unique_ptr<Subcommand> make_demo() { return std::make_unique<Demo>(); }

}  // namespace dprof::cli
