// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "collector/recorder/common/text.h"
#include "collector/recorder/doctor/doctor_checks_internal.h"
#include "collector/recorder/doctor/doctor_child.h"
#include "collector/recorder/ranks/server.h"
#include "collector/wire/build_id.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostNoteBytes = 64 << 10;
constexpr unsigned kMostSegments = 256;

// Where torch lies, without importing it.
constexpr char kFindTorch[] =
    "import importlib.util, sys\n"
    "spec = importlib.util.find_spec('torch')\n"
    "print(sys.executable)\n"
    "print(spec.origin if spec else '')\n";

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

// As libdprof.so finds it: for a LibTorch of that build.
bool has_own_library(const DoctorOptions& options, const std::string& build_id) {
  const fs::path library = options.libraries / fmt::format("libdprof_torch-{}.so", build_id);
  return !build_id.empty() && access(library.c_str(), R_OK) == 0;
}

}  // namespace

std::string build_id_of(const fs::path& file) {
  const Descriptor fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  const auto read_at = [&](uint64_t offset, void* to, size_t bytes) {
    return pread(fd.get(), to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  };
  Elf64_Ehdr header;
  if (!read_at(0, &header, sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) {
    return {};
  }
  for (unsigned i = 0; i < header.e_phnum && i < kMostSegments; ++i) {
    Elf64_Phdr segment;
    if (!read_at(header.e_phoff + i * sizeof segment, &segment, sizeof segment)) return {};
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMostNoteBytes) continue;
    std::vector<unsigned char> notes(segment.p_filesz);
    if (!read_at(segment.p_offset, notes.data(), notes.size())) return {};
    char hex[wire::kBuildIdHex];
    wire::read_build_id(notes.data(), notes.size(), hex, sizeof hex);
    if (hex[0] != '\0') return hex;
  }
  return {};
}

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
  std::string origin = line == std::string::npos ? "" : answer->output.substr(line + 1);
  origin = origin.substr(0, origin.find('\n'));
  if (answer->code != 0 || origin.empty()) {
    torch.why_not = answer->code != 0 ? fmt::format("python3 ended with {}", answer->code)
                                      : fmt::format("{} has no torch", python);
    return torch;
  }
  torch.folder = fs::path(origin).parent_path();
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
    check.hint = "libdprof.so belongs into ../lib beside the dprof program: install it whole";
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
    check.hint = "cmake --preset release -DDPROF_TORCH_VENV=/path/of/your/venv";
  } else if (access(library.c_str(), R_OK) != 0) {
    check.state = Ability::kNo;
    check.found = fmt::format("{}: {}", library.string(), std::strerror(errno));
    check.meaning = kMeaning;
    check.hint = "it belongs beside libdprof.so: install dprof whole";
  } else {
    check.found = fmt::format("for LibTorch {}, build id {}…", DPROF_TORCH_VERSION,
                              short_id(DPROF_TORCH_BUILD_ID));
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
    check.hint = "call `dprof doctor` in the environment (venv, module) of your job";
    return check;
  }
  check.found = fmt::format("{} in {}", torch.version, torch.folder.string());
  const bool is_own = !torch.build_id.empty() && torch.build_id == DPROF_TORCH_BUILD_ID;
  if (!is_own && has_own_library(options, torch.build_id)) {
    check.found = fmt::format("{}, which has a library of its own: libdprof_torch-{}….so",
                              torch.version, short_id(torch.build_id));
  } else if (torch_library.state != Ability::kOk) {
    check.state = Ability::kNo;
    check.meaning = "its ops cannot be recorded";
    check.hint = "see libdprof_torch.so";
  } else if (!is_own) {
    check.state = Ability::kNo;
    check.meaning =
        fmt::format("its ops cannot be recorded: no library here is for its build id ({})",
                    torch.build_id.empty() ? "unknown" : short_id(torch.build_id) + "…");
    check.hint =
        "scripts/build --torch RELEASE, or cmake --preset release "
        "-DDPROF_TORCH_VENV=/path/of/your/venv";
  } else {
    check.found = fmt::format("{}, the one that libdprof_torch.so is for", torch.version);
  }
  return check;
}

}  // namespace dprof::recorder
