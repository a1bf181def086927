// SPDX-License-Identifier: Apache-2.0
// Records a child that makes one NVTX range, the way a user would record a job, and reads the
// trace.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/format.h"
#include "collector/recorder/doctor/doctor_checks_internal.h"
#include "collector/recorder/doctor/doctor_child.h"
#include "schema/trace_reader.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;

constexpr char kRangeName[] = "dprof_doctor";
constexpr char kInjectionVariable[] = "NVTX_INJECTION64_PATH";

// --- The part of NVTX's header code that makes ranges ------------------------------------------

using Function = void (*)();
constexpr uint32_t kCallbacksTable = 1;
constexpr uint32_t kCoreModule = 1;
constexpr unsigned kCoreFunctions = 16;
constexpr unsigned kPush = 9, kPop = 11;

Function core[kCoreFunctions];
Function* core_slots[kCoreFunctions];

int module_table(uint32_t module, Function*** table, unsigned* size) {
  if (module != kCoreModule) return 0;
  *table = core_slots;
  *size = kCoreFunctions;
  return 1;
}

const void* export_table(uint32_t id) {
  struct Callbacks {
    size_t struct_size;
    int (*module_table)(uint32_t, Function***, unsigned*);
  };
  static constexpr Callbacks kCallbacks{sizeof kCallbacks, &module_table};
  return id == kCallbacksTable ? &kCallbacks : nullptr;
}

// --- The recording ------------------------------------------------------------------------------

// A folder that is removed with this object.
class Scratch {
 public:
  Scratch() {
    const char* base = std::getenv("TMPDIR");
    std::string name =
        fmt::format("{}/dprof-doctor-XXXXXX", base != nullptr && *base != '\0' ? base : "/tmp");
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Scratch() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// How many of the child's ranges the trace contains.
Result<int64_t> ranges_in(const fs::path& trace) {
  const Result<schema::TraceReader> reader = schema::TraceReader::open(trace);
  if (!reader.ok()) return fail(reader.error());
  int64_t found = 0;
  const Status read = reader->for_each<schema::HostRangeRow>([&](const schema::HostRangeRow& row) {
    found += reader->string(row.name_id) == kRangeName ? 1 : 0;
  });
  if (!read.ok()) return fail(read.error());
  return found;
}

}  // namespace

bool emit_range() {
  const char* path = std::getenv(kInjectionVariable);
  if (path == nullptr) return false;
  void* library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);  // the preload has loaded it
  if (library == nullptr) return false;
  using Initialize = int (*)(const void* (*)(uint32_t));
  const auto initialize = reinterpret_cast<Initialize>(dlsym(library, "InitializeInjectionNvtx2"));
  for (unsigned i = 0; i < kCoreFunctions; ++i) core_slots[i] = &core[i];
  if (initialize == nullptr || initialize(&export_table) != 1) return false;
  if (core[kPush] == nullptr || core[kPop] == nullptr) return false;
  reinterpret_cast<int (*)(const char*)>(core[kPush])(kRangeName);
  reinterpret_cast<int (*)()>(core[kPop])();
  return true;
}

Check check_self_test(const DoctorOptions& options) {
  Check check{kRecordingArea, "self-test", Ability::kNo, {}, {}, {}};
  check.meaning = "recording does not work here";
  const Scratch scratch;
  if (scratch.path().empty()) {
    check.found = fmt::format("no scratch folder: {}", std::strerror(errno));
    check.hint = "set TMPDIR to a folder that you may write to";
    return check;
  }
  const fs::path run = scratch.path() / "run";
  const auto begin = std::chrono::steady_clock::now();
  const std::string program = options.program.string();
  const Result<CommandAnswer> answer =
      ask_command({program, "record", "--cuda", "off", "-o", run.string(), "--", program, "doctor",
                   "--emit-range"});
  const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::steady_clock::now() - begin);
  if (!answer.ok() || answer->code != 0) {
    check.found = answer.ok()
                      ? fmt::format("a child under `dprof record` ended with {}", answer->code)
                      : answer.error().what;
    check.hint = fmt::format("see what this says: dprof record -- {} doctor --emit-range",
                             options.program.filename().string());
    return check;
  }
  const Result<int64_t> ranges = ranges_in(run / "rank-00000.dprof");
  if (!ranges.ok() || *ranges != 1) {
    check.found =
        ranges.ok() ? fmt::format("the child's range came {} times", *ranges) : ranges.error().what;
    check.hint = "is a preload forbidden (LD_PRELOAD in a set-uid or static program)?";
    return check;
  }
  check.state = Ability::kOk;
  check.meaning.clear();
  check.found = fmt::format("a preloaded child's range was recorded and read, in {}",
                            format_duration({took.count()}));
  return check;
}

}  // namespace dprof::recorder
