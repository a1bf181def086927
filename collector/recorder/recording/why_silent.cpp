// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/recording/why_silent.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

namespace dprof::recorder {
namespace {

std::string file_of(const std::string& command, std::string_view path) {
  if (command.find('/') != std::string::npos) return command;
  while (!path.empty()) {
    const size_t colon = std::min(path.find(':'), path.size());
    const std::string file = fmt::format("{}/{}", path.substr(0, colon), command);
    if (access(file.c_str(), X_OK) == 0) return file;
    path.remove_prefix(std::min(colon + 1, path.size()));
  }
  return command;
}

std::string bytes_of(const std::filesystem::path& name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The loader of a program; "" = none: it is static. nullopt: not a program for this machine.
std::optional<std::string> loader_of(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  Elf64_Ehdr head{};
  if (!file.read(reinterpret_cast<char*>(&head), sizeof head)) return std::nullopt;
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
      head.e_phentsize != sizeof(Elf64_Phdr))
    return std::nullopt;
  std::vector<Elf64_Phdr> parts(head.e_phnum);
  file.seekg(static_cast<std::streamoff>(head.e_phoff));
  if (!file.read(reinterpret_cast<char*>(parts.data()),
                 static_cast<std::streamsize>(parts.size() * sizeof(Elf64_Phdr))))
    return std::nullopt;
  const auto part = std::ranges::find(parts, PT_INTERP, &Elf64_Phdr::p_type);
  if (part == parts.end()) return "";
  std::string loader(std::min<size_t>(part->p_filesz, PATH_MAX), '\0');
  file.seekg(static_cast<std::streamoff>(part->p_offset));
  if (!file.read(loader.data(), static_cast<std::streamsize>(loader.size()))) return std::nullopt;
  return loader.substr(0, loader.find('\0'));
}

// The target machine of an ELF file; nullopt: not an ELF file.
std::optional<uint16_t> machine_of(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  Elf32_Ehdr head{};  // up to that field, the same for 64 bits
  if (!file.read(reinterpret_cast<char*>(&head), sizeof head)) return std::nullopt;
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  return head.e_machine;
}

std::string name_of_machine(uint16_t machine) {
  switch (machine) {
    case EM_386:
      return "32-bit x86";
    case EM_X86_64:
      return "x86_64";
    case EM_AARCH64:
      return "aarch64";
    case EM_PPC64:
      return "ppc64";
    default:
      return fmt::format("machine {} of ELF", machine);
  }
}

// The newest 2.N of glibc that a library defines or requires; 0 = none.
int newest_glibc(const std::filesystem::path& library) {
  const std::string bytes = bytes_of(library);
  constexpr std::string_view kName = "GLIBC_2.";
  int newest = 0;
  for (size_t at = bytes.find(kName); at != std::string::npos; at = bytes.find(kName, at + 1)) {
    int minor = 0;
    std::from_chars(bytes.data() + at + kName.size(), bytes.data() + bytes.size(), minor);
    newest = std::max(newest, minor);
  }
  return newest;
}

// Why the C library of that loader does not suit `library`; "" = it does.
std::string why_not_glibc(const std::string& file, const std::string& loader,
                          const std::filesystem::path& library) {
  const std::filesystem::path name = std::filesystem::path(loader).filename();
  if (!name.string().starts_with("ld-linux")) {
    return fmt::format("{} is started by {}, not by glibc's loader: libdprof.so needs glibc", file,
                       loader);
  }
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(loader, error);
  const std::filesystem::path libc = real.parent_path() / "libc.so.6";
  if (error || library.empty()) return {};
  const int has = newest_glibc(libc);
  const int needs = newest_glibc(library);
  if (has == 0 || has >= needs) return {};
  return fmt::format("{} runs on glibc 2.{} ({}): too old, {} needs 2.{}", file, has, libc.string(),
                     library.filename().string(), needs);
}

// The loader ignores LD_PRELOAD if a program has privileges that its caller lacks.
bool gains_rights(const std::string& name) {
  struct stat about {};
  if (stat(name.c_str(), &about) != 0) return false;
  const bool as_user = (about.st_mode & S_ISUID) != 0 && about.st_uid != getuid();
  const bool as_group = (about.st_mode & S_ISGID) != 0 && about.st_gid != getgid();
  return as_user || as_group ||
         (getuid() != 0 && getxattr(name.c_str(), "security.capability", nullptr, 0) > 0);
}

constexpr std::string_view kOtherUser[] = {"sudo", "doas", "pkexec", "run0"};
constexpr std::string_view kContainer[] = {"apptainer", "docker", "enroot",
                                           "nerdctl",   "podman", "singularity"};

bool clears_environment(const std::vector<std::string>& env) {
  for (size_t i = 1; i < env.size() && env[i].starts_with('-'); ++i) {
    if (env[i] == "-" || env[i] == "-i" || env[i] == "--ignore-environment") return true;
  }
  return false;
}

}  // namespace

std::string why_unreached(const std::vector<std::string>& command) {
  const std::string name = std::filesystem::path(command.front()).filename().string();
  if (std::ranges::count(kOtherUser, name) != 0) {
    return fmt::format(
        "{} starts programs without the environment that dprof gave it: write `{} dprof record …`",
        name, name);
  }
  if (name == "env" && clears_environment(command)) {
    return "env -i takes away the environment that dprof gave it: write `env -i … dprof record …`";
  }
  if (std::ranges::count(kContainer, name) != 0) {
    return fmt::format(
        "programs in a container of {} do not see dprof's files: record inside (docs/clusters.md)",
        name);
  }
  return {};
}

std::string missing_loader(const std::string& command, std::string_view path) {
  const std::string loader = loader_of(file_of(command, path)).value_or("");
  std::error_code error;
  return loader.empty() || std::filesystem::exists(loader, error) ? std::string() : loader;
}

std::string why_silent(const std::string& command, std::string_view path,
                       const std::filesystem::path& library) {
  const std::string file = file_of(command, path);
  const std::optional<uint16_t> machine = machine_of(file);
  const std::optional<uint16_t> ours = machine_of("/proc/self/exe");
  if (machine && ours && *machine != *ours) {
    return fmt::format("{} is a program for {}, and libdprof.so one for {}", file,
                       name_of_machine(*machine), name_of_machine(*ours));
  }
  const std::optional<std::string> loader = loader_of(file);
  if (loader && loader->empty())
    return fmt::format("{} is statically linked: nothing can be loaded into it", file);
  if (gains_rights(file)) {
    return fmt::format(
        "{} runs with rights that its caller lacks (set-uid, set-gid or file capabilities): the loader ignores LD_PRELOAD",
        file);
  }
  return loader ? why_not_glibc(file, *loader, library) : std::string();
}

}  // namespace dprof::recorder
