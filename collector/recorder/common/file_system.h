// SPDX-License-Identifier: Apache-2.0
// The kind of file system of a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace dprof::recorder {

// The name of a file system on which processes of several hosts can share files, which therefore
// does not support shared memory: NFS, SMB, Lustre, GPFS, Ceph, BeeGFS, AFS, 9p, anything in FUSE.
// Empty for local and unknown ones. DPROF_FAKE_FS_TYPE, a number as in statfs(2), replaces the
// kernel's answer (a test switch).
[[nodiscard]] std::optional<std::string> network_file_system(const std::filesystem::path& folder);
// The same for a number.
[[nodiscard]] std::optional<std::string> network_file_system_name(uint64_t type);

// Called before each operation on a shared file. Sleeps DPROF_FAKE_FS_DELAY_US microseconds, to
// simulate a distant file server (a test switch).
void wait_as_slow_file_system();

}  // namespace dprof::recorder
