// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/common/file_system.h"

#include <sys/vfs.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace dprof::recorder {
namespace {

struct FileSystemKind {
  uint32_t type;
  const char* name;
};

// From linux/magic.h and the file systems' own sources.
constexpr FileSystemKind kKinds[] = {
    {0x6969, "NFS"},        {0x517b, "SMB"},       {0xff534d42, "CIFS"},  {0xfe534d42, "SMB2"},
    {0x0bd00bd0, "Lustre"}, {0x47504653, "GPFS"},  {0x65735546, "FUSE"},  {0x00c36400, "Ceph"},
    {0x19830326, "BeeGFS"}, {0x5346414f, "AFS"},   {0x6b414653, "AFS"},   {0x01021997, "9p"},
    {0x73757245, "Coda"},   {0xaad7aaea, "PanFS"}, {0x7461636f, "OCFS2"}, {0x01161970, "GFS2"},
};

}  // namespace

std::optional<std::string> network_file_system_name(uint64_t type) {
  for (const FileSystemKind& kind : kKinds) {
    if (kind.type == static_cast<uint32_t>(type)) return kind.name;
  }
  return std::nullopt;
}

std::optional<std::string> network_file_system(const std::filesystem::path& folder) {
  if (const char* fake = std::getenv("DPROF_FAKE_FS_TYPE")) {
    return network_file_system_name(std::strtoull(fake, nullptr, 0));
  }
  struct statfs status {};
  if (statfs(folder.c_str(), &status) != 0) return std::nullopt;
  return network_file_system_name(static_cast<uint64_t>(status.f_type));
}

void wait_as_slow_file_system() {
  static const long kDelayUs = [] {
    const char* asked = std::getenv("DPROF_FAKE_FS_DELAY_US");
    return asked != nullptr ? std::strtol(asked, nullptr, 10) : 0;
  }();
  if (kDelayUs > 0) std::this_thread::sleep_for(std::chrono::microseconds(kDelayUs));
}

}  // namespace dprof::recorder
