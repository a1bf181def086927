// SPDX-License-Identifier: Apache-2.0
#include "cli/digest_after.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

namespace dprof::cli {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kRoom = uintmax_t{64} << 20;

bool is_wanted(const recorder::RecordOutcome& recorded) {
  constexpr int kFirstSignal = 128;
  if (recorded.finished.empty() || recorded.command_code > kFirstSignal) return false;
  const bool signalled = std::ranges::any_of(
      recorded.diagnostics, [](const auto& note) { return note.code == "signal"; });
  std::error_code error;
  const fs::space_info space = fs::space(recorded.folder, error);
  return !signalled && recorded.left_behind == 0 && !error && space.available >= kRoom;
}

// With no signal blocked, so that a terminal or Slurm can end it. 0: it could not be started.
pid_t start(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int error =
      posix_spawn(&child, "/proc/self/exe", nullptr, &attributes, pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  return error == 0 ? child : 0;
}

}  // namespace

void digest_after(const recorder::RecordOutcome& recorded, Console& console) {
  if (!is_wanted(recorded)) return;
  // All traces, whatever variables an MPI launcher has set.
  std::vector<std::string> words = {"dprof", "digest", "--quiet", "--shard", "1/1"};
  for (const fs::path& trace : recorded.finished) words.push_back(trace.string());
  const pid_t child = start(words);
  int status = 0;
  pid_t ended = 0;
  while (child != 0 && (ended = waitpid(child, &status, WNOHANG)) == 0) {
    if (recorded.is_interrupted()) kill(child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const bool was_ended = ended > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  if (was_ended || (ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)) return;
  console.message("not all digests could be made; the report will read these traces");
}

}  // namespace dprof::cli
