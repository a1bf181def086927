// SPDX-License-Identifier: Apache-2.0
// One number for all parameters of a model, to tell whether two ranks, or two runs, ended
// bit-equal.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <cstdio>
#include <string>

namespace dprof::trainer_harness {

// FNV-1a over the bytes of every parameter and buffer, as 16 hexadecimal digits.
[[nodiscard]] inline std::string checksum(const torch::nn::Module& model) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](const torch::Tensor& tensor) {
    const torch::Tensor bytes = tensor.detach().cpu().contiguous();
    const auto* begin = static_cast<const uint8_t*>(bytes.const_data_ptr());
    for (size_t i = 0; i < bytes.nbytes(); ++i) hash = (hash ^ begin[i]) * 0x100000001b3;
  };
  for (const torch::Tensor& parameter : model.parameters()) add(parameter);
  for (const torch::Tensor& buffer : model.buffers()) add(buffer);
  char text[17];
  std::snprintf(text, sizeof(text), "%016lx", hash);
  return text;
}

}  // namespace dprof::trainer_harness
