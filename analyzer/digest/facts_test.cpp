// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/digest/digest.h"
#include "analyzer/digest/test_support/gpu_trace.h"

namespace dprof::analyzer {
namespace {

using schema::RangeCategory;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::SizeIs;

constexpr int64_t kUs = 1000;

// A small trace of one rank with all sources of facts.
class FactsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto created = schema::TraceWriter::create(home_.path() / "rank-00000.dprof");
    ASSERT_TRUE(created.ok());
    writer_ = *std::move(created);
  }

  template <typename Row>
  void put(const Row& row) {
    ASSERT_TRUE(writer_->append(row).ok());
  }
  void range(int64_t begin, int64_t end, std::string_view name,
             RangeCategory category = RangeCategory::kUser) {
    put(schema::HostRangeRow{.id = ++id_,
                             .thread_id = 0,
                             .start_ns = begin * kUs,
                             .duration_ns = (end - begin) * kUs,
                             .name_id = writer_->intern(name),
                             .category = category});
  }
  void sample(int64_t at_us, std::string_view kind, std::optional<int64_t> subject, int64_t value) {
    put(schema::SystemSampleRow{++sample_, at_us * kUs, writer_->intern(kind), subject, value});
  }

  RankDigest digest(int64_t shift_ns = 0) {
    EXPECT_TRUE(writer_->finish().ok());
    TraceFile trace;
    trace.path = home_.path() / "rank-00000.dprof";
    trace.shift_ns = shift_ns;
    Result<RankDigest> digest = digest_rank(trace);
    EXPECT_TRUE(digest.ok()) << digest.error().what;
    return *std::move(digest);
  }
  Facts facts(int64_t shift_ns = 0) { return digest(shift_ns).facts; }

  test_support::TemporaryFolder home_;
  std::unique_ptr<schema::TraceWriter> writer_;
  int64_t id_ = 0;
  int64_t sample_ = 0;
};

TEST_F(FactsTest, SettingsOfMeta) {
  writer_->set_meta("detail", "full");
  writer_->set_meta("exit_status", "exit:0");
  writer_->set_meta("ddp",
                    R"({"find_unused_parameters":"true","buckets":[{"buckets":[
                        {"bytes":100,"parameters":6},{"bytes":50,"parameters":null},
                        {"bytes":20,"parameters":2}],"communicator_id":1}]})");
  const Facts read = facts();
  EXPECT_EQ(read.detail, "full");
  EXPECT_EQ(read.exit_status, "exit:0");
  EXPECT_EQ(read.find_unused, true);
  EXPECT_EQ(read.parameter_tensors, 8);
  EXPECT_FALSE(read.has_gpu);
}

TEST_F(FactsTest, SettingsThatMakeNoSense) {
  writer_->set_meta("ddp", R"({"buckets":[{"buckets":7},[],{"buckets":[3,{}]}]})");
  EXPECT_FALSE(facts().parameter_tensors.has_value());
}

TEST_F(FactsTest, Batches) {
  put(schema::LoaderEventRow{.id = 1,
                             .start_ns = 5 * kUs,
                             .duration_ns = 2 * kUs,
                             .queue_depth = 3,
                             .batch_shape = "8x3",
                             .index_hash = -4,
                             .epoch = 1});
  put(schema::LoaderEventRow{.id = 2, .start_ns = 15 * kUs, .batch_shape = "8x3"});
  put(schema::LoaderEventRow{.id = 3, .start_ns = 25 * kUs, .duration_ns = -5});
  const Facts read = facts(1000 * kUs);
  ASSERT_THAT(read.batches, SizeIs(3));
  EXPECT_EQ(read.batches[0].at.ns, 1005 * kUs) << "on the run's axis";
  EXPECT_EQ(read.batches[0].wait_ns, 2 * kUs);
  EXPECT_EQ(read.batches[0].hash, -4);
  EXPECT_EQ(read.batches[0].epoch, 1);
  EXPECT_THAT(read.shapes, SizeIs(1));
  EXPECT_EQ(read.batches[1].shape, 0);
  EXPECT_FALSE(read.batches[1].hash.has_value());
  EXPECT_FALSE(read.batches[2].wait_ns.has_value());
}

TEST_F(FactsTest, CallsCountOnce) {
  range(0, 10, "cudaStreamSynchronize", RangeCategory::kApi);
  range(1, 9, "cuStreamSynchronize", RangeCategory::kApi);  // within it
  range(20, 25, "cudaDeviceSynchronize", RangeCategory::kApi);
  range(30, 40, "aten::item", RangeCategory::kOp);
  range(31, 39, "aten::_local_scalar_dense", RangeCategory::kOp);
  range(50, 55, "torch.cuda.empty_cache");
  range(60, 65, "cudaFree", RangeCategory::kApi);
  const Facts read = facts();
  EXPECT_EQ(read.of(CallKind::kStreamSync).count, 1);
  EXPECT_EQ(read.of(CallKind::kStreamSync).total_ns, 10 * kUs);
  EXPECT_EQ(read.of(CallKind::kStreamSync).kept[0].row, 1);
  EXPECT_EQ(read.of(CallKind::kDeviceSync).count, 1);
  EXPECT_EQ(read.of(CallKind::kItem).count, 1);
  EXPECT_EQ(read.of(CallKind::kEmptyCache).count, 1);
  EXPECT_EQ(read.of(CallKind::kRelease).count, 1);
  EXPECT_EQ(read.of(CallKind::kAllocate).count, 0);
  EXPECT_TRUE(read.has_ops);
}

TEST_F(FactsTest, CopiesBetweenGradientsAndBuckets) {
  range(0, 10, "torch::distributed::reducer::mul_out", RangeCategory::kOp);
  range(20, 35, "torch.distributed.ddp.reducer::copy_bucket_to_grad", RangeCategory::kOp);
  const Facts read = facts();
  EXPECT_EQ(read.of(CallKind::kBucketCopy).count, 2);
  EXPECT_EQ(read.of(CallKind::kBucketCopy).total_ns, 25 * kUs);
  EXPECT_EQ(read.bucket_copies.count, 0) << "no device";
}

TEST_F(FactsTest, ViewsOfBucketsAreNotCopiedBack) {
  range(0, 10, "torch::distributed::reducer::mul_out", RangeCategory::kOp);  // the first step
  EXPECT_EQ(facts().of(CallKind::kBucketCopy).count, 0);
}

TEST(FactsOfGpu, WhatCopiesOfGradientsLaunch) {
  GpuTrace trace;
  trace.op(0, 10, 20, "torch.distributed.ddp.reducer::copy_bucket_to_grad");
  trace.activity(7, 30, 50, trace.launch(0, 12, 14), "elementwise");
  trace.activity(7, 60, 65, trace.launch(0, 15, 17, "cudaMemcpyAsync"), "Memcpy DtoD",
                 schema::GpuActivityKind::kMemcpyD2d);
  trace.activity(7, 70, 90, trace.launch(0, 21, 23), "gemm");
  trace.activity(7, 95, 99, trace.launch(1, 13, 15), "gemm");  // another thread's
  const Facts read = trace.digest().facts;
  EXPECT_EQ(read.bucket_copies.count, 2);
  EXPECT_EQ(read.bucket_copies.total_ns, 25 * kUs);
}

TEST_F(FactsTest, WhatIsLeftOfTheHostsMemory) {
  sample(0, "host.memory_available_bytes", {}, 900);
  sample(10, "host.memory_available_bytes", {}, 700);
  sample(10, "cgroup.memory_bytes", {}, 400);
  sample(10, "cgroup.memory_limit_bytes", {}, 1000);
  const Facts read = facts();
  EXPECT_EQ(read.host_memory.available_bytes, 700) << "the last sample";
  EXPECT_EQ(read.host_memory.bytes(), 600) << "the limit ends first";
  HostMemoryLeft unlimited = read.host_memory;
  unlimited.cgroup_limit_bytes.reset();
  EXPECT_EQ(unlimited.bytes(), 700);
  unlimited.available_bytes.reset();
  EXPECT_FALSE(unlimited.bytes().has_value());
}

TEST_F(FactsTest, ManyCallsAreThinnedOut) {
  const int64_t calls = 3 * static_cast<int64_t>(Calls::kMostKept);
  for (int64_t i = 0; i < calls; ++i)
    range(10 * i, 10 * i + 2, "cudaStreamSynchronize", RangeCategory::kApi);
  const Calls read = facts().of(CallKind::kStreamSync);
  EXPECT_EQ(read.count, calls);
  EXPECT_EQ(read.every, 4);
  EXPECT_EQ(static_cast<int64_t>(read.kept.size()) * read.every, calls);
}

TEST_F(FactsTest, LoadersSayWhetherTheyHaveWorkers) {
  range(0, 10, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
  range(20, 30, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
  const Facts read = facts();
  EXPECT_EQ(read.single_process_loads, 2);
  EXPECT_EQ(read.worker_loads, 0);
}

TEST_F(FactsTest, StepsThatTheScalerSkipped) {
  for (int64_t s = 0; s < 6; ++s) {
    const int64_t at = 100 * s;
    range(at, at + 50, "optimizer");
    range(at + 5, at + 10, "aten::_amp_update_scale_", RangeCategory::kOp);
    if (s != 2 && s != 3) range(at + 20, at + 25, "aten::add_", RangeCategory::kOp);
    range(at + 60, at + 65, "aten::add_", RangeCategory::kOp);  // outside of the optimizer: no
                                                                // parameter's
  }
  const Facts read = facts();
  EXPECT_EQ(read.of(CallKind::kScalerUpdate).count, 6);
  EXPECT_EQ(read.scaler_skips, 2);
}

TEST_F(FactsTest, BusyThreadsAndTheHost) {
  put(schema::ThreadRow{0, 100, {}, schema::ThreadRole::kMain});
  range(0, 1'000'000, "step");
  sample(0, "thread.cpu_ns", 100, 1'000);
  sample(900'000, "thread.cpu_ns", 100, 500'001'000);
  sample(0, "thread.run_queue_ns", 100, 0);
  sample(900'000, "thread.run_queue_ns", 100, 7'000);
  sample(900'000, "thread.cpu_ns", 200, 77'000'000);  // seen once: no difference
  sample(0, "host.load_1min_milli", {}, 2'000);
  sample(0, "gpu.uuid.GPU-7", {}, 3);
  sample(0, "gpu.power_mw", 3, 100'000);
  sample(900'000, "gpu.power_mw", 3, 300'000);
  sample(0, "gpu.power_limit_mw", 3, 700'000);
  const Facts read = facts();
  ASSERT_THAT(read.threads, SizeIs(1));
  EXPECT_EQ(read.threads[0].role, schema::ThreadRole::kMain);
  EXPECT_EQ(read.threads[0].cpu_ns, 500'000'000);
  EXPECT_EQ(read.threads[0].run_queue_ns, 7'000);
  EXPECT_EQ(read.load_1min_milli, 2'000);
  ASSERT_THAT(read.power, SizeIs(1));
  EXPECT_EQ(read.power[0].uuid, "GPU-7");
  EXPECT_EQ(read.power[0].power_mw, 200'000);
  EXPECT_EQ(read.power[0].limit_mw, 700'000);
}

TEST_F(FactsTest, EnergyOfGpusAndOfTheHost) {
  put(schema::ThreadRow{0, 100, {}, schema::ThreadRole::kMain});
  range(0, 1'000, "step");
  for (int64_t s = 0; s < 3; ++s) {
    const int64_t at = s * 1'000'000;
    sample(at, "gpu.energy_mj", 0, 70'000 + 300'000 * s);
    sample(at, "gpu.power_mw", 0, 300'000);
    sample(at, "gpu.power_mw", 1, 100'000 * (s + 1));  // it has no energy counter
    sample(at, "gpu.throttle_reasons_mask", 1, s == 2 ? 0x40 : 0);
    sample(at, "host.package_energy_uj", 0, 5'000 * s);
    sample(at, "host.package_energy_uj", 1, 900 + 1'000 * s);
  }
  const SystemDigest read = digest().system;
  ASSERT_THAT(read.gpus, SizeIs(2));
  EXPECT_EQ(read.gpus[0].energy_mj.back().value, 600'000);
  EXPECT_FALSE(read.gpus[0].energy_from_power);
  EXPECT_EQ(read.gpus[1].energy_mj.back().value, 150'000 + 250'000);
  EXPECT_TRUE(read.gpus[1].energy_from_power);
  EXPECT_EQ(read.gpus[1].throttled_mj, 250'000);
  EXPECT_EQ(read.gpus[0].throttled_mj, std::nullopt) << "it has no reasons";
  EXPECT_EQ(read.host_energy_uj.back().value, 12'000);
  EXPECT_DOUBLE_EQ(value_at(read.gpus[0].energy_mj, {1'500'000'000}), 450'000);
}

TEST(FactsOfGpus, KernelsByClassAndWhatTheirLaunchesShow) {
  GpuTrace trace;
  trace.range(0, 0, 1000, "step");
  trace.range(0, 500, 800, "optimizer");
  for (int64_t i = 0; i < 4; ++i) {
    trace.activity(7, 100 + 50 * i, 120 + 50 * i, trace.launch(0, 90 + 50 * i, 95 + 50 * i),
                   "ampere_sgemm_128x64_tn");
  }
  // A launch that returns only when its kernel is done.
  trace.activity(7, 510, 550, trace.launch(0, 505, 560), "multi_tensor_apply_kernel");
  auto& copy =
      trace.activity(7, 600, 640, trace.launch(0, 590, 645, "cudaMemcpyAsync"),
                     "Memcpy HtoD (Pageable -> Device)", schema::GpuActivityKind::kMemcpyH2d);
  copy.bytes = 1 << 20;
  const Facts facts = trace.digest().facts;
  EXPECT_TRUE(facts.has_gpu);
  EXPECT_EQ(facts.of(KernelClass::kMatrixFp32).count, 4);
  EXPECT_EQ(facts.of(KernelClass::kMatrixFp32).total_ns, 80 * kUs);
  EXPECT_EQ(facts.of(KernelClass::kOptimizer).count, 1);
  ASSERT_FALSE(facts.kernels.empty());
  EXPECT_EQ(facts.kernels[0].name, "ampere_sgemm_128x64_tn");
  EXPECT_EQ(facts.kernels[0].last.ns, 250 * kUs);
  EXPECT_EQ(facts.launches_sampled, 5);
  EXPECT_EQ(facts.launches_until_done, 1);
  EXPECT_EQ(facts.optimizer_phases, 1);
  EXPECT_EQ(facts.optimizer_launches, 1);
  EXPECT_EQ(facts.host_copies.pageable, 1);
  EXPECT_EQ(facts.host_copies.sampled, 1);
  EXPECT_EQ(facts.host_copies.held_host_up, 1);
  EXPECT_EQ(facts.kernel_ns.count(), 5);
  EXPECT_NEAR(facts.start_lag_ns.quantile(0.6), 5 * kUs, 100);
  ASSERT_THAT(facts.devices, SizeIs(1));
  EXPECT_EQ(facts.devices[0].kernels, 5);
}

TEST(FactsOfGpus, BackwardThatStarvesTheDevice) {
  GpuTrace trace;
  trace.range(0, 0, 1000, "step");
  trace.range(0, 100, 900, "backward");
  trace.op(0, 110, 380);
  trace.kernel(0, 7, 400, 450);
  trace.op(0, 460, 680);
  trace.kernel(0, 7, 700, 750);
  const Facts facts = trace.digest().facts;
  EXPECT_THAT(facts.backward_busy_ns, ElementsAre(100 * kUs));
  EXPECT_THAT(facts.backward_starved_ns, ElementsAre(Gt(200 * kUs)));
}

TEST(FactsTimes, EachCanBeMoved) {
  GpuTrace trace;
  trace.range(0, 0, 100, "step");
  trace.call(0, 10, 20, "cudaDeviceSynchronize");
  trace.kernel(0, 7, 30, 40);
  RankDigest digest = trace.digest();
  for_each_time(digest.facts, [](TraceNs& time) { time.ns += 5; });
  EXPECT_EQ(digest.facts.of(CallKind::kDeviceSync).kept[0].at.ns, 10 * kUs + 5);
  EXPECT_EQ(digest.facts.kernels[0].first.ns, 30 * kUs + 5);
}

}  // namespace
}  // namespace dprof::analyzer
