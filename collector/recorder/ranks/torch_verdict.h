// SPDX-License-Identifier: Apache-2.0
// Decides if libdprof_torch.so can read a LibTorch of unknown build. Another process tries it,
// because it can crash or hang there; its answer is cached by build id in $XDG_CACHE_HOME/dprof.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace dprof::recorder {

struct TorchVerdict {
  bool fits = false;
  std::string why_not;  // one clause
};

// The question, and the files involved.
struct TorchQuestion {
  std::filesystem::path program;    // dprof
  std::filesystem::path library;    // libdprof_torch.so
  std::filesystem::path torch_cpu;  // libtorch_cpu.so
  std::string build_id;             // of torch_cpu, as reported by the process that has it mapped
};

inline constexpr std::chrono::seconds kTorchProbePatience{30};

// The cached verdict, or that of `program doctor --probe-torch LIBRARY TORCH_CPU`, which is cached
// if it is certain. Gives up once `stop` is true.
//
// Threading  any thread.
[[nodiscard]] TorchVerdict judge_torch(const TorchQuestion& question,
                                       const std::atomic<bool>& stop);

// The output of that command, from the sentence of the library's own probe: a word and, except for
// "fits", a blank and the reason.
inline constexpr std::string_view kTorchFits = "fits";
inline constexpr std::string_view kTorchDiffers = "differs";  // for good: it is cached
inline constexpr std::string_view kTorchUnsure = "unsure";    // the probe could not be made

// The GNU build id in an ELF file, "" if there is none: loads nothing, trusts nothing.
[[nodiscard]] std::string build_id_of(const std::filesystem::path& file);

// The verdicts of a recording: each build is judged once, without blocking a caller.
//
// Threading  any thread. The destructor ends the probes that still run.
class TorchVerdicts {
 public:
  TorchVerdicts(std::filesystem::path program, std::filesystem::path library)
      : program_(std::move(program)), library_(std::move(library)) {}
  ~TorchVerdicts();

  // Empty until it is known: ask again.
  [[nodiscard]] std::optional<TorchVerdict> ask(const std::string& torch_cpu,
                                                const std::string& build_id);

 private:
  struct Judged {
    std::string torch_cpu;
    std::string build_id;
    std::optional<TorchVerdict> verdict;
    std::thread thread;
  };
  void judge(Judged& judged);

  std::filesystem::path program_;
  std::filesystem::path library_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;  // judged_, and the verdicts in it
  std::list<Judged> judged_;
};

}  // namespace dprof::recorder
