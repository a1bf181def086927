// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/render/json.h"

#include "analyzer/report/render/json_parts_internal.h"

namespace dprof::analyzer {
namespace {

Json json_of(const StepsInfo& steps) {
  return {{"count", steps.count},
          {"first_steady", steps.first_steady},
          {"last_steady", steps.last_steady},
          {"steady", steps.steady},
          {"median_ns", steps.median_ns},
          {"source", word_of(steps.source)},
          {"micro_steps", or_null(steps.micro_steps)},
          {"outer", array_of(steps.outer, [](const OuterEvent& e) {
             return Json{{"step", e.step}, {"kind", e.kind}, {"extra_ns", e.extra_ns}};
           })}};
}

Json json_of(const RunInfo& run) {
  return {{"name", run.name},
          {"command", run.command},
          {"ranks", run.ranks},
          {"hosts", run.hosts},
          {"world_size", or_null(run.world_size)},
          {"steps", part(run.steps, [](const StepsInfo& s) { return json_of(s); })}};
}

Json json_of(const Loss& loss) {
  return {{"rank", loss.rank},
          {"source", word_of(loss.source)},
          {"reason", word_of(loss.reason)},
          {"count", loss.count}};
}

Json json_of(const Diagnostic& diagnostic) {
  return {{"code", diagnostic.code},
          {"severity", word_of(diagnostic.severity)},
          {"count", diagnostic.count},
          {"text", diagnostic.text}};
}

Json json_of(const Overhead& overhead) {
  return {{"share", or_null(overhead.share)},
          {"in_process_ns", or_null(overhead.in_process_ns)},
          {"recorder_cpu_ns", or_null(overhead.recorder_cpu_ns)},
          {"how", overhead.how}};
}

Json json_of(const Recording& recording) {
  return {{"events", recording.events},
          {"lost", array_of(recording.lost, [](const Loss& l) { return json_of(l); })},
          {"diagnostics",
           array_of(recording.diagnostics, [](const Diagnostic& d) { return json_of(d); })},
          {"overhead", part(recording.overhead, [](const Overhead& o) { return json_of(o); })}};
}

Json json_of(const Clock& clock) {
  return {{"reference", clock.reference},
          {"hosts", array_of(clock.hosts,
                             [](const HostClock& h) {
                               return Json{{"host", h.host},
                                           {"offset_ns", h.offset_ns},
                                           {"at_ns", h.at_ns},
                                           {"drift_ppb", h.drift_ppb},
                                           {"bound_ns", or_null(h.bound_ns)},
                                           {"likely_ns", or_null(h.likely_ns)},
                                           {"method", h.method},
                                           {"probes", h.probes},
                                           {"resets", h.resets}};
                             })},
          {"devices", array_of(clock.devices,
                               [](const DeviceClock& d) {
                                 return Json{{"rank", d.rank},
                                             {"device", d.device},
                                             {"kernels", d.kernels},
                                             {"before_launch", d.before_launch},
                                             {"residual_ns", or_null(d.residual_ns)},
                                             {"reliable", d.reliable}};
                               })},
          {"violations", clock.violations},
          {"checked", clock.checked}};
}

Json json_of(const RankBreakdown& rank) {
  Json categories = Json::object();
  for (size_t c = 0; c < kCategories; ++c) {
    categories[std::string(key_of(static_cast<Category>(c)))] = rank.category_ns[c];
  }
  Json details = Json::object();
  for (const auto& [key, ns] : rank.detail_ns) details[key] = ns;
  return {{"rank", rank.rank},
          {"wall_ns", rank.wall_ns},
          {"category_ns", categories},
          {"detail_ns", details}};
}

Json json_of(const Breakdown& breakdown) {
  Json keys = Json::array();
  for (size_t c = 0; c < kCategories; ++c) keys.push_back(key_of(static_cast<Category>(c)));
  return {{"categories", keys},
          {"per_rank",
           array_of(breakdown.per_rank, [](const RankBreakdown& r) { return json_of(r); })}};
}

Json json_of(const Overlap& overlap) {
  return {{"per_rank", array_of(overlap.per_rank,
                                [](const RankOverlap& r) {
                                  return Json{{"rank", r.rank},
                                              {"communication_ns", r.communication_ns},
                                              {"hidden_ns", r.hidden_ns},
                                              {"exposed_wait_ns", r.exposed_wait_ns},
                                              {"exposed_transfer_ns", r.exposed_transfer_ns},
                                              {"ratio", or_null(r.ratio)},
                                              {"hideable_ns", or_null(r.hideable_ns)},
                                              {"best_ratio", or_null(r.best_ratio)}};
                                })},
          {"per_step", array_of(overlap.per_step,
                                [](const StepOverlap& s) {
                                  return Json{{"step", s.step},
                                              {"communication_ns", s.communication_ns},
                                              {"hidden_ns", s.hidden_ns},
                                              {"exposed_wait_ns", s.exposed_wait_ns},
                                              {"exposed_transfer_ns", s.exposed_transfer_ns},
                                              {"hideable_ns", or_null(s.hideable_ns)}};
                                })},
          {"per_collective", array_of(overlap.per_collective, [](const CollectiveOverlap& c) {
             return Json{{"communicator", c.communicator},
                         {"function", word_of(c.function)},
                         {"bytes", or_null(c.bytes)},
                         {"n", c.n},
                         {"hidden_ns", c.hidden_ns},
                         {"exposed_wait_ns", c.exposed_wait_ns},
                         {"exposed_transfer_ns", c.exposed_transfer_ns}};
           })}};
}

Json json_of(const RankGpuRows& r) {
  Json left_out = Json::object();
  for (const auto& [reason, count] : r.left_out) left_out[reason] = count;
  return {{"rank", r.rank},
          {"rows", r.rows},
          {"span_ns", r.span_ns},
          {"busy_ns", r.busy_ns},
          {"idle_ns", r.idle_ns},
          {"compute_ns", r.compute_ns},
          {"communication_ns", r.communication_ns},
          {"memory_ns", r.memory_ns},
          {"overlap_ns", r.overlap_ns},
          {"left_out", left_out}};
}

Json json_of(const GpuRows& rows) {
  return {{"filter", rows.filter},
          {"per_rank", array_of(rows.per_rank, [](const RankGpuRows& r) { return json_of(r); })}};
}

Json json_of(const Contention& c) {
  return {{"factor", c.factor},
          {"operators", c.operators},
          {"hidden_cost_ns", c.hidden_cost_ns},
          {"spread", c.spread},
          {"of_kernels", c.of_kernels},
          {"transfer_factor", or_null(c.transfer_factor)},
          {"transfer_kinds", c.transfer_kinds}};
}

Json json_of(const Buckets& buckets) {
  return {{"buckets", array_of(buckets.buckets,
                               [](const BucketSummary& b) {
                                 return Json{{"bucket", b.bucket},
                                             {"bytes", or_null(b.bytes)},
                                             {"n", b.n},
                                             {"fill_delay_ns", or_null(b.fill_delay_ns)},
                                             {"order_delay_ns", or_null(b.order_delay_ns)},
                                             {"queue_delay_ns", or_null(b.queue_delay_ns)},
                                             {"transfer_ns", b.transfer_ns},
                                             {"wait_ns", b.wait_ns},
                                             {"exposed_ns", b.exposed_ns}};
                               })},
          {"present_exposed_ns", or_null(buckets.present_exposed_ns)},
          {"bound_ns", or_null(buckets.bound_ns)},
          {"caps", array_of(buckets.caps, [](const BucketCap& c) {
             return Json{{"cap_bytes", or_null(c.cap_bytes)},
                         {"buckets", c.buckets},
                         {"exposed_ns", c.exposed_ns}};
           })}};
}

Json json_of(const LinkFit& fit) {
  return {{"communicator", fit.communicator},
          {"function", word_of(fit.function)},
          {"sizes", fit.sizes},
          {"n", fit.n},
          {"alpha_ns", fit.alpha_ns},
          {"beta_ns_per_byte", fit.beta_ns_per_byte},
          {"half_bytes", fit.half_bytes},
          {"residual", fit.residual}};
}

Json json_of(const CollectiveSummary& c) {
  return {{"communicator", c.communicator},
          {"function", word_of(c.function)},
          {"bytes", or_null(c.bytes)},
          {"n", c.n},
          {"transfer_ns", c.transfer_ns},
          {"wait_ns", c.wait_ns},
          {"algbw", or_null(c.algbw)},
          {"busbw", or_null(c.busbw)},
          {"last_arriver", part(c.last_arriver,
                                [](const LastArriver& last) {
                                  return Json{{"rank", last.rank}, {"share", last.share}};
                                })},
          {"per_step", or_null(c.per_step)},
          {"apparent_busbw", or_null(c.apparent_busbw)},
          {"efficiency", or_null(c.efficiency)},
          {"spread_ns", or_null(c.spread_ns)},
          {"bound_ns", or_null(c.bound_ns)}};
}

Json json_of(const PointToPoint& p) {
  return {{"communicator", p.communicator},
          {"from", or_null(p.from)},
          {"to", or_null(p.to)},
          {"bytes", or_null(p.bytes)},
          {"n", p.n},
          {"per_step", or_null(p.per_step)},
          {"transfer_ns", or_null(p.transfer_ns)},
          {"wait_ns", or_null(p.wait_ns)},
          {"send_wait_ns", or_null(p.send_wait_ns)},
          {"bound_ns", or_null(p.bound_ns)},
          {"unmatched_sends", p.unmatched_sends},
          {"unmatched_receives", p.unmatched_receives}};
}

Json json_of(const PhaseSummary& phase) {
  return {{"name", phase.name},
          {"per_rank", array_of(phase.per_rank, [](const RankPhase& r) {
             return Json{{"rank", r.rank}, {"per_step", r.per_step}, {"mean_ns", r.mean_ns}};
           })}};
}

Json json_of(const Evidence& e) {
  return {{"rank", e.rank},
          {"table", e.table},
          {"rows", e.rows},
          {"start_ns", e.start_ns},
          {"end_ns", e.end_ns}};
}

Json json_of(const std::vector<Evidence>& evidence) {
  return array_of(evidence, [](const Evidence& e) { return json_of(e); });
}

Json json_of(const Straggler& s) {
  return {{"rank", or_null(s.rank)},
          {"shape", s.shape},
          {"cause", s.cause},
          {"own_delay_ns", s.own_delay_ns},
          {"cost_ns", s.cost_ns},
          {"bound_ns", s.bound_ns},
          {"n", s.n},
          {"confidence", s.confidence},
          {"evidence", json_of(s.evidence)},
          {"host", s.host.empty() ? Json(nullptr) : Json(s.host)},
          {"host_ranks", s.host_ranks},
          {"role", s.role.empty() ? Json(nullptr) : Json(s.role)},
          {"onset_step", or_null(s.onset_step)}};
}

Json json_of(const Detection& d) {
  return {{"floor_ns", d.floor_ns},
          {"power", d.power},
          {"named_ns", d.named_ns},
          {"steps", d.steps},
          {"ranks", d.ranks}};
}

Json json_of(const SlowLinks& slow) {
  return {
      {"groups", array_of(slow.groups,
                          [](const SlowGroupInfo& g) {
                            return Json{{"communicator", g.communicator},
                                        {"ranks", g.ranks},
                                        {"ratio", g.ratio},
                                        {"windows", g.windows}};
                          })},
      {"suspects", slow.suspects},
      {"within_only", slow.within_only},
      {"hosts", array_of(slow.hosts,
                         [](const SlowHost& h) {
                           return Json{
                               {"host", h.host},           {"ranks", h.ranks},
                               {"groups", h.groups},       {"ratio", h.ratio},
                               {"excess_ns", h.excess_ns}, {"onset_step", or_null(h.onset_step)}};
                         })},
      {"onsets", array_of(slow.onsets, [](const SlowTransfers& t) {
         return Json{{"communicator", t.communicator},
                     {"function", word_of(t.function)},
                     {"bytes", or_null(t.bytes)},
                     {"ratio", t.ratio},
                     {"step", t.step},
                     {"excess_ns", t.excess_ns}};
       })}};
}

Json json_of(const Hang& hang) {
  return {{"state", hang.state},
          {"culprits", hang.culprits},
          {"waiting", hang.waiting},
          {"collective",
           {{"communicator", hang.communicator},
            {"function", word_of(hang.function)},
            {"sequence", or_null(hang.sequence)}}},
          {"reason", hang.reason},
          {"ranks", array_of(hang.ranks, [](const HungRank& r) {
             return Json{{"rank", r.rank},
                         {"state", r.state},
                         {"last", r.last},
                         {"since_ns", or_null(r.since_ns)}};
           })}};
}

Json json_of(const std::vector<PartSlowdown>& parts) {
  return array_of(parts, [](const PartSlowdown& p) {
    return Json{{"part", p.part}, {"ranks", p.ranks}, {"slowdown", p.slowdown}};
  });
}

Json json_of(const Slowdown& s) {
  return {{"slowdown", s.slowdown},
          {"step_ns", s.step_ns},
          {"ideal_ns", s.ideal_ns},
          {"stages", json_of(s.stages)},
          {"replicas", json_of(s.replicas)},
          {"operations", json_of(s.operations)},
          {"per_rank", json_of(s.per_rank)},
          {"last_stage_share", or_null(s.last_stage_share)},
          {"worst_ranks_share", or_null(s.worst_ranks_share)}};
}

Json json_of(const Replay& replay) {
  return {{"identity_error", replay.identity_error},
          {"accepted", replay.accepted},
          {"steps", replay.steps},
          {"unexplained", replay.unexplained},
          {"unit", replay.unit},
          {"whatif", array_of(replay.whatif,
                              [](const WhatIf& w) {
                                return Json{{"change", w.change},
                                            {"step_ns", w.step_ns},
                                            {"gain_ns", w.gain_ns},
                                            {"bound_ns", w.bound_ns}};
                              })},
          {"slowdown", part(replay.slowdown, [](const Slowdown& s) { return json_of(s); })}};
}

Json json_of(const Finding& f) {
  return {{"rule", f.rule},
          {"severity", word_of(f.severity)},
          {"title", f.title},
          {"detail", f.detail},
          {"advice", f.advice},
          {"ranks", f.ranks},
          {"cost_ns", or_null(f.cost_ns)},
          {"bound_ns", or_null(f.bound_ns)},
          {"cause", f.cause},
          {"confidence", f.confidence},
          {"caused_by", or_null(f.caused_by)},
          {"evidence", json_of(f.evidence)},
          {"explain", {{"decided_by", f.decided_by}, {"refuted_by", f.refuted_by}}}};
}

template <typename T>
Json list_part(const std::optional<std::vector<T>>& list) {
  return part(list, [](const std::vector<T>& items) {
    return array_of(items, [](const T& item) { return json_of(item); });
  });
}

template <typename T>
Json object_part(const std::optional<T>& value) {
  return part(value, [](const T& v) { return json_of(v); });
}

}  // namespace

std::string render_json(const Report& report) {
  const Json json = {{"schema", "dprof.report/1"},
                     {"run", json_of(report.run)},
                     {"recording", json_of(report.recording)},
                     {"clock", object_part(report.clock)},
                     {"breakdown", object_part(report.breakdown)},
                     {"gpu_rows", object_part(report.gpu_rows)},
                     {"overlap", object_part(report.overlap)},
                     {"contention", object_part(report.contention)},
                     {"buckets", object_part(report.buckets)},
                     {"link_fits", list_part(report.link_fits)},
                     {"collectives", list_part(report.collectives)},
                     {"point_to_point", list_part(report.point_to_point)},
                     {"phases", list_part(report.phases)},
                     {"stragglers", list_part(report.stragglers)},
                     {"detection", object_part(report.detection)},
                     {"slow_links", object_part(report.slow_links)},
                     {"hang", object_part(report.hang)},
                     {"memory", part(report.memory, json_of_memory)},
                     {"replay", object_part(report.replay)},
                     {"findings", list_part(report.findings)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace dprof::analyzer
