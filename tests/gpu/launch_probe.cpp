// SPDX-License-Identifier: Apache-2.0
// What a launch costs the thread that makes it, by the CUDA driver alone: no torch, no toolkit.
//
//   launch_probe kinds --rounds N       a client of CUPTI's of its own, which asks for more and
//   more
//                                       kinds of records, in turn; JSON on stdout
//   launch_probe loop --seconds S --log FILE    launches, copies, events and graphs until the time
//   is
//                                       up; FILE gets a line for each burst
//
// `loop` is what the runner records with dprof, and switches on and off meanwhile. Exit code 77: no
// GPU. DPROF_CUPTI_LIBRARY names the libcupti of `kinds` (default: libcupti.so.13).
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "collector/inject/cuda/cupti_abi.h"
#include "tests/gpu/cuda_driver.h"

namespace {

namespace cupti = dprof::inject::cupti;
using cupti::ActivityKind;
using dprof::gpu::CudaDriver;
using dprof::gpu::kCudaSuccess;

constexpr int kNoGpu = 77;
constexpr int kBurst = 200;  // launches before the GPU is waited for: far from filling its queue
constexpr int kBursts = 20;  // of each variant and round
constexpr int kGraphNodes = 20;
constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr const char* kProgram =
    ".version 6.4\n.target sm_75\n.address_size 64\n.visible .entry nothing()\n{\n  ret;\n}\n";

uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

[[noreturn]] void give_up(const char* what, int code) {
  fprintf(stderr, "launch_probe: %s: %d\n", what, code);
  exit(1);
}

void need(const char* what, int code) {
  if (code != kCudaSuccess) give_up(what, code);
}

// The device, and what is launched on it.
struct Gpu {
  CudaDriver cuda{};
  void* function = nullptr;
  void* stream = nullptr;
  void* other_stream = nullptr;
  void* event = nullptr;
  uint64_t memory = 0;

  void launch() const {
    const int code = cuda.launch(function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
    if (code != kCudaSuccess) give_up("cuLaunchKernel", code);
  }
  void wait() const { need("cuStreamSynchronize", cuda.wait_for_stream(stream)); }

  [[nodiscard]] void* make_graph() const {
    constexpr int kThreadLocal = 1;
    need("cuStreamBeginCapture", cuda.begin_capture(stream, kThreadLocal));
    for (int i = 0; i < kGraphNodes; ++i) launch();
    void* graph = nullptr;
    need("cuStreamEndCapture", cuda.end_capture(stream, &graph));
    void* executable = nullptr;
    need("cuGraphInstantiate", cuda.instantiate(&executable, graph, 0));
    return executable;
  }
};

Gpu open_gpu() {
  Gpu gpu;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    fprintf(stderr, "launch_probe: no GPU: %s\n", dlerror());
    exit(kNoGpu);
  }
  dprof::gpu::for_each_function(gpu.cuda, [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr) give_up(name, -1);
  });
  int count = 0;
  if (gpu.cuda.init(0) != kCudaSuccess || gpu.cuda.device_count(&count) != kCudaSuccess ||
      count == 0) {
    fprintf(stderr, "launch_probe: no GPU: the driver shows none\n");
    exit(kNoGpu);
  }
  return gpu;
}

// After CUPTI's client has subscribed: its kinds must be on before there is a context.
void start_gpu(Gpu& gpu) {
  int device = 0;
  void* context = nullptr;
  void* module = nullptr;
  need("cuDeviceGet", gpu.cuda.device(&device, 0));
  need("cuDevicePrimaryCtxRetain", gpu.cuda.retain_context(&context, device));
  need("cuCtxSetCurrent", gpu.cuda.set_context(context));
  need("cuModuleLoadData", gpu.cuda.load_module(&module, kProgram));
  need("cuModuleGetFunction", gpu.cuda.get_function(&gpu.function, module, "nothing"));
  constexpr unsigned kNonBlocking = 1;
  constexpr unsigned kNoTiming = 2;
  need("cuStreamCreate", gpu.cuda.make_stream(&gpu.stream, kNonBlocking));
  need("cuStreamCreate", gpu.cuda.make_stream(&gpu.other_stream, kNonBlocking));
  need("cuEventCreate", gpu.cuda.make_event(&gpu.event, kNoTiming));
  need("cuMemAlloc", gpu.cuda.allocate(&gpu.memory, 4096));
  for (int i = 0; i < 10 * kBurst; ++i) {
    gpu.launch();
    if (i % kBurst == 0) gpu.wait();
  }
  gpu.wait();
}

double percentile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, at);
  return *at;
}

// --- A client of CUPTI's -------------------------------------------------------------------------

struct Counted {
  std::set<uint32_t> kernels, calls, externals;  // correlation ids
  size_t graphs = 0;
  size_t records = 0;
};
Counted counted;

struct Cupti {
  cupti::Result (*subscribe)(cupti::Subscriber*, cupti::Callback, void*);
  cupti::Result (*enable)(ActivityKind);
  cupti::Result (*disable)(ActivityKind);
  cupti::Result (*driver_api)(uint32_t, uint8_t);
  cupti::Result (*all_syncs)(uint8_t);
  cupti::Result (*callbacks)(cupti::RequestBuffer, cupti::CompleteBuffer);
  cupti::Result (*flush)(uint32_t);
  cupti::Result (*next)(uint8_t*, size_t, uint8_t**);
  cupti::Result (*push)(uint32_t, uint64_t);
  cupti::Result (*pop)(uint32_t, uint64_t*);
};
Cupti client;

template <typename Record>
Record read_as(const uint8_t* bytes) {
  Record record;
  memcpy(&record, bytes, sizeof record);
  return record;
}

void count_record(const uint8_t* bytes) {
  ++counted.records;
  switch (read_as<ActivityKind>(bytes)) {
    case ActivityKind::kConcurrentKernel:
      counted.kernels.insert(read_as<cupti::Kernel>(bytes).correlation);
      break;
    case ActivityKind::kDriver:
      counted.calls.insert(read_as<cupti::Api>(bytes).correlation);
      break;
    case ActivityKind::kExternalCorrelation:
      counted.externals.insert(read_as<cupti::External>(bytes).correlation);
      break;
    case ActivityKind::kGraphTrace:
      ++counted.graphs;
      break;
    default:
      break;
  }
}

void give_buffer(uint8_t** buffer, size_t* bytes, size_t* most) {
  *buffer = static_cast<uint8_t*>(aligned_alloc(8, kBufferBytes));
  *bytes = kBufferBytes;
  *most = 0;
  memset(*buffer, 0, kBufferBytes);
}

// CUPTI calls it on one thread at a time: the one that flushes.
void take_buffer(cupti::Context, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  uint8_t* record = nullptr;
  while (valid_bytes != 0 && client.next(buffer, valid_bytes, &record) == cupti::kSuccess) {
    count_record(record);
  }
  free(buffer);
}

void on_call(void*, uint32_t, uint32_t, const cupti::CallbackData*) {}

void open_client() {
  const char* path = getenv("DPROF_CUPTI_LIBRARY");
  void* library = dlopen(path != nullptr ? path : "libcupti.so.13", RTLD_NOW);
  if (library == nullptr) {
    fprintf(stderr, "launch_probe: no CUPTI: %s\n", dlerror());
    exit(1);
  }
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr) give_up(name, -1);
  };
  find("cuptiSubscribe", client.subscribe);
  find("cuptiActivityEnable", client.enable);
  find("cuptiActivityDisable", client.disable);
  find("cuptiActivityEnableDriverApi", client.driver_api);
  find("cuptiActivityEnableAllSyncRecords", client.all_syncs);
  find("cuptiActivityRegisterCallbacks", client.callbacks);
  find("cuptiActivityFlushAll", client.flush);
  find("cuptiActivityGetNextRecord", client.next);
  find("cuptiActivityPushExternalCorrelationId", client.push);
  find("cuptiActivityPopExternalCorrelationId", client.pop);
  cupti::Subscriber subscriber = nullptr;
  if (const auto code = client.subscribe(&subscriber, &on_call, nullptr)) {
    give_up("cuptiSubscribe", static_cast<int>(code));
  }
  client.callbacks(&give_buffer, &take_buffer);
}

// What a variant asks for: one more kind than the one before it.
struct Variant {
  const char* name;
  std::vector<ActivityKind> kinds;
  bool listed_calls = false;  // these functions of the driver only
  bool all_queries = false;
  bool flushing = false;  // another thread flushes 20 times a second meanwhile
};

const Variant kVariants[] = {
    {"nothing", {}},
    {"kernels", {ActivityKind::kConcurrentKernel}},
    {"kernels, listed calls",
     {ActivityKind::kConcurrentKernel, ActivityKind::kExternalCorrelation},
     true},
    {"kernels, listed calls, flushed", {ActivityKind::kConcurrentKernel}, true, false, true},
    {"kernels, all calls",
     {ActivityKind::kConcurrentKernel, ActivityKind::kDriver, ActivityKind::kRuntime}},
    {"kernels, listed calls, graphs whole",
     {ActivityKind::kConcurrentKernel, ActivityKind::kGraphTrace},
     true},
    {"kernels, listed calls, synchronisations",
     {ActivityKind::kConcurrentKernel, ActivityKind::kSynchronization},
     true},
    {"kernels, listed calls, synchronisations, queries",
     {ActivityKind::kConcurrentKernel, ActivityKind::kSynchronization},
     true,
     true},
};

void ask_for(const Variant& variant, bool on) {
  if (variant.listed_calls) {
    for (const uint32_t call : {cupti::driver::kLaunchKernel, cupti::driver::kLaunchKernelEx,
                                cupti::driver::kGraphLaunch}) {
      client.driver_api(call, on ? 1 : 0);
    }
  }
  client.all_syncs(variant.all_queries && on ? 1 : 0);
  for (const ActivityKind kind : variant.kinds) on ? client.enable(kind) : client.disable(kind);
}

struct Measured {
  std::vector<double> launch_ns, graph_ns, query_ns;  // means, one for each round
  std::vector<double> single_ns;                      // each launch
  std::vector<double> flush_us;
  size_t kernels = 0, joined = 0, external = 0, graphs = 0, launched = 0, graphs_launched = 0;
};

class Flusher {
 public:
  Flusher(bool on, std::vector<double>& flush_us) {
    if (!on) return;
    thread_ = std::thread([this, &flush_us] {
      while (!stop_.load(std::memory_order_relaxed)) {
        const uint64_t begin = now_ns();
        client.flush(0);
        flush_us.push_back(static_cast<double>(now_ns() - begin) * 1e-3);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
    });
  }
  ~Flusher() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

void measure_launches(const Gpu& gpu, Measured& measured) {
  double sum = 0;
  for (int burst = 0; burst < kBursts; ++burst) {
    uint64_t before = now_ns();
    for (int i = 0; i < kBurst; ++i) {
      gpu.launch();
      const uint64_t after = now_ns();
      measured.single_ns.push_back(static_cast<double>(after - before));
      sum += static_cast<double>(after - before);
      before = after;
    }
    gpu.wait();
  }
  measured.launch_ns.push_back(sum / (kBursts * kBurst));
  measured.launched += kBursts * kBurst;
}

void measure_graphs(const Gpu& gpu, Measured& measured) {
  void* graph = gpu.make_graph();  // after the kinds are on, as CUPTI wants it
  constexpr int kReplays = 100;
  uint64_t sum = 0;
  for (int i = 0; i < kReplays; ++i) {
    const uint64_t begin = now_ns();
    need("cuGraphLaunch", gpu.cuda.launch_graph(graph, gpu.stream));
    sum += now_ns() - begin;
    if (i % 10 == 9) gpu.wait();
  }
  gpu.cuda.destroy_executable(graph);
  measured.graph_ns.push_back(static_cast<double>(sum) / kReplays);
  measured.graphs_launched += kReplays;
}

void measure_queries(const Gpu& gpu, Measured& measured) {
  need("cuEventRecord", gpu.cuda.record_event(gpu.event, gpu.stream));
  gpu.wait();
  constexpr int kQueries = 2000;
  const uint64_t begin = now_ns();
  for (int i = 0; i < kQueries; ++i) gpu.cuda.query_event(gpu.event);
  measured.query_ns.push_back(static_cast<double>(now_ns() - begin) / kQueries);
}

void measure(const Gpu& gpu, const Variant& variant, Measured& measured) {
  ask_for(variant, true);
  counted = {};
  {
    const Flusher flusher(variant.flushing, measured.flush_us);
    measure_launches(gpu, measured);
  }
  measure_graphs(gpu, measured);
  measure_queries(gpu, measured);
  if (variant.kinds.size() > 1 && variant.kinds[1] == ActivityKind::kExternalCorrelation) {
    uint64_t last = 0;
    client.push(cupti::kExternalCustom2, 4711);
    gpu.launch();
    client.pop(cupti::kExternalCustom2, &last);
    gpu.wait();
    ++measured.launched;
  }
  const uint64_t begin = now_ns();
  client.flush(0);
  measured.flush_us.push_back(static_cast<double>(now_ns() - begin) * 1e-3);
  ask_for(variant, false);
  client.flush(cupti::kFlushForced);
  measured.kernels += counted.kernels.size();
  measured.graphs += counted.graphs;
  for (const uint32_t id : counted.kernels) measured.joined += counted.calls.count(id);
  for (const uint32_t id : counted.externals) measured.external += counted.kernels.count(id);
}

void print_list(const char* name, const std::vector<double>& values) {
  printf("\"%s\": [", name);
  for (size_t i = 0; i < values.size(); ++i) printf("%s%.1f", i == 0 ? "" : ", ", values[i]);
  printf("], ");
}

int measure_kinds(int rounds) {
  Gpu gpu = open_gpu();
  open_client();
  start_gpu(gpu);
  constexpr size_t kCount = std::size(kVariants);
  std::vector<Measured> all(kCount);
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < kCount; ++i) {
      const size_t at = (i + static_cast<size_t>(round)) % kCount;
      measure(gpu, kVariants[at], all[at]);
    }
  }
  printf("{\"variants\": {");
  for (size_t i = 0; i < kCount; ++i) {
    Measured& one = all[i];
    printf("%s\"%s\": {", i == 0 ? "" : ", ", kVariants[i].name);
    print_list("launch_ns", one.launch_ns);
    print_list("graph_ns", one.graph_ns);
    print_list("query_ns", one.query_ns);
    print_list("flush_us", one.flush_us);
    printf("\"p50_ns\": %.0f, \"p99_ns\": %.0f, \"longest_ns\": %.0f, ",
           percentile(one.single_ns, 0.5), percentile(one.single_ns, 0.99),
           percentile(one.single_ns, 1));
    printf("\"launched\": %zu, \"graphs_launched\": %zu, \"kernels\": %zu, \"joined\": %zu, ",
           one.launched, one.graphs_launched, one.kernels, one.joined);
    printf("\"external\": %zu, \"graphs\": %zu}", one.external, one.graphs);
  }
  printf("}}\n");
  return 0;
}

// --- A job to be recorded ------------------------------------------------------------------------

// A line: when the burst ended, and the mean and the longest of its launches, in ns.
int run_loop(double seconds, const char* log_path) {
  Gpu gpu = open_gpu();
  start_gpu(gpu);
  void* graph = gpu.make_graph();
  FILE* log = log_path[0] != '\0' ? fopen(log_path, "w") : nullptr;
  char data[4096] = {};
  const uint64_t end = now_ns() + static_cast<uint64_t>(seconds * 1e9);
  size_t bursts = 0;
  for (; now_ns() < end; ++bursts) {
    uint64_t before = now_ns();
    const uint64_t begin = before;
    uint64_t longest = 0;
    for (int i = 0; i < kBurst; ++i) {
      gpu.launch();
      const uint64_t after = now_ns();
      longest = std::max(longest, after - before);
      before = after;
    }
    const double mean = static_cast<double>(before - begin) / kBurst;
    need("cuMemcpyHtoDAsync", gpu.cuda.copy_to_device(gpu.memory, data, sizeof data, gpu.stream));
    need("cuEventRecord", gpu.cuda.record_event(gpu.event, gpu.stream));
    need("cuStreamWaitEvent", gpu.cuda.stream_wait_event(gpu.other_stream, gpu.event, 0));
    need("cuGraphLaunch", gpu.cuda.launch_graph(graph, gpu.other_stream));
    need("cuCtxSynchronize", gpu.cuda.wait_for_context());
    if (log == nullptr) continue;
    fprintf(log, "%llu %.1f %llu\n", static_cast<unsigned long long>(now_ns()), mean,  // NOLINT
            static_cast<unsigned long long>(longest));                                 // NOLINT
    fflush(log);
  }
  if (log != nullptr) fclose(log);
  printf("{\"bursts\": %zu, \"launches\": %zu, \"graphs\": %zu, \"nodes\": %d}\n", bursts,
         bursts * kBurst, bursts, kGraphNodes);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  int rounds = 10;
  double seconds = 1;
  const char* log = "";
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--rounds") rounds = atoi(argv[i + 1]);
    if (option == "--seconds") seconds = atof(argv[i + 1]);
    if (option == "--log") log = argv[i + 1];
  }
  if (mode == "kinds") return measure_kinds(rounds);
  if (mode == "loop") return run_loop(seconds, log);
  fprintf(stderr, "usage: launch_probe kinds [--rounds N] | loop [--seconds S] [--log FILE]\n");
  return 2;
}
