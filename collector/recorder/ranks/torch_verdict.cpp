// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/ranks/torch_verdict.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>
#include <vector>

#include "collector/recorder/common/atomic_file.h"
#include "collector/recorder/common/text.h"
#include "collector/recorder/ranks/server.h"
#include "collector/wire/build_id.h"
#include "collector/wire/torch_builds.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;
using Steady = std::chrono::steady_clock;

constexpr size_t kMostNoteBytes = 64 << 10;
constexpr unsigned kMostSegments = 256;
constexpr size_t kMostAnswerBytes = 4096;

fs::path cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return fs::path(cache) / "dprof" / "torch";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return {};
  return fs::path(home) / ".cache" / "dprof" / "torch";
}

// Where the verdict is cached; empty if it cannot be.
fs::path place_of(const TorchQuestion& question) {
  // With a layout forced by a test, nothing is cached.
  if (std::getenv(wire::kTorchLayoutVariable) != nullptr) return {};
  const std::string library = build_id_of(question.library);
  const fs::path folder = cache_folder();
  if (library.empty() || question.build_id.empty() || folder.empty()) return {};
  return folder / fmt::format("{}-{}", question.build_id, library);
}

std::optional<TorchVerdict> verdict_of(std::string_view answer) {
  if (answer.ends_with('\n')) answer.remove_suffix(1);
  if (answer == kTorchFits) return TorchVerdict{true, {}};
  const size_t blank = answer.find(' ');
  const std::string_view word = answer.substr(0, blank);
  if (blank == std::string_view::npos || (word != kTorchDiffers && word != kTorchUnsure)) {
    return std::nullopt;
  }
  return TorchVerdict{false, clean_text(answer.substr(blank + 1))};
}

std::optional<TorchVerdict> kept_verdict(const fs::path& place) {
  if (place.empty()) return std::nullopt;
  std::ifstream file(place);
  std::string answer;
  if (!std::getline(file, answer)) return std::nullopt;
  return verdict_of(answer);
}

// A read-only cache is no loss: the next recording asks again.
void keep(const fs::path& place, std::string_view answer) {
  if (place.empty()) return;
  std::error_code error;
  fs::create_directories(place.parent_path(), error);
  if (!error) (void)replace_file(place, answer, FileAccess::kOwnerOnly, "");
}

struct Probe {
  pid_t pid = 0;
  Descriptor output;
};

// In its own process group, so that its children end with it, and without input or output other
// than its answer.
std::optional<Probe> start_probe(const TorchQuestion& question) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  Probe probe{0, Descriptor(ends[0])};
  const Descriptor write_end(ends[1]);
  const std::string words[] = {question.program.string(), "doctor", "--probe-torch",
                               question.library.string(), question.torch_cpu.string()};
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, write_end.get(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const int error =
      posix_spawn(&probe.pid, arguments[0], &files, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return std::nullopt;
  return probe;
}

// Its output until it ends, detected by end of file, because the recorder's own waiting may take
// its exit status. Empty if it takes too long.
std::optional<std::string> hear(const Probe& probe, const std::atomic<bool>& stop) {
  std::string answer;
  const Steady::time_point until = Steady::now() + kTorchProbePatience;
  while (Steady::now() < until && !stop.load() && answer.size() < kMostAnswerBytes) {
    pollfd polled{probe.output.get(), POLLIN, 0};
    if (poll(&polled, 1, 50) <= 0) continue;
    char text[1024];
    const ssize_t got = read(probe.output.get(), text, sizeof text);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return answer;
    answer.append(text, static_cast<size_t>(got));
  }
  return std::nullopt;
}

}  // namespace

std::string build_id_of(const fs::path& file) {
  const Descriptor fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  const auto read_at = [&](uint64_t offset, void* to, size_t bytes) {
    return pread(fd.get(), to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  };
  Elf64_Ehdr header;
  if (!read_at(0, &header, sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) {
    return {};
  }
  for (unsigned i = 0; i < header.e_phnum && i < kMostSegments; ++i) {
    Elf64_Phdr segment;
    if (!read_at(header.e_phoff + i * sizeof segment, &segment, sizeof segment)) return {};
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMostNoteBytes) continue;
    std::vector<unsigned char> notes(segment.p_filesz);
    if (!read_at(segment.p_offset, notes.data(), notes.size())) return {};
    char hex[wire::kBuildIdHex];
    wire::read_build_id(notes.data(), notes.size(), hex, sizeof hex);
    if (hex[0] != '\0') return hex;
  }
  return {};
}

TorchVerdict judge_torch(const TorchQuestion& question, const std::atomic<bool>& stop) {
  if (access(question.library.c_str(), R_OK) != 0) {
    return {false, fmt::format("{} is not there", question.library.string())};
  }
  if (build_id_of(question.torch_cpu) != question.build_id) {
    return {false, fmt::format("the recorder sees another {}", question.torch_cpu.string())};
  }
  const fs::path place = place_of(question);
  if (std::optional<TorchVerdict> kept = kept_verdict(place)) return *std::move(kept);
  const std::optional<Probe> probe = start_probe(question);
  if (!probe) return {false, "the probe could not be started"};
  const std::optional<std::string> answer = hear(*probe, stop);
  if (!answer) kill(-probe->pid, SIGKILL);
  waitpid(probe->pid, nullptr, 0);
  if (!answer) {
    return {false, fmt::format("the probe gave no answer in {} s", kTorchProbePatience.count())};
  }
  std::optional<TorchVerdict> verdict = verdict_of(*answer);
  if (!verdict) return {false, "the probe ended without an answer"};
  if (!answer->starts_with(kTorchUnsure)) keep(place, *answer);
  return *std::move(verdict);
}

TorchVerdicts::~TorchVerdicts() {
  stop_ = true;
  for (Judged& judged : judged_) {
    if (judged.thread.joinable()) judged.thread.join();
  }
}

std::optional<TorchVerdict> TorchVerdicts::ask(const std::string& torch_cpu,
                                               const std::string& build_id) {
  const std::lock_guard lock(mutex_);
  for (const Judged& judged : judged_) {
    if (judged.build_id == build_id && judged.torch_cpu == torch_cpu) return judged.verdict;
  }
  Judged& judged = judged_.emplace_back(Judged{torch_cpu, build_id, std::nullopt, {}});
  try {
    judged.thread = std::thread([this, &judged] { judge(judged); });
  } catch (const std::system_error&) {
    judged.verdict = TorchVerdict{false, "there is no thread to probe it"};
  }
  return judged.verdict;
}

void TorchVerdicts::judge(Judged& judged) {
  TorchVerdict verdict =
      judge_torch({program_, library_, judged.torch_cpu, judged.build_id}, stop_);
  const std::lock_guard lock(mutex_);
  judged.verdict = std::move(verdict);
}

}  // namespace dprof::recorder
