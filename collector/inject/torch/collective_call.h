// SPDX-License-Identifier: Apache-2.0
// The arguments of a `c10d::*` operator as a CollectiveEnqueue record. Every value is checked:
// operators change between releases, and a program can call them with anything.
//
// Threading  on the thread that calls the operator, inside its RecordFunction start callback.
// Cost       some 100 ns; a handful of calls per step.
#pragma once

#include <ATen/record_function.h>

#include "collector/inject/core_api.h"
#include "collector/inject/torch/collective_ops.h"

namespace dprof::inject::torch_source {

// Fills `record.enqueue` from the operator's inputs; values not found stay unknown.
void describe_call(const CoreApi& core, const CollectiveOp& op, const at::RecordFunction& function,
                   wire::Record& record) noexcept;

}  // namespace dprof::inject::torch_source
