// SPDX-License-Identifier: Apache-2.0
// The calls of NCCL that carry out calls of LibTorch.
#pragma once

#include "schema/function.h"

namespace dprof::recorder {

// True if LibTorch carries out a call of `torch` by a call of `nccl`.
[[nodiscard]] constexpr bool can_carry(schema::Function torch, schema::Function nccl) {
  using schema::Function;
  switch (torch) {
    case Function::kBarrier:
      return nccl == Function::kAllReduce;
    case Function::kAllToAll:
    case Function::kGather:
    case Function::kScatter:
      return nccl == torch || schema::is_message(nccl);
    case Function::kAllGather:
      return nccl == torch || nccl == Function::kBroadcast;
    case Function::kReduceScatter:
      return nccl == torch || nccl == Function::kReduce;
    default:
      return nccl == torch;
  }
}

// A call of LibTorch that is made of several of another function.
[[nodiscard]] constexpr bool is_composed(schema::Function torch, schema::Function nccl) {
  return torch != nccl && torch != schema::Function::kBarrier;
}

}  // namespace dprof::recorder
