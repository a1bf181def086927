// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/torch/torch_layout.h"

#include <c10/core/UndefinedTensorImpl.h>

#include <iterator>

#include "collector/inject/torch/process_groups.h"

// 2.6 has no such function.
extern "C" [[gnu::weak]] uint64_t aoti_torch_abi_version();

namespace dprof::inject::torch_source {

namespace {

// Read from the headers of each release (docs/design/torch_releases.md). In RecordFunction and
// ProcessGroup a std::string precedes the fields that are read.
constexpr uint32_t kSequence = 200;
constexpr uint32_t kInputs = 208;
constexpr uint32_t kOldStringIsShorter = 24;

constexpr TorchLayout kLayouts[] = {
    {6, 64, 160, 168, 170, 176, 13, 19, 1 << 27, 248, 0, 0, 35, 19},
    {7, 64, 160, 168, 170, 176, 13, 19, 1 << 27, 248, 0, 0, 35, 19},
    {8, 64, 160, 168, 170, 176, 13, 19, 1 << 27, 248, 0, 0, 38, 19},
    {9, 64, 160, 168, 170, 176, 14, 20, 1 << 27, 256, 10, 88, 39, 9},
    {10, 64, 160, 168, 170, 176, 14, 20, 1 << 27, 248, 15, 88, 44, 9},
    {11, 64, 160, 168, 170, 176, 14, 20, 1 << 27, 248, 15, 120, 44, 9},
    {12, 64, 160, 168, 170, 176, 14, 20, 1 << 27, 248, 15, 120, 46, 9},
    {13, 56, 152, 160, 162, 168, 14, 20, 1 << 28, 248, 15, 120, 48, 9},
    {14, 56, 152, 160, 162, 168, 14, 20, 1 << 28, 248, 23, 120, 50, 9},
    {15, 56, 152, 160, 162, 168, 14, 20, 1 << 28, 248, 30, 120, 50, 9},
};

}  // namespace

constinit TorchLayout layout = {};

uint32_t torch_minor() noexcept {
  if (aoti_torch_abi_version == nullptr) return kLayouts[0].minor;
  const uint64_t version = aoti_torch_abi_version();
  return version >> 56 == 2 ? static_cast<uint32_t>(version >> 48 & 0xff) : 0;
}

bool choose_layout(uint32_t minor, bool known) noexcept {
  for (size_t i = std::size(kLayouts); i-- > 0;) {
    if (kLayouts[i].minor > minor) continue;
    layout = kLayouts[i];
    layout.sequence = kSequence;
    layout.inputs = kInputs;
    if (has_old_strings()) {
      layout.sequence -= kOldStringIsShorter;
      layout.inputs -= kOldStringIsShorter;
      layout.backends -= kOldStringIsShorter;
    }
    if (!known) layout.options_slot = layout.trace_slot = layout.stats_slot = 0;
    return true;
  }
  return false;
}

bool TensorView::defined() const noexcept {
  return impl_ != nullptr && impl_ != c10::UndefinedTensorImpl::singleton();
}

}  // namespace dprof::inject::torch_source
