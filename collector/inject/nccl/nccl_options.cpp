// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/nccl/nccl_options.h"

#include <cstdio>
#include <cstring>
#include <iterator>

#include "collector/inject/nccl/nccl_abi.h"
#include "collector/inject/nccl/nccl_version.h"

namespace dprof::inject::nccl {
namespace {

// NCCL's releases from `first` up to, not including, `beyond`.
struct Fault {
  int first, beyond;
  const char* what;
};
constexpr Fault kChannelFaults[] = {
    {22700, 22800, "\"Proxy append out of bounds\" ends AlltoAll (NCCL issue 2039)"},
    {23000, 23004, "AlltoAll between hosts crashes (NCCL issue 2112)"},
};
constexpr Fault kProxyFaults[] = {
    {0, 22700, "steps of the proxy do not end (NCCL issue 1658)"},
};

struct Choice {
  const char* word;
  uint32_t mask;
  const Fault* faults;
  size_t fault_count;
};
constexpr Choice kChoices[] = {
    {"channels", event_type::kKernelCh, kChannelFaults, std::size(kChannelFaults)},
    {"proxy", event_type::kProxyOp | event_type::kProxyStep, kProxyFaults, std::size(kProxyFaults)},
};

const char* fault_of(const Choice& choice, int version) noexcept {
  if (version == kNotKnown) return "the version of this NCCL is not known";
  for (size_t i = 0; i < choice.fault_count; ++i) {
    const Fault& fault = choice.faults[i];
    if (version >= fault.first && version < fault.beyond) return fault.what;
  }
  return nullptr;
}

void append(Options& options, const char* before, const char* text, size_t length,
            const char* why) noexcept {
  const size_t used = strlen(options.source);
  snprintf(options.source + used, sizeof options.source - used, "; %s %.*s%s%s", before,
           static_cast<int>(length), text, why != nullptr ? ": " : "", why != nullptr ? why : "");
}

void take_wish(Options& options, const char* word, size_t length, int version) noexcept {
  for (const Choice& choice : kChoices) {
    if (strlen(choice.word) != length || memcmp(choice.word, word, length) != 0) continue;
    const char* fault = fault_of(choice, version);
    if (fault == nullptr) {
      options.mask |= choice.mask;
      append(options, "with", word, length, nullptr);
    } else {
      options.refused = true;
      append(options, "without", word, length, fault);
    }
    return;
  }
  options.refused = true;
  append(options, "without", word, length < 32 ? length : 32, "no such events");
}

}  // namespace

Options options_for(const char* wishes, int version) noexcept {
  Options options;
  snprintf(options.source, sizeof options.source, "on");
  while (wishes != nullptr && *wishes != '\0') {
    const size_t length = strcspn(wishes, ",");
    if (length > 0) take_wish(options, wishes, length, version);
    wishes += length;
    if (*wishes == ',') ++wishes;
  }
  return options;
}

}  // namespace dprof::inject::nccl
