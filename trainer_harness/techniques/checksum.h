// SPDX-License-Identifier: Apache-2.0
// A checksum of a model's parameters, to check whether two ranks or two runs ended bit-equal.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "trainer_harness/models/model.h"

namespace dprof::trainer_harness {

// FNV-1a over the bytes of every replicated parameter, as 16 hexadecimal digits. Buffers are left
// out: data-parallel ranks have the same running statistics before a forward, but different ones
// after it.
[[nodiscard]] inline std::string checksum(const Model& model) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](const torch::Tensor& tensor) {
    const torch::Tensor bytes = tensor.detach().cpu().contiguous();
    const auto* begin = static_cast<const uint8_t*>(bytes.const_data_ptr());
    for (size_t i = 0; i < bytes.nbytes(); ++i) hash = (hash ^ begin[i]) * 0x100000001b3;
  };
  for (const auto& [name, parameter] : model.replicated_parameters()) add(parameter);
  char text[17];
  std::snprintf(text, sizeof(text), "%016lx", hash);
  return text;
}

}  // namespace dprof::trainer_harness
