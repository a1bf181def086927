// SPDX-License-Identifier: Apache-2.0
// Small files of /proc and /sys, read whole and without allocation; shared by the samplers.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "collector/recorder/rows/inbox.h"

namespace dprof::recorder {

// Threading  one thread.
// Cost       three system calls for each read, some microseconds.
class FileText {
 public:
  // The file's first bytes, at most 16 KiB; "" if it cannot be read. Valid until the next call.
  // `path` is relative to the folder `at`, or absolute.
  std::string_view read(int at, const char* path);
  std::string_view read(const std::filesystem::path& path);

 private:
  std::array<char, 16 << 10> buffer_;
};

// Kinds of sample with a name in them, "nic.eth0.rx_bytes", kept because SystemSample refers to
// them.
class KindNames {
 public:
  std::string_view keep(std::string name) { return *names_.insert(std::move(name)).first; }

 private:
  std::set<std::string> names_;
};

// The folders of the files; different in tests.
struct SystemRoots {
  std::filesystem::path proc = "/proc";
  std::filesystem::path sys = "/sys";
};

using Deliver = std::function<void(Measured)>;

}  // namespace dprof::recorder
