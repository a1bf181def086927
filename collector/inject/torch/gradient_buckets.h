// SPDX-License-Identifier: Apache-2.0
// Finds the gradient bucket of DDP that an all-reduce reduces, and when its last gradient was
// ready. torch has no interface for this; its operations show it:
//
//   AccumulateGrad ends          a parameter's gradient is ready; the Reducer's hook runs next
//   …::reducer::mul_out, copy_   it copies the gradient into its bucket (not where gradients are
//                                views of buckets already)
//   c10d::allreduce_             the bucket was complete, and so were those before it
//
// So an all-reduce of one flat tensor of floats belongs to a bucket if it is called in a backward
// pass (a graph task is current), after an AccumulateGrad of that pass ended on the thread, outside
// of any autograd node. Its index is its position among those of its group in the pass: the Reducer
// reduces buckets in order. The first all-reduce after an AccumulateGrad belongs to the bucket that
// this gradient completed. Those that follow were complete before and had to wait for their turn:
// they were ready at the end of the AccumulateGrad after which the last gradient was copied into
// the same storage; without such a copy the time is unknown.
//
// Not detected: buckets reduced after the backward pass (a static graph's first iteration) or
// inside a nested one (reentrant checkpointing).
//
// Threading  each function uses the calling thread's own state: the Reducer runs its hooks on the
//            thread that ran the node.
#pragma once

#include <ATen/record_function.h>

#include "collector/wire/record.h"

namespace dprof::inject::torch_source {

// Around every autograd node, recorded or not. HOT PATH. Budget: 10 ns, with the clock's reading
// 25 ns at the end of an AccumulateGrad.
void enter_autograd_node() noexcept;
void leave_autograd_node(const at::RecordFunction& function) noexcept;

// An op of FUNCTION scope begins: detects the Reducer's operations. HOT PATH. Budget: 3 ns for
// another's op.
void notice_reducer(const at::RecordFunction& function, const char* name) noexcept;

// Fills in the bucket of an all-reduce, if it reduces one.
void describe_bucket(const at::RecordFunction& function, wire::CollectiveEnqueue& call) noexcept;

}  // namespace dprof::inject::torch_source
