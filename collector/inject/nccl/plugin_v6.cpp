// SPDX-License-Identifier: Apache-2.0
// Version 6, NCCL 2.29 and 2.30: adds collectives of the copy engines. NCCL sends them only on
// request, which dprof does not make; any that arrive are recorded.
#include "collector/inject/nccl/plugin_common.h"
#include "collector/inject/nccl/plugin_tables.h"
#include "collector/wire/nccl_records.h"

namespace dprof::inject::nccl {
namespace {

int init(void** context, uint64_t hash, int* mask, const char* name, int nodes, int ranks, int rank,
         Logger) noexcept {
  void* made = open({.hash = hash,
                     .name = name,
                     .ranks = ranks,
                     .rank = rank,
                     .nodes = nodes,
                     .plugin_version = 6,
                     .caller = __builtin_return_address(0)},
                    mask);
  if (context != nullptr) *context = made;
  return kSuccess;
}

void* start_any(void* context, const EventV6& event) noexcept {
  if (event.type != event_type::kCeColl) return start_common(context, event);
  const CeCollV6& coll = event.ce_coll;
  return start_collective(context, {event.parent, wire::kNoSequence, coll.function, coll.data_type,
                                    coll.count, coll.root, 0, 0, "CE", coll.synchronization});
}

}  // namespace
}  // namespace dprof::inject::nccl

constinit const dprof::inject::nccl::ProfilerV6 ncclProfiler_v6 = {
    dprof::inject::nccl::kPluginName,
    &dprof::inject::nccl::init,
    &dprof::inject::nccl::start_event<&dprof::inject::nccl::start_any,
                                      dprof::inject::nccl::EventV6>,
    &dprof::inject::nccl::stop_event,
    &dprof::inject::nccl::record_state<dprof::inject::nccl::StateArgsV6>,
    &dprof::inject::nccl::finalize};
