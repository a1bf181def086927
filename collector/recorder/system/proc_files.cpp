// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/system/proc_files.h"

#include <fcntl.h>
#include <unistd.h>

namespace dprof::recorder {

std::string_view FileText::read(int at, const char* path) {
  const int fd = openat(at, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return {};
  size_t used = 0;
  while (used < buffer_.size()) {
    const ssize_t got = ::read(fd, buffer_.data() + used, buffer_.size() - used);
    if (got <= 0) break;
    used += static_cast<size_t>(got);
    if (used < 512) break;  // a short file arrives in one read: no second call for its end
  }
  close(fd);
  return {buffer_.data(), used};
}

std::string_view FileText::read(const std::filesystem::path& path) {
  return read(AT_FDCWD, path.c_str());
}

}  // namespace dprof::recorder
