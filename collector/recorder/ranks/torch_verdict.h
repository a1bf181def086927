// SPDX-License-Identifier: Apache-2.0
// Whether libdprof_torch.so can read a LibTorch whose build is not known. Another process tries it,
// as it may crash or hang there; what it answered is kept by build id in $XDG_CACHE_HOME/dprof.
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

// What is asked, and who is.
struct TorchQuestion {
  std::filesystem::path program;    // dprof
  std::filesystem::path library;    // libdprof_torch.so
  std::filesystem::path torch_cpu;  // libtorch_cpu.so
  std::string build_id;             // of it, as the process that has it mapped says
};

inline constexpr std::chrono::seconds kTorchProbePatience{30};

// The kept verdict, or that of `program doctor --probe-torch LIBRARY TORCH_CPU`, which is kept if
// it is certain. Gives up once `stop` is true.
//
// Threading  any thread.
[[nodiscard]] TorchVerdict judge_torch(const TorchQuestion& question,
                                       const std::atomic<bool>& stop);

// What that command prints, of the sentence that the library's own probe answered: a word and, but
// for "fits", a blank and why not.
inline constexpr std::string_view kTorchFits = "fits";
inline constexpr std::string_view kTorchDiffers = "differs";  // for good: it is kept
inline constexpr std::string_view kTorchUnsure = "unsure";    // nobody could look

// The GNU build id in an ELF file, "" when there is none: nothing is loaded, nothing trusted.
[[nodiscard]] std::string build_id_of(const std::filesystem::path& file);

// The verdicts of a recording: each build is judged once, and nobody waits for it.
//
// Threading  any thread. The destructor ends the probes that still run.
class TorchVerdicts {
 public:
  TorchVerdicts(std::filesystem::path program, std::filesystem::path library)
      : program_(std::move(program)), library_(std::move(library)) {}
  ~TorchVerdicts();

  // Empty until it is there: ask again.
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
