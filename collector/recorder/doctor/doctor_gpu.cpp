// SPDX-License-Identifier: Apache-2.0
// Checks of NVIDIA's libraries, which are loaded in child processes only.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <sstream>

#include "collector/recorder/common/text.h"
#include "collector/recorder/doctor/doctor_checks_internal.h"
#include "collector/recorder/doctor/doctor_child.h"
#include "collector/recorder/system/nvml_sampler.h"
#include "collector/wire/cuda_places.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;

constexpr int kCuptiConcurrentKernel = 10;  // CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
constexpr int kNcclWithPlugin = 22600;      // 2.26: version 3 of the profiler plugin

template <typename Function>
Function library_function(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

// The path from which a library was loaded.
std::string path_of(void* library, const char* symbol) {
  Dl_info info{};
  const void* address = dlsym(library, symbol);
  if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  return info.dli_fname;
}

// `nvidia/*/lib/NAME` next to torch, the layout of the wheels.
std::vector<std::string> in_wheels(const FoundTorch& torch, const std::string& name) {
  std::vector<std::string> found;
  std::error_code error;
  if (torch.folder.empty()) return found;
  const fs::path wheels = torch.folder.parent_path() / "nvidia";
  for (fs::directory_iterator entry(wheels, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path library = entry->path() / "lib" / name;
    if (fs::exists(library, error)) found.push_back(library.string());
  }
  std::ranges::sort(found);
  return found;
}

void* first_that_loads(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

std::string ask_driver() {
  void* cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (cuda == nullptr) {
    const char* why = dlerror();
    return fmt::format("missing {}", why != nullptr ? why : "libcuda.so.1");
  }
  const auto init = library_function<int (*)(unsigned)>(cuda, "cuInit");
  const auto version = library_function<int (*)(int*)>(cuda, "cuDriverGetVersion");
  const auto count = library_function<int (*)(int*)>(cuda, "cuDeviceGetCount");
  const auto name = library_function<int (*)(char*, int, int)>(cuda, "cuDeviceGetName");
  if (init == nullptr || version == nullptr || count == nullptr) return "missing its functions";
  if (const int code = init(0); code != 0) return fmt::format("refused {}", code);
  int number = 0, devices = 0;
  version(&number);
  count(&devices);
  char text[128] = {};
  if (name != nullptr && devices > 0) name(text, sizeof text - 1, 0);
  return fmt::format("ok {} {} {}", number, devices, text);
}

std::string ask_cupti(const std::vector<std::string>& paths) {
  // The driver first: CUPTI looks for it itself, and some versions require it initialised.
  if (void* cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (const auto init = library_function<int (*)(unsigned)>(cuda, "cuInit")) init(0);
  }
  void* cupti = first_that_loads(paths);
  if (cupti == nullptr) return "missing";
  const auto version = library_function<int (*)(uint32_t*)>(cupti, "cuptiGetVersion");
  const auto enable = library_function<int (*)(int)>(cupti, "cuptiActivityEnable");
  if (version == nullptr || enable == nullptr) return "missing";
  uint32_t number = 0;
  version(&number);
  return fmt::format("ok {} {} {}", number, enable(kCuptiConcurrentKernel),
                     path_of(cupti, "cuptiGetVersion"));
}

std::string ask_nccl(const std::vector<std::string>& paths) {
  void* nccl = first_that_loads(paths);
  if (nccl == nullptr) return "missing";
  const auto version = library_function<int (*)(int*)>(nccl, "ncclGetVersion");
  int number = 0;
  if (version == nullptr || version(&number) != 0) return "missing";
  return fmt::format("ok {} {}", number, path_of(nccl, "ncclGetVersion"));
}

std::string ask_nvml() {
  const Result<nvml::Table> nvml = load_nvml();
  if (!nvml.ok()) return "missing " + nvml.error().what;
  if (const nvml::Return code = nvml->init(); code != nvml::kSuccess) {
    const char* text = nvml->error_string != nullptr ? nvml->error_string(code) : "";
    return fmt::format("refused {} {}", code, text != nullptr ? text : "");
  }
  unsigned devices = 0;
  nvml->device_count(&devices);
  return fmt::format("ok {}", devices);
}

// "ok 13000 2 NVIDIA H200": the first word, the requested numbers, the rest.
struct Answer {
  std::string word, rest;
  int64_t first = 0, second = 0;
};
// In the order of libdprof.so's search in a process with this torch.
std::vector<std::string> places_of_cupti(const FoundTorch& torch) {
  std::vector<std::string> paths;
  const auto add_folder = [&](const fs::path& folder) {
    for (const char* name : wire::kCuptiNames) paths.push_back((folder / name).string());
  };
  for (const wire::CuptiNeighbour& neighbour : wire::kCuptiNeighbours) {
    if (torch.folder.empty() || neighbour.library != std::string_view(wire::kTorchLibrary))
      continue;
    add_folder((torch.folder / "lib" / neighbour.folder).lexically_normal());
  }
  for (const char* name : wire::kCuptiNames) paths.emplace_back(name);
  for (const char* folder : wire::kToolkitFolders) add_folder(folder);
  return paths;
}

Answer parse_answer(const Result<std::string>& text, int numbers) {
  Answer answer;
  if (!text.ok()) return {"failed", text.error().what, 0, 0};
  std::istringstream words(*text);
  words >> answer.word;
  if (numbers > 0) words >> answer.first;
  if (numbers > 1) words >> answer.second;
  words >> std::ws;
  std::getline(words, answer.rest);
  answer.rest = clean_text(answer.rest);
  return answer;
}

}  // namespace

Check check_cuda_driver() {
  Check check{kGpuArea, "CUDA driver", Ability::kNo, {}, {}, {}};
  const Result<std::string> text = ask_child(&ask_driver);
  const std::string word = parse_answer(text, 0).word;
  if (word == "ok") {
    const Answer answer = parse_answer(text, 2);
    check.found = fmt::format(
        "CUDA {}.{}, {} device{}{}", answer.first / 1000, answer.first % 1000 / 10, answer.second,
        answer.second == 1 ? "" : "s", answer.rest.empty() ? "" : ": " + answer.rest);
    if (answer.second > 0) check.state = Ability::kOk;
  } else if (word == "refused") {
    check.found =
        fmt::format("libcuda.so.1 is there, but cuInit answers {}", parse_answer(text, 1).first);
  } else {
    check.found = word == "missing" ? "libcuda.so.1 cannot be loaded" : parse_answer(text, 0).rest;
  }
  if (check.state == Ability::kOk) return check;
  check.meaning = "jobs here run on the CPU: no kernels, copies or NCCL collectives to record";
  if (nvidia_driver_seems_loaded()) {
    check.hint =
        "the kernel's part of the driver is there: install libcuda of its version, or give the container its GPUs";
  }
  return check;
}

Check check_cupti(const FoundTorch& torch, const Check& driver) {
  Check check{kGpuArea, "CUPTI", Ability::kNo, {}, {}, {}};
  const Result<std::string> text =
      ask_child([paths = places_of_cupti(torch)] { return ask_cupti(paths); });
  const std::string word = parse_answer(text, 0).word;
  if (word != "ok") {
    check.found = word == "missing" ? "no libcupti.so.13 or .12" : parse_answer(text, 0).rest;
    check.meaning = "no kernels, copies or CUDA calls in the traces";
    check.hint = "install the wheel nvidia-cuda-cupti, or CUDA's CUPTI, of the driver's version";
    return check;
  }
  const Answer answer = parse_answer(text, 2);
  check.found = fmt::format("version {}, {}", answer.first, answer.rest);
  if (answer.second == 0 && driver.state == Ability::kOk) {
    check.state = Ability::kOk;
  } else if (driver.state != Ability::kOk) {
    check.meaning = fmt::format("without a driver it refuses ({})", answer.second);
  } else {
    check.meaning = fmt::format("it refuses to record kernels: error {}", answer.second);
    check.hint = "is another profiler active? does the driver fit this CUPTI?";
  }
  return check;
}

Check check_nccl(const FoundTorch& torch) {
  Check check{kGpuArea, "NCCL", Ability::kNo, {}, {}, {}};
  std::vector<std::string> paths = in_wheels(torch, "libnccl.so.2");  // torch's own first
  paths.emplace_back("libnccl.so.2");
  const Result<std::string> text = ask_child([&] { return ask_nccl(paths); });
  const std::string word = parse_answer(text, 0).word;
  if (word != "ok") {
    check.found = word == "missing" ? "no libnccl.so.2" : parse_answer(text, 0).rest;
    check.meaning = "no NCCL collectives here; those of Gloo are recorded by PyTorch's part";
    return check;
  }
  const Answer answer = parse_answer(text, 1);
  check.found = fmt::format("{}.{}.{}, {}", answer.first / 10000, answer.first / 100 % 100,
                            answer.first % 100, answer.rest);
  check.state = Ability::kOk;
  if (answer.first >= kNcclWithPlugin) return check;
  check.state = Ability::kLimited;
  check.meaning = "collectives come from its NVTX ranges: no algorithm, no channels";
  check.hint = "use NCCL 2.26 or later";
  return check;
}

Check check_nvml() {
  Check check{kGpuArea, "NVML", Ability::kNo, {}, {}, {}};
  const Result<std::string> text = ask_child(&ask_nvml);
  const std::string word = parse_answer(text, 0).word;
  if (word == "ok") {
    const Answer answer = parse_answer(text, 1);
    check.found = fmt::format("{} device{}", answer.first, answer.first == 1 ? "" : "s");
    if (answer.first > 0) check.state = Ability::kOk;
  } else if (word == "refused") {
    const Answer answer = parse_answer(text, 1);
    check.found = fmt::format("it answers {} {}", answer.first, answer.rest);
  } else {
    check.found =
        word == "missing" ? "libnvidia-ml.so.1 cannot be loaded" : parse_answer(text, 0).rest;
  }
  if (check.state == Ability::kOk) return check;
  check.meaning = "no GPU clocks, power, temperature, throttle reasons";
  if (nvidia_driver_seems_loaded()) check.hint = "install libnvidia-ml of the driver's version";
  return check;
}

}  // namespace dprof::recorder
