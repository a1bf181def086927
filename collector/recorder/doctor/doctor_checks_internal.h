// SPDX-License-Identifier: Apache-2.0
// The parts of `dprof doctor`, one function for each subject.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collector/recorder/common/clock.h"
#include "collector/recorder/doctor/doctor.h"

namespace dprof::recorder {

inline constexpr char kRecordingArea[] = "Recording";
inline constexpr char kTorchArea[] = "PyTorch";
inline constexpr char kGpuArea[] = "GPU";
inline constexpr char kSystemArea[] = "System";
inline constexpr char kJobArea[] = "Job";

// doctor_machine.cpp
[[nodiscard]] Check check_clock(const RunClock& clock);
[[nodiscard]] Check check_record_cost(const RunClock& clock);
[[nodiscard]] Check check_shared_memory();
[[nodiscard]] Check check_process_handles();
[[nodiscard]] Check check_limits();
[[nodiscard]] Check check_memory();
[[nodiscard]] Check check_folder(const std::filesystem::path& folder);
[[nodiscard]] Check check_thread_times();
[[nodiscard]] Check check_network_counters();

// Records a child of the program itself. doctor_self_check.cpp
[[nodiscard]] Check check_self_test(const DoctorOptions& options);

// Python's torch, as far as it can be examined without loading it.
struct FoundTorch {
  std::filesystem::path folder;  // …/site-packages/torch; empty = none
  std::filesystem::path other;   // a second one, later in sys.path
  std::string version, build_id;
  std::string why_not;  // why `folder` is empty
};
// doctor_torch.cpp
[[nodiscard]] FoundTorch find_torch();
[[nodiscard]] Check check_library(const DoctorOptions& options);
[[nodiscard]] Check check_torch_library(const DoctorOptions& options);
[[nodiscard]] Check check_torch(const DoctorOptions& options, const FoundTorch& torch,
                                const Check& torch_library);

// doctor_gpu.cpp
[[nodiscard]] Check check_cuda_driver();
[[nodiscard]] Check check_cupti(const FoundTorch& torch, const Check& driver);
[[nodiscard]] Check check_nccl(const FoundTorch& torch);
[[nodiscard]] Check check_nvml();

// doctor_job.cpp
[[nodiscard]] Check check_other_tools();
[[nodiscard]] Check check_launchers();
// The first file of that name in a search path like $PATH; empty = none.
[[nodiscard]] std::filesystem::path find_program(std::string_view search_path,
                                                 std::string_view name);

}  // namespace dprof::recorder
