// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/common/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "collector/recorder/common/file_system.h"

namespace dprof::recorder {
namespace {

int fill(const std::filesystem::path& part, std::string_view text, FileAccess access) {
  const bool owner_only = access == FileAccess::kOwnerOnly;
  const int fd = open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                      owner_only ? 0600 : 0666);
  if (fd < 0) return errno;
  // A folder's default ACL can grant more than the mode.
  int failed = owner_only && fchmod(fd, 0600) != 0 ? errno : 0;
  if (failed == 0) failed = write_whole(fd, text);
  if (close(fd) != 0 && failed == 0) failed = errno;
  return failed;
}

}  // namespace

int write_whole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = write(fd, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    text.remove_prefix(static_cast<size_t>(put));
  }
  return 0;
}

// A hard link is the one atomic way on all file systems with links.
int move_to_free(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (link(from.c_str(), to.c_str()) == 0) {
    unlink(from.c_str());
    return 0;
  }
  if (errno != EPERM && errno != ENOTSUP && errno != ENOSYS && errno != EMLINK) return errno;
  std::error_code error;
  if (std::filesystem::exists(to, error)) return EEXIST;
  return rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

Status replace_file(const std::filesystem::path& path, std::string_view text, FileAccess access,
                    const char* hint) {
  const std::filesystem::path part =
      path.parent_path() / fmt::format(".{}.part", path.filename().string());
  for (int i = 0; i < 3; ++i) wait_as_slow_file_system();
  unlink(part.c_str());  // left by a killed process
  int failed = fill(part, text, access);
  if (failed == 0 && rename(part.c_str(), path.c_str()) == 0) return Done{};
  if (failed == 0) failed = errno;
  if (failed != EEXIST) unlink(part.c_str());
  return fail(Code::kIo, fmt::format("{}: {}", path.string(), std::strerror(failed)), hint);
}

}  // namespace dprof::recorder
