// SPDX-License-Identifier: Apache-2.0
// Version 5, NCCL 2.28.
#include "collector/inject/nccl/plugin_common.h"
#include "collector/inject/nccl/plugin_tables.h"

namespace dprof::inject::nccl {
namespace {

int init(void** context, uint64_t hash, int* mask, const char* name, int nodes, int ranks, int rank,
         Logger) noexcept {
  void* made = open({.hash = hash,
                     .name = name,
                     .ranks = ranks,
                     .rank = rank,
                     .nodes = nodes,
                     .plugin_version = 5,
                     .caller = __builtin_return_address(0)},
                    mask);
  if (context != nullptr) *context = made;
  return kSuccess;
}

}  // namespace
}  // namespace dprof::inject::nccl

constinit const dprof::inject::nccl::ProfilerV5 ncclProfiler_v5 = {
    dprof::inject::nccl::kPluginName,
    &dprof::inject::nccl::init,
    &dprof::inject::nccl::start_event<
        &dprof::inject::nccl::start_common<dprof::inject::nccl::EventV5>,
        dprof::inject::nccl::EventV5>,
    &dprof::inject::nccl::stop_event,
    &dprof::inject::nccl::record_state<dprof::inject::nccl::StateArgsV5>,
    &dprof::inject::nccl::finalize};
