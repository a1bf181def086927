// SPDX-License-Identifier: Apache-2.0
// On what kind of file system a folder lies.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace dprof::recorder {

// The name of a file system on which processes of several hosts may share files, so that they share
// no memory through them: NFS, SMB, Lustre, GPFS, Ceph, BeeGFS, AFS, 9p, anything in FUSE. Empty
// for local ones and those that are not known. DPROF_FAKE_FS_TYPE, a number as in statfs(2), stands
// in for what the kernel says (a test switch).
[[nodiscard]] std::optional<std::string> network_file_system(const std::filesystem::path& folder);
// The same of a number.
[[nodiscard]] std::optional<std::string> network_file_system_name(uint64_t type);

// Called before each operation on a shared file. Sleeps DPROF_FAKE_FS_DELAY_US microseconds, as a
// file server far away would (a test switch).
void wait_as_slow_file_system();

}  // namespace dprof::recorder
