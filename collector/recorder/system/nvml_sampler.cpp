// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/system/nvml_sampler.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <system_error>

#include "collector/recorder/common/text.h"
#include "collector/recorder/system/proc_files.h"

namespace dprof::recorder {
namespace {

constexpr char kLibraryVariable[] = "DPROF_NVML_LIBRARY";
constexpr char kLibrary[] = "libnvidia-ml.so.1";
constexpr unsigned kMostDevices = 64;
constexpr int kRoundsToSilence = 10;
// How long the recorder waits at its end for a round in progress.
constexpr std::chrono::seconds kNvmlPatience{2};

struct Gpu {
  nvml::Device device = nullptr;
  int64_t index = 0;
  std::string_view uuid_kind;  // "" = it has none
};

std::string nvml_error_text(const nvml::Table& nvml, nvml::Return code) {
  const char* text = nvml.error_string != nullptr ? nvml.error_string(code) : nullptr;
  return fmt::format("NVML error {}{}{}", code, text != nullptr ? ": " : "",
                     text != nullptr ? clean_text(text) : "");
}

std::string_view uuid_kind(const nvml::Table& nvml, nvml::Device device, KindNames& names) {
  char uuid[nvml::kUuidBytes] = {};
  if (nvml.uuid == nullptr || nvml.uuid(device, uuid, sizeof uuid) != nvml::kSuccess) return {};
  uuid[sizeof uuid - 1] = '\0';
  return names.keep(fmt::format("gpu.uuid.{}", clean_text(uuid)));
}

// One reading of one GPU. Unsupported values are left out.
class Reading {
 public:
  Reading(const nvml::Table& nvml, const Gpu& gpu, int64_t time_ns, std::vector<Measured>& out)
      : nvml_(nvml), gpu_(gpu), time_ns_(time_ns), out_(out) {}

  void read_all() {
    read<unsigned>("gpu.sm_clock_mhz", nvml_.clock, nvml::kClockSm);
    read<unsigned>("gpu.memory_clock_mhz", nvml_.clock, nvml::kClockMemory);
    read<unsigned>("gpu.power_mw", nvml_.power);
    read<unsigned>("gpu.power_limit_mw", nvml_.power_limit);
    read<unsigned long long>("gpu.energy_mj", nvml_.energy);  // NOLINT
    read<unsigned>("gpu.temperature_c", nvml_.temperature, nvml::kTemperatureGpu);
    read<unsigned long long>("gpu.throttle_reasons_mask", nvml_.throttle_reasons);  // NOLINT
    read<unsigned long long>("gpu.ecc_uncorrected", nvml_.ecc_errors,               // NOLINT
                             nvml::kUncorrected, nvml::kVolatile);
    nvml::MemoryInfo memory{};
    if (nvml_.memory != nullptr && nvml_.memory(gpu_.device, &memory) == nvml::kSuccess) {
      put("gpu.memory_used_bytes", static_cast<int64_t>(memory.used));
      put("gpu.memory_total_bytes", static_cast<int64_t>(memory.total));
    }
    nvml::Utilization busy{};
    if (nvml_.utilization != nullptr && nvml_.utilization(gpu_.device, &busy) == nvml::kSuccess) {
      put("gpu.busy_percent", busy.gpu);
      put("gpu.memory_busy_percent", busy.memory);
    }
  }

 private:
  template <typename Value, typename Function, typename... Which>
  void read(std::string_view kind, Function function, Which... which) {
    Value value = 0;
    if (function == nullptr || function(gpu_.device, which..., &value) != nvml::kSuccess) return;
    put(kind, static_cast<int64_t>(value));
  }
  void put(std::string_view kind, int64_t value) {
    out_.emplace_back(SystemSample{time_ns_, kind, gpu_.index, value});
  }

  const nvml::Table& nvml_;
  const Gpu& gpu_;
  int64_t time_ns_;
  std::vector<Measured>& out_;
};

RecorderDiagnostic not_sampled(const std::string& why) {
  return {"not_sampled", 1, "GPU clocks, power and memory: " + why};
}

}  // namespace

// Shared by the sampler and its thread, which can outlive it.
struct NvmlSampler::Shared {
  explicit Shared(const RunClock& its_clock) : clock(its_clock) {}

  const RunClock clock;
  KindNames names;  // the thread's; others read the kept names

  std::mutex mutex;
  std::condition_variable wake, answered;
  bool asked = false;
  bool fresh = false;
  bool stop = false;
  bool busy = true;  // from its start, or a request, until it waits again
  std::vector<Measured> ready;
};

bool nvidia_driver_seems_loaded() {
  return access("/proc/driver/nvidia/version", F_OK) == 0 || access("/dev/nvidiactl", F_OK) == 0 ||
         access("/dev/nvidia0", F_OK) == 0;
}

Result<nvml::Table> load_nvml() {
  const char* named = std::getenv(kLibraryVariable);
  const char* path = named != nullptr && *named != '\0' ? named : kLibrary;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return fail(Code::kNotFound, clean_text(why != nullptr ? why : path));
  }
  nvml::Table table;
  std::string missing;
  nvml::for_each_function(table, [&](const char* name, bool needed, auto& entry) {
    entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(dlsym(library, name));
    if (entry == nullptr && needed && missing.empty()) missing = name;
  });
  if (missing.empty()) return table;
  return fail(Code::kUnsupported, fmt::format("{} has no {}", path, missing));
}

void NvmlSampler::run(const std::shared_ptr<Shared>& shared) {
  std::vector<Measured> found;
  std::vector<Gpu> gpus;
  const Result<nvml::Table> nvml = load_nvml();
  if (!nvml.ok()) {
    found.emplace_back(not_sampled(nvml.error().what));
  } else if (const nvml::Return code = nvml->init(); code != nvml::kSuccess) {
    found.emplace_back(not_sampled(nvml_error_text(*nvml, code)));
  } else {
    unsigned count = 0;
    if (nvml->device_count(&count) != nvml::kSuccess) count = 0;
    for (unsigned i = 0; i < std::min(count, kMostDevices); ++i) {
      Gpu gpu;
      gpu.index = i;
      if (nvml->device_by_index(i, &gpu.device) != nvml::kSuccess) continue;
      gpu.uuid_kind = uuid_kind(*nvml, gpu.device, shared->names);
      gpus.push_back(gpu);
    }
    if (gpus.empty()) found.emplace_back(not_sampled("NVML shows no device"));
  }
  std::unique_lock lock(shared->mutex);
  while (!shared->stop) {
    std::ranges::move(found, std::back_inserter(shared->ready));
    found.clear();
    shared->busy = false;
    shared->answered.notify_all();
    shared->wake.wait(lock, [&] { return shared->asked || shared->stop; });
    if (shared->stop) break;
    const bool fresh = std::exchange(shared->fresh, false);
    shared->asked = false;
    shared->busy = true;
    lock.unlock();
    for (const Gpu& gpu : gpus) {
      const int64_t now_ns = shared->clock.now().ns;
      if (fresh && !gpu.uuid_kind.empty()) {
        found.emplace_back(SystemSample{now_ns, gpu.uuid_kind, gpu.index, gpu.index});
      }
      Reading(*nvml, gpu, now_ns, found).read_all();
    }
    lock.lock();
  }
  shared->busy = false;
  shared->answered.notify_all();
}

// An exception from a library ends these samples, and nothing else.
void NvmlSampler::run_guarded(const std::shared_ptr<Shared>& shared) {
  try {
    run(shared);
  } catch (const std::exception& error) {
    const std::lock_guard lock(shared->mutex);
    shared->ready.emplace_back(not_sampled(error.what()));
    shared->busy = false;
    shared->answered.notify_all();
  }
}

void NvmlSampler::start() {
  started_ = true;
  const char* named = std::getenv(kLibraryVariable);
  if (!nvidia_driver_seems_loaded() && (named == nullptr || *named == '\0')) return;
  shared_ = std::make_shared<Shared>(clock_);
  try {
    thread_ = std::thread([shared = shared_] { run_guarded(shared); });
  } catch (const std::system_error& error) {
    const std::lock_guard lock(shared_->mutex);
    shared_->ready.emplace_back(not_sampled(fmt::format("no thread: {}", error.what())));
    shared_->busy = false;
  }
}

NvmlSampler::~NvmlSampler() {
  if (!shared_) return;
  std::unique_lock lock(shared_->mutex);
  shared_->stop = true;
  shared_->wake.notify_all();
  const bool ended =
      shared_->answered.wait_for(lock, kNvmlPatience, [this] { return !shared_->busy; });
  lock.unlock();
  if (ended) {
    if (thread_.joinable()) thread_.join();
  } else {
    thread_.detach();  // it hangs in the driver
  }
}

std::vector<Measured> NvmlSampler::take_measured(bool fresh) {
  if (!started_) start();
  if (!shared_) return {};
  std::vector<Measured> ready;
  const std::lock_guard lock(shared_->mutex);
  ready.swap(shared_->ready);
  shared_->fresh |= fresh;
  unanswered_rounds_ = shared_->busy ? unanswered_rounds_ + 1 : 0;
  if (!shared_->busy && !shared_->asked) {
    shared_->asked = true;
    shared_->wake.notify_all();
  }
  if (unanswered_rounds_ >= kRoundsToSilence && !silence_reported_) {
    silence_reported_ = true;
    ready.emplace_back(not_sampled("NVML does not answer; has a GPU failed?"));
  }
  return ready;
}

}  // namespace dprof::recorder
