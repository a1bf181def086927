// SPDX-License-Identifier: Apache-2.0
#include "bench/analyzer_trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "schema/trace_writer.h"

namespace dprof::bench {
namespace {

using schema::RangeCategory;

constexpr int64_t kMain = 1;
constexpr int64_t kDevice = 0;
constexpr int64_t kComputeStream = 1;
constexpr int64_t kNcclStream = 2;
constexpr int64_t kOpNs = 20'000;  // an outermost operator on the host
constexpr int64_t kGapNs = 2'000;  // until the next one
constexpr int64_t kKernelNs = 18'000;
constexpr int64_t kLaunchNs = 4'000;
constexpr int64_t kOpsPerPhase = 600;  // forward; as many in backward, a fifth in the optimizer
constexpr int64_t kCollectives = 4;    // per step
constexpr int64_t kRowsPerOp = 5;

class Writer {
 public:
  explicit Writer(schema::TraceWriter& writer) : writer_(writer) {}

  Result<int64_t> run(int64_t rows) {
    dictionaries();
    const int64_t ops = 2 * kOpsPerPhase + kOpsPerPhase / 5;
    const int64_t steps = std::max<int64_t>(5, rows / (ops * kRowsPerOp));
    for (int64_t s = 0; s < steps && status_.ok(); ++s) step(s);
    if (!status_.ok()) return fail(status_.error());
    for (const auto& [key, value] : {std::pair{"rank", "0"},
                                     {"world_size", "1"},
                                     {"host", "bench"},
                                     {"ended", "complete"},
                                     {"clock_id", "bench/0/0"},
                                     {"detail", "standard"}})
      writer_.set_meta(key, value);
    return rows_;
  }

 private:
  template <typename Row>
  void append(const Row& row) {
    if (status_.ok()) status_ = writer_.append(row);
  }

  void dictionaries() {
    append(schema::ThreadRow{.id = kMain, .os_tid = 1000, .role = schema::ThreadRole::kMain});
    status_ = writer_.set_device({.id = kDevice});
    for (const int64_t stream : {kComputeStream, kNcclStream}) {
      if (status_.ok())
        status_ = writer_.set_stream({.id = stream, .device_id = kDevice, .cuda_stream = stream});
    }
    append(schema::CommunicatorRow{.id = 1,
                                   .hash = 77,
                                   .backend = schema::Backend::kNccl,
                                   .size = 1,
                                   .own_rank = 0,
                                   .name_id = writer_.intern("default_pg")});
  }

  void range(int64_t begin, int64_t length, std::string_view name, RangeCategory category,
             std::optional<int64_t> correlation = {}) {
    append(schema::HostRangeRow{.id = ++range_id_,
                                .thread_id = kMain,
                                .start_ns = begin,
                                .duration_ns = length,
                                .name_id = writer_.intern(name),
                                .category = category,
                                .correlation = correlation});
    ++rows_;
  }

  void op(int64_t number, RangeCategory outermost) {
    static constexpr std::string_view kOuter[] = {"aten::linear", "aten::conv2d", "aten::relu",
                                                  "aten::layer_norm"};
    static constexpr std::string_view kInner[] = {"aten::addmm", "aten::convolution",
                                                  "aten::clamp_min", "aten::native_layer_norm"};
    static constexpr std::string_view kKernels[] = {"gemm_128x128", "implicit_convolve",
                                                    "elementwise", "vectorized_layer_norm"};
    const auto kind = static_cast<size_t>(number % 4);
    range(now_, kOpNs, kOuter[kind], outermost);
    range(now_ + 1'000, kOpNs - 2'000, kInner[kind], RangeCategory::kOp);
    range(now_ + 2'000, kOpNs - 4'000, "aten::empty", RangeCategory::kOp);
    const int64_t launch = now_ + 5'000;
    range(launch, kLaunchNs, "cudaLaunchKernel", RangeCategory::kApi, ++correlation_);
    device_free_ = std::max(device_free_, launch + kLaunchNs);
    append(schema::GpuActivityRow{.id = ++activity_id_,
                                  .device_id = kDevice,
                                  .stream_id = kComputeStream,
                                  .start_ns = device_free_,
                                  .duration_ns = kKernelNs,
                                  .name_id = writer_.intern(kKernels[kind]),
                                  .kind = schema::GpuActivityKind::kKernel,
                                  .correlation = correlation_});
    ++rows_;
    device_free_ += kKernelNs + 500;
    now_ += kOpNs + kGapNs;
  }

  void collective(int64_t bucket) {
    const int64_t start = std::max(device_free_, now_ + 10'000);
    const int64_t end = start + 300'000;
    append(schema::CollectiveRow{.id = ++collective_id_,
                                 .communicator_id = 1,
                                 .function = schema::Function::kAllReduce,
                                 .sequence = collective_id_ - 1,
                                 .bytes = 4'000'000 + bucket,
                                 .dtype = schema::DataType::kFloat32,
                                 .enqueue_ns = now_,
                                 .start_ns = start,
                                 .end_ns = end,
                                 .state = schema::CollectiveState::kComplete,
                                 .stream_id = kNcclStream,
                                 .bucket = bucket,
                                 .enqueue_thread_id = kMain});
    append(
        schema::GpuActivityRow{.id = ++activity_id_,
                               .device_id = kDevice,
                               .stream_id = kNcclStream,
                               .start_ns = start,
                               .duration_ns = end - start,
                               .name_id = writer_.intern("ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
                               .kind = schema::GpuActivityKind::kKernel});
    rows_ += 2;
  }

  void phase(std::string_view name, int64_t ops, RangeCategory outermost, bool reduces) {
    range(now_, ops * (kOpNs + kGapNs), name, RangeCategory::kUser);
    for (int64_t i = 0; i < ops; ++i) {
      op(i, outermost);
      if (reduces && (i + 1) % (ops / kCollectives) == 0)
        collective((i + 1) / (ops / kCollectives) - 1);
    }
  }

  void step(int64_t index) {
    const int64_t ops = 2 * kOpsPerPhase + kOpsPerPhase / 5;
    const int64_t length = ops * (kOpNs + kGapNs);
    append(schema::StepRow{.step_index = index,
                           .start_ns = now_,
                           .end_ns = now_ + length,
                           .source = schema::StepSource::kMarker});
    range(now_, length, "step", RangeCategory::kUser);
    phase("forward", kOpsPerPhase, RangeCategory::kOp, false);
    phase("backward", kOpsPerPhase, RangeCategory::kAutograd, true);
    phase("optimizer", kOpsPerPhase / 5, RangeCategory::kOp, false);
  }

  schema::TraceWriter& writer_;
  Status status_ = Done{};
  int64_t rows_ = 0;
  int64_t now_ = 1'000'000;
  int64_t device_free_ = 0;
  int64_t range_id_ = 0;
  int64_t activity_id_ = 0;
  int64_t collective_id_ = 0;
  int64_t correlation_ = 0;
};

}  // namespace

Result<int64_t> write_large_trace(const std::filesystem::path& path, int64_t rows) {
  Result<std::unique_ptr<schema::TraceWriter>> created = schema::TraceWriter::create(path);
  if (!created.ok()) return fail(created.error());
  const Result<int64_t> written = Writer(**created).run(rows);
  if (!written.ok()) return fail(written.error());
  const Result<bool> finished = (*created)->finish();
  if (!finished.ok()) return fail(finished.error());
  return *written;
}

}  // namespace dprof::bench
