// SPDX-License-Identifier: Apache-2.0
// Rank 0 holds the parameters: the others send it their gradients and get the parameters back.
#include "synth/model/model.h"

namespace dprof::synth {
namespace {

using schema::Function;

constexpr int kServer = 0;

CollectiveCall message(const Model& model, Function function, int peer, int worker, int64_t step) {
  return {.group = kWorldGroup,
          .function = function,
          .bytes = model.sizes().all_bytes,
          .peer = peer,
          .slow = model.slow_message(kServer, worker, step)};
}

void serve(StepBuilder& b, const Model& model, int64_t step) {
  b.begin(name("serve"));
  for (int worker = 1; worker < model.spec().ranks; ++worker)
    b.blocking(message(model, Function::kRecv, worker, worker, step));
  b.before_backward();
  b.optimizer(model.sizes().optimizer_ns, model.sizes().optimizer_ops);
  for (int worker = 1; worker < model.spec().ranks; ++worker)
    b.blocking(message(model, Function::kSend, worker, worker, step));
  b.end(name("serve"));
}

void work(StepBuilder& b, const Model& model, int rank, int64_t step) {
  const Sizes& sizes = model.sizes();
  b.input();
  b.forward(sizes.forward_ns, sizes.forward_ops);
  b.begin(kBackwardPhase);
  if (b.gpu()) b.thread(kAutogradThread);
  b.before_backward();
  b.backward_ops(sizes.backward_ns, sizes.backward_ops, 0, 1);
  if (b.gpu()) b.thread(kMainThread);
  b.end(kBackwardPhase);
  b.begin(name("push"));
  b.blocking(message(model, Function::kSend, kServer, rank, step));
  b.end(name("push"));
  b.begin(name("pull"));
  b.blocking(message(model, Function::kRecv, kServer, rank, step));
  b.end(name("pull"));
}

}  // namespace

void parameter_server_step(StepBuilder& b, const Model& model, int rank, int64_t step) {
  b.begin_step();
  if (rank == kServer) {
    serve(b, model, step);
  } else {
    work(b, model, rank, step);
  }
  side_collectives(b, model, rank, step);
  b.after_step();
  b.end_step();
}

}  // namespace dprof::synth
