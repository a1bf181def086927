// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/nccl/nccl_source.h"

#include <link.h>

#include <cstdio>

#include "collector/inject/nccl/communicators.h"
#include "collector/inject/nccl/nccl_version.h"
#include "collector/inject/session.h"

namespace dprof::inject {
namespace {

// Owned by the helper thread.
struct Watch {
  unsigned long long objects_seen = 0;
  bool settled = false;
};
constinit Watch watch;

void apply(uint32_t mask, wire::DetailLevel) noexcept { nccl::switch_to((mask & kMaskNccl) != 0); }

int look_at_counter(dl_phdr_info* info, size_t, void* data) noexcept {
  *static_cast<unsigned long long*>(data) = info->dlpi_adds;
  return 1;
}

// Notes the version of a mapped libnccl, even if it never asks for the plugin. Looks again only
// after a library was loaded.
void look_for_nccl() noexcept {
  unsigned long long objects_added = 0;
  dl_iterate_phdr(&look_at_counter, &objects_added);
  if (objects_added == watch.objects_seen) return;
  watch.objects_seen = objects_added;
  const int version = nccl::version_of(nullptr);
  if (version == nccl::kNotKnown) return;
  watch.settled = true;
  char number[nccl::kVersionBytes];
  nccl::version_text(version, number);
  set_fact(wire::Fact::kNcclVersion, number);
  char why[128];
  if (version >= nccl::kFirstUsable) {
    snprintf(why, sizeof why, "off: NCCL %s is loaded, but made no communicator", number);
  } else {
    snprintf(why, sizeof why, "off: NCCL %s has no profiler plugin that dprof knows", number);
    add_remark(wire::Remark::kNcclTooOld);
  }
  nccl::set_source_unless_used(why);
}

uint64_t serve(uint64_t) noexcept {
  if (!watch.settled) look_for_nccl();
  nccl::announce_missed();
  return kNoHurry;
}

}  // namespace

constinit const SourceHooks kNcclHooks = {&apply, &serve, nullptr, nullptr, nullptr};

}  // namespace dprof::inject
