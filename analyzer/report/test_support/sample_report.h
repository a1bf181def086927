// SPDX-License-Identifier: Apache-2.0
// A report with every part filled in, for the renderers' tests.
#pragma once

#include "analyzer/report/report.h"
#include "base/time.h"

namespace dprof::analyzer {

inline RankBreakdown sample_breakdown(int rank, int64_t forward_ms, int64_t wait_ms) {
  constexpr int64_t kSteps = 110;
  const auto total = [](int64_t ms) { return ms * kNsPerMs * kSteps; };
  RankBreakdown b{.rank = rank};
  const auto set = [&](Category c, int64_t ms) {
    b.category_ns[static_cast<size_t>(c)] = total(ms);
  };
  set(Category::kForward, forward_ms);
  set(Category::kBackward, 130);
  set(Category::kOptimizer, 10);
  set(Category::kOverlapped, 12);
  set(Category::kExposedWait, wait_ms);
  set(Category::kExposedTransfer, 15);
  set(Category::kInputWait, 7);
  set(Category::kHost, 5);
  for (const int64_t ns : b.category_ns) b.wall_ns += ns;
  b.detail_ns = {{"host.checkpoint", total(2)},
                 {"host.unattributed", total(3)},
                 {"overlapped.backward", total(12)}};
  return b;
}

inline Report sample_report() {
  const Evidence evidence{
      .rank = 1, .table = "host_range", .rows = {17, 18}, .start_ns = 100, .end_ns = 900};
  Report r;
  r.run = {
      .name = "ddp-resnet",
      .command = "dprof-trainer --model convnet --steps 120",
      .ranks = 2,
      .hosts = 2,
      .world_size = 2,
      .steps = StepsInfo{.count = 120,
                         .first_steady = 8,
                         .last_steady = 117,
                         .steady = 110,
                         .median_ns = 311'400'000,
                         .micro_steps = 4,
                         .outer = {{.step = 40, .kind = "checkpoint", .extra_ns = 310'000'000}}}};
  r.recording.events = 4'812'331;
  r.recording.lost = {{.rank = 1,
                       .source = schema::Source::kTorch,
                       .reason = schema::LossReason::kRingFull,
                       .count = 1204}};
  r.recording.diagnostics = {make_diagnostic("two_ranks", "With two ranks there is no majority."),
                             make_diagnostic("events_lost", "rank 1: 1,204 records were lost", 3)};
  r.recording.overhead = Overhead{
      .share = 0.004, .in_process_ns = 1000, .recorder_cpu_ns = {}, .how = "counted records"};
  r.clock =
      Clock{.reference = "node-a",
            .hosts = {{.host = "node-a", .bound_ns = 0, .likely_ns = {}, .method = "same clock"},
                      {.host = "node-b",
                       .offset_ns = -12,
                       .drift_ppb = 20'000,
                       .bound_ns = 14'000,
                       .likely_ns = 900,
                       .method = "probes",
                       .probes = 2400}},
            .devices = {{.rank = 1,
                         .device = 0,
                         .kernels = 1000,
                         .before_launch = 12,
                         .residual_ns = 6'000,
                         .reliable = false}},
            .violations = 1,
            .checked = 220};
  r.breakdown = Breakdown{{sample_breakdown(0, 82, 46), sample_breakdown(1, 128, 0)}};
  r.gpu_rows = GpuRows{.filter = "linked",
                       .per_rank = {{.rank = 0,
                                     .rows = 1200,
                                     .span_ns = 100,
                                     .busy_ns = 80,
                                     .idle_ns = 20,
                                     .compute_ns = 70,
                                     .communication_ns = 30,
                                     .memory_ns = 5,
                                     .overlap_ns = 25,
                                     .left_out = {{"no launching row", 7}}}}};
  r.overlap = Overlap{{{.rank = 0,
                        .communication_ns = 10'000'000'000,
                        .hidden_ns = 4'000'000'000,
                        .exposed_wait_ns = 3'000'000'000,
                        .exposed_transfer_ns = 3'000'000'000}}};
  r.contention = Contention{.factor = 1.2, .operators = 14, .hidden_cost_ns = 2'000'000};
  r.buckets = Buckets{.buckets = {{.bucket = 0,
                                   .bytes = 1'048'576,
                                   .n = 220,
                                   .order_delay_ns = 0,
                                   .queue_delay_ns = 12'000,
                                   .transfer_ns = 800'000,
                                   .wait_ns = 100'000,
                                   .exposed_ns = 200'000}},
                      .present_exposed_ns = 4'250'000,
                      .bound_ns = 170'000,
                      .caps = {{.cap_bytes = 1 << 20, .buckets = 80, .exposed_ns = 290'000},
                               {.cap_bytes = {}, .buckets = 1, .exposed_ns = 19'010'000}}};
  r.link_fits = {{.communicator = "default_pg",
                  .function = schema::Function::kAllReduce,
                  .sizes = 4,
                  .n = 440,
                  .alpha_ns = 50'000,
                  .beta_ns_per_byte = 0.1,
                  .half_bytes = 500'000}};
  r.collectives = {{.communicator = "default_pg",
                    .function = schema::Function::kAllReduce,
                    .bytes = 25'000'000,
                    .n = 110,
                    .transfer_ns = 14'800'000,
                    .wait_ns = 46'000'000,
                    .algbw = 1.69e9,
                    .busbw = 1.69e9,
                    .last_arriver = LastArriver{.rank = 1, .share = 0.98},
                    .per_step = 1,
                    .apparent_busbw = 0.41e9,
                    .efficiency = 0.93,
                    .bound_ns = 28'000}};
  r.point_to_point = {{.communicator = "default_pg",
                       .from = 1,
                       .to = 0,
                       .bytes = 87'360,
                       .n = 440,
                       .per_step = 4,
                       .transfer_ns = 300'000,
                       .wait_ns = 1'200'000,
                       .unmatched_sends = 2},
                      {.communicator = "default_pg",
                       .to = 1,
                       .bytes = 87'360,
                       .per_step = 0,
                       .unmatched_receives = 1}};
  r.phases = {{.name = "forward",
               .per_rank = {{.rank = 0, .per_step = 1, .mean_ns = 82'000'000},
                            {.rank = 1, .per_step = 1, .mean_ns = 128'000'000}}},
              {.name = "serve", .per_rank = {{.rank = 1, .per_step = 6, .mean_ns = 3'000'000}}}};
  r.stragglers = {{.rank = 1,
                   .shape = "persistent",
                   .cause = "compute",
                   .own_delay_ns = 46'000'000,
                   .cost_ns = 45'500'000,
                   .bound_ns = 1'200'000,
                   .n = 110,
                   .confidence = 0.98,
                   .evidence = {evidence},
                   .host = {},
                   .host_ranks = {},
                   .role = {},
                   .onset_step = 30}};
  r.detection = Detection{
      .floor_ns = 4'000'000, .power = 0.95, .named_ns = 15'570'000, .steps = 110, .ranks = 2};
  r.slow_links =
      SlowLinks{.groups = {{.communicator = "dp_1", .ranks = {0, 1}, .ratio = 1.4, .windows = 12}},
                .suspects = {"node-b"},
                .hosts = {{.host = "node-b",
                           .ranks = {1},
                           .groups = 1,
                           .ratio = 1.4,
                           .excess_ns = 2'100'000,
                           .onset_step = 40}},
                .onsets = {{.communicator = "default_pg",
                            .function = schema::Function::kAllReduce,
                            .bytes = 25'000'000,
                            .ratio = 1.8,
                            .step = 60,
                            .excess_ns = 4'000'000}}};
  r.hang = Hang{.state = "dead",
                .culprits = {1},
                .waiting = {0},
                .communicator = "default_pg",
                .function = schema::Function::kAllReduce,
                .sequence = 219,
                .reason = "Rank 1 was killed 2.00 s before the others ended.",
                .ranks = {{.rank = 1,
                           .state = "not_called",
                           .last = "in backward of step 73",
                           .since_ns = 2'000'000'000},
                          {.rank = 0, .state = "running", .last = "all_reduce"}}};
  MemoryUseBytes uses{};
  uses[static_cast<size_t>(MemoryUse::kParameter)] = 786'432;
  uses[static_cast<size_t>(MemoryUse::kActivation)] = 262'144;
  r.memory = Memory{.per_rank = {{.rank = 0,
                                  .device = 0,
                                  .peak_allocated = 1 << 20,
                                  .peak_step = 12,
                                  .source = MemorySource::kAllocatorEvents,
                                  .peak_phase = "backward",
                                  .by_category = uses,
                                  .by_phase = {},
                                  .at_peak = {{.use = MemoryUse::kParameter,
                                               .site = "aten::linear",
                                               .phase = "forward",
                                               .blocks = 12,
                                               .bytes = 786'432}},
                                  .fragmentation = {}}},
                    .leaks = {{{.rank = 0,
                                .device = 0,
                                .bytes_per_step = 4096,
                                .bound = 100,
                                .steps = 110,
                                .sites = {{.site = "aten::cat",
                                           .phase = "forward",
                                           .blocks = 110,
                                           .bytes = 450'560}}}}},
                    .host = {{.rank = 1, .samples = 40, .peak_resident = 800'000'000}},
                    .out_of_memory = {}};
  r.replay = Replay{
      .identity_error = 0.008,
      .accepted = true,
      .steps = 110,
      .unexplained = 0.01,
      .unit = "segments",
      .whatif = {{.change = "rank 1 as fast as the others"}},
      .slowdown = Slowdown{.slowdown = 1.179,
                           .step_ns = 311'000'000,
                           .ideal_ns = 264'000'000,
                           .stages = {{"stage 1 of 2", {0}, 1.01}, {"stage 2 of 2", {1}, 1.17}},
                           .replicas = {},
                           .operations = {},
                           .per_rank = {},
                           .last_stage_share = 0.9}};
  r.findings = {{.rule = "straggler.compute",
                 .severity = FindingSeverity::kCritical,
                 .title = "rank 1 holds everyone up: +45.5 ms per step (15 %), in 98 % of steps",
                 .detail = "Its forward takes 128 ms, the other rank's 82.1 ms.",
                 .advice = "look at what rank 1 computes more, or what else runs on its host",
                 .ranks = {1},
                 .cost_ns = 45'500'000,
                 .bound_ns = 1'200'000,
                 .cause = "compute",
                 .confidence = 0.98,
                 .evidence = {evidence},
                 .decided_by = {"its forward was compared with the other rank's"},
                 .refuted_by = {"a run with the ranks' data exchanged"}},
                {.rule = "comm.exposed",
                 .severity = FindingSeverity::kInfo,
                 .title = "rank 0 waits in all_reduce",
                 .ranks = {},
                 .cause = "synchronisation",
                 .caused_by = 0,
                 .evidence = {},
                 .decided_by = {},
                 .refuted_by = {}}};
  return r;
}

}  // namespace dprof::analyzer
