// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/run/spokesman.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "collector/recorder/common/atomic_file.h"
#include "collector/recorder/common/file_system.h"
#include "collector/recorder/common/text.h"
#include "collector/recorder/run/meeting.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;

fs::path file_of_word(const fs::path& run) { return run / kRecordersName / "spokesman"; }

std::string who_has(const fs::path& word) {
  std::array<char, 512> name{};
  const int fd = open(word.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t got = read(fd, name.data(), name.size());
  close(fd);
  return got > 0 ? clean_text({name.data(), static_cast<size_t>(got)}) : std::string();
}

}  // namespace

std::optional<std::string> take_word(const fs::path& run, const std::string& name) {
  wait_as_slow_file_system();
  const fs::path word = file_of_word(run);
  const int fd = open(word.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 && errno == EEXIST) return who_has(word);
  if (fd < 0) return std::nullopt;
  static_cast<void>(write_whole(fd, name));  // a full disk: taken, by an unknown recorder
  close(fd);
  return std::nullopt;
}

void give_back_word(const fs::path& run) {
  std::error_code error;
  fs::remove(file_of_word(run), error);
}

}  // namespace dprof::recorder
