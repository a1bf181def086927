// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/hang/python_stacks.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "collector/wire/hello.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Bit `signal` of the line "SigCgt:\t0000000000000000" of /proc/PID/status.
bool catches(int pid, int signal) {
  const std::string status = content_of(fmt::format("/proc/{}/status", pid));
  const size_t at = status.find("\nSigCgt:\t");
  if (at == std::string::npos) return false;
  const char* digits = status.c_str() + at + std::strlen("\nSigCgt:\t");
  return (std::strtoull(digits, nullptr, 16) >> (signal - 1) & 1) != 0;
}

// A program that closes unknown descriptors may have reused the number for its own file.
bool has_open(int pid, const fs::path& file) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/fd", pid), error)) {
    if (fs::read_symlink(entry.path(), error) == file) return true;
  }
  return false;
}

// "  File \"/a/b.py\", line 58 in lock_twice"
std::optional<StackEntry> entry_of(std::string_view line) {
  constexpr std::string_view kFile = "  File \"", kLine = "\", line ", kIn = " in ";
  if (!line.starts_with(kFile)) return std::nullopt;
  line.remove_prefix(kFile.size());
  const size_t end_of_file = line.rfind(kLine);
  if (end_of_file == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(end_of_file + kLine.size());
  const size_t end_of_number = rest.find(kIn);
  if (end_of_number == std::string_view::npos) return std::nullopt;
  StackEntry entry{.function = std::string(rest.substr(end_of_number + kIn.size())),
                   .file = std::string(line.substr(0, end_of_file)),
                   .line = std::nullopt};
  int64_t number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + end_of_number, number);
  if (error == std::errc()) entry.line = number;
  return entry;
}

// "Thread 0x00007f0b2f7fe6c0 (most recent call first):", "Current thread 0x… [name] (…":
std::optional<uint64_t> thread_of(std::string_view line) {
  const size_t at = line.find("hread 0x");
  if (at == std::string_view::npos || at > std::strlen("Current t")) return std::nullopt;
  const std::string_view digits = line.substr(at + std::strlen("hread 0x"));
  uint64_t thread = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), thread, 16);
  return error == std::errc() ? std::optional(thread) : std::nullopt;
}

}  // namespace

std::vector<ThreadStack> parse_faulthandler(std::string_view text) {
  std::vector<ThreadStack> threads;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (const auto thread = thread_of(line)) {
      threads.push_back({.pthread = *thread, .frames = {}, .answers = line.starts_with("Current")});
    } else if (auto entry = entry_of(line); entry && !threads.empty()) {
      threads.back().frames.push_back(*std::move(entry));
    }
  }
  return threads;
}

PythonStacks take_python_stacks(int pid, const fs::path& file, std::chrono::milliseconds patience) {
  using Steady = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kLook{10};
  constexpr int kQuietLooks = 5;  // nothing more is written
  PythonStacks stacks;
  std::error_code error;
  if (!fs::exists(file, error)) return stacks;
  stacks.is_python = true;
  if (!has_open(pid, file) || !catches(pid, wire::stacks_signal())) {
    stacks.problem = "the program has taken away what Python's faulthandler needs";
    return stacks;
  }
  const auto before = fs::file_size(file, error);
  if (kill(pid, wire::stacks_signal()) != 0) {
    stacks.problem = std::strerror(errno);
    return stacks;
  }
  const Steady::time_point until = Steady::now() + patience;
  auto size = before;
  for (int quiet = 0; quiet < kQuietLooks && Steady::now() < until;) {
    std::this_thread::sleep_for(kLook);
    const auto now = fs::file_size(file, error);
    quiet = now == size && now != before ? quiet + 1 : 0;
    size = now;
  }
  const std::string text = content_of(file);
  stacks.threads =
      parse_faulthandler(std::string_view(text).substr(std::min<size_t>(before, text.size())));
  if (stacks.threads.empty()) stacks.problem = "Python did not answer the signal";
  return stacks;
}

}  // namespace dprof::recorder
