// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/recording/why_silent.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
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

// A program that ld.so does not start. False also for what is no program of this machine.
bool is_static(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  Elf64_Ehdr head{};
  if (!file.read(reinterpret_cast<char*>(&head), sizeof head)) return false;
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
      head.e_phentsize != sizeof(Elf64_Phdr))
    return false;
  std::vector<Elf64_Phdr> parts(head.e_phnum);
  file.seekg(static_cast<std::streamoff>(head.e_phoff));
  if (!file.read(reinterpret_cast<char*>(parts.data()),
                 static_cast<std::streamsize>(parts.size() * sizeof(Elf64_Phdr))))
    return false;
  return std::ranges::none_of(parts,
                              [](const Elf64_Phdr& part) { return part.p_type == PT_INTERP; });
}

// The loader ignores LD_PRELOAD where a program has rights that its caller lacks.
bool gains_rights(const std::string& name) {
  struct stat about {};
  if (stat(name.c_str(), &about) != 0) return false;
  const bool as_user = (about.st_mode & S_ISUID) != 0 && about.st_uid != getuid();
  const bool as_group = (about.st_mode & S_ISGID) != 0 && about.st_gid != getgid();
  return as_user || as_group ||
         (getuid() != 0 && getxattr(name.c_str(), "security.capability", nullptr, 0) > 0);
}

}  // namespace

std::string why_silent(const std::string& command, std::string_view path) {
  const std::string file = file_of(command, path);
  if (is_static(file))
    return fmt::format("{} is statically linked: nothing can be loaded into it", file);
  if (gains_rights(file)) {
    return fmt::format(
        "{} runs with rights that its caller lacks (set-uid, set-gid or file capabilities): the loader ignores LD_PRELOAD",
        file);
  }
  return {};
}

}  // namespace dprof::recorder
