// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "collector/recorder/common/text.h"
#include "collector/recorder/doctor/doctor_checks_internal.h"
#include "collector/recorder/doctor/doctor_child.h"
#include "collector/recorder/ranks/torch_verdict.h"
#include "collector/wire/torch_builds.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;

// Finds torch without importing it.
constexpr char kFindTorch[] =
    "import importlib.util, os, sys\n"
    "spec = importlib.util.find_spec('torch')\n"
    "print(sys.executable)\n"
    "print(spec.origin if spec else '')\n"
    "for path in sys.path:\n"
    "    file = os.path.abspath(path + '/torch/__init__.py' if path else 'torch/__init__.py')\n"
    "    if spec and file != spec.origin and os.path.exists(file): print(file)\n";

std::string version_of(const fs::path& torch) {
  std::ifstream file(torch / "version.py");
  for (std::string line; std::getline(file, line);) {
    constexpr std::string_view kKey = "__version__ = '";
    if (!line.starts_with(kKey)) continue;
    line.erase(0, kKey.size());
    return clean_text(line.substr(0, line.find('\'')));
  }
  return "of unknown version";
}

std::string short_id(const std::string& build_id) { return build_id.substr(0, 12); }

// As libdprof.so searches: for a LibTorch of that build.
bool has_own_library(const DoctorOptions& options, const std::string& build_id) {
  const fs::path library = options.libraries / fmt::format("libdprof_torch-{}.so", build_id);
  return !build_id.empty() && access(library.c_str(), R_OK) == 0;
}

}  // namespace

FoundTorch find_torch() {
  FoundTorch torch;
  const Result<CommandAnswer> answer = ask_command({"python3", "-c", kFindTorch});
  if (!answer.ok()) {
    torch.why_not = "python3: " + answer.error().what;
    return torch;
  }
  if (answer->code == 127) {
    torch.why_not = "no python3 on PATH";
    return torch;
  }
  const size_t line = answer->output.find('\n');
  const std::string python = clean_text(answer->output.substr(0, line));
  const std::string rest = line == std::string::npos ? "" : answer->output.substr(line + 1);
  const size_t end_of_origin = std::min(rest.find('\n'), rest.size());
  const std::string origin = rest.substr(0, end_of_origin);
  const std::string other = rest.substr(std::min(end_of_origin + 1, rest.size()));
  if (answer->code != 0 || origin.empty()) {
    torch.why_not = answer->code != 0 ? fmt::format("python3 ended with {}", answer->code)
                                      : fmt::format("{} has no torch", python);
    return torch;
  }
  torch.folder = fs::path(origin).parent_path();
  if (!other.empty()) torch.other = fs::path(other.substr(0, other.find('\n'))).parent_path();
  torch.version = version_of(torch.folder);
  torch.build_id = build_id_of(torch.folder / "lib/libtorch_cpu.so");
  return torch;
}

Check check_library(const DoctorOptions& options) {
  Check check{kRecordingArea, "libdprof.so", Ability::kOk, {}, {}, {}};
  const fs::path library = options.libraries / "libdprof.so";
  check.found = library.string();
  if (options.sanitized) {
    check.state = Ability::kNo;
    check.found = "this dprof was built with a sanitizer";
    check.meaning = "its library cannot be preloaded into an ordinary program";
    check.hint = "use the preset release";
  } else if (access(library.c_str(), R_OK) != 0) {
    check.state = Ability::kNo;
    check.found = fmt::format("{}: {}", library.string(), std::strerror(errno));
    check.meaning = "nothing can be recorded";
    check.hint = "libdprof.so belongs in ../lib next to the dprof program: reinstall dprof";
  }
  return check;
}

Check check_torch_library(const DoctorOptions& options) {
  Check check{kTorchArea, "libdprof_torch.so", Ability::kOk, {}, {}, {}};
  const fs::path library = options.libraries / "libdprof_torch.so";
  constexpr char kMeaning[] = "no ops and no bytes of collectives: NVTX ranges, CUDA and NCCL only";
  if (DPROF_TORCH_BUILD_ID[0] == '\0') {
    check.state = Ability::kNo;
    check.found = "this dprof was built without LibTorch";
    check.meaning = kMeaning;
    check.hint = "scripts/setup installs one to build with";
  } else if (access(library.c_str(), R_OK) != 0) {
    check.state = Ability::kNo;
    check.found = fmt::format("{}: {}", library.string(), std::strerror(errno));
    check.meaning = kMeaning;
    check.hint = "it belongs next to libdprof.so: reinstall dprof";
  } else {
    check.found =
        fmt::format("built with LibTorch {}; knows {} builds of 2.6 to {}", DPROF_TORCH_VERSION,
                    std::size(wire::kTorchBuilds), std::rbegin(wire::kTorchBuilds)->release);
  }
  return check;
}

Check check_torch(const DoctorOptions& options, const FoundTorch& torch,
                  const Check& torch_library) {
  Check check{kTorchArea, "Python's torch", Ability::kOk, {}, {}, {}};
  if (torch.folder.empty()) {
    check.state = Ability::kLimited;
    check.found = torch.why_not;
    check.meaning = "a Python job of this environment has no torch; C++ programs bring their own";
    check.hint = "run `dprof doctor` in the environment (venv, module) of your job";
    return check;
  }
  check.found = fmt::format("{} in {}", torch.version, torch.folder.string());
  if (std::error_code error;
      torch.build_id.empty() && !fs::exists(torch.folder / "lib/libtorch_cpu.so", error)) {
    check.state = Ability::kNo;
    check.meaning = "a part of torch is gone (lib/libtorch_cpu.so): a job that imports it fails";
    check.hint = "install torch again: pip install --force-reinstall torch";
    return check;
  }
  if (!torch.other.empty()) {
    check.state = Ability::kLimited;
    check.found += fmt::format("; a second one in {}", torch.other.string());
    check.meaning = "a job uses the first; one with another PYTHONPATH may use the other";
    check.hint = "remove one of them";
    return check;
  }
  if (has_own_library(options, torch.build_id)) {
    check.found = fmt::format("{}, which has a library of its own: libdprof_torch-{}….so",
                              torch.version, short_id(torch.build_id));
    return check;
  }
  if (torch_library.state != Ability::kOk) {
    check.state = Ability::kNo;
    check.meaning = "its ops cannot be recorded";
    check.hint = "see libdprof_torch.so";
    return check;
  }
  if (wire::is_known_torch(torch.build_id) || torch.build_id == DPROF_TORCH_BUILD_ID) {
    check.found = fmt::format("{}, a build that libdprof_torch.so knows", torch.version);
    return check;
  }
  const TorchVerdict verdict =
      judge_torch({options.program, options.libraries / "libdprof_torch.so",
                   torch.folder / "lib/libtorch_cpu.so", torch.build_id},
                  std::atomic<bool>(false));
  if (verdict.fits) {
    check.found =
        fmt::format("{}, a build that libdprof_torch.so did not know, and can read", torch.version);
  } else {
    check.state = Ability::kNo;
    check.meaning = fmt::format("its ops cannot be recorded: {}", verdict.why_not);
    check.hint = "docs/torch_versions.md says which releases can be";
  }
  return check;
}

std::string probe_torch(const fs::path& library, const fs::path& torch_cpu,
                        std::chrono::seconds patience) {
  // Shared, so that it shows how far a crashed probe got.
  constexpr size_t kBytes = 512;
  void* shared = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return fmt::format("{} mmap: {}", kTorchUnsure, std::strerror(errno));
  auto* sentence = static_cast<char*>(shared);
  const Result<std::string> answer = ask_child(
      [&]() -> std::string {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        // As Python loads it; its own RUNPATH finds its dependencies.
        if (dlopen(torch_cpu.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr) {
          return fmt::format("{} {}", kTorchUnsure, dlerror());
        }
        void* opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (opened == nullptr) return fmt::format("{} {}", kTorchDiffers, dlerror());
        using Probe = int (*)(char* sentence, size_t bytes, uint32_t layout);
        const auto probe = reinterpret_cast<Probe>(dlsym(opened, "dprof_torch_probe"));
        if (probe == nullptr) return fmt::format("{} {}", kTorchDiffers, dlerror());
        const char* layout = std::getenv(wire::kTorchLayoutVariable);
        const int minor = layout != nullptr ? std::atoi(layout) : 0;
        if (probe(sentence, kBytes, static_cast<uint32_t>(minor)) == 0)
          return std::string(kTorchFits);
        return fmt::format("{} {}", kTorchDiffers, sentence);
      },
      patience);
  if (answer.ok()) return *answer;
  sentence[kBytes - 1] = '\0';
  // A slow probe may only lack CPU time or disk bandwidth.
  const bool crashed = answer.error().what.starts_with("it ");
  return fmt::format("{} the probe failed{}{}: {}", crashed ? kTorchDiffers : kTorchUnsure,
                     *sentence != '\0' ? " at " : "", sentence, answer.error().what);
}

}  // namespace dprof::recorder
