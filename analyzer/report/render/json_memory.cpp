// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/render/json_parts_internal.h"

namespace dprof::analyzer {
namespace {

Json or_null_text(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json memory_json(const MemoryUseBytes& bytes) {
  Json json = Json::object();
  for (size_t use = 0; use < kMemoryUses; ++use)
    json[std::string(key_of(static_cast<MemoryUse>(use)))] = bytes[use];
  return json;
}

Json memory_json(const Fragmentation& f) {
  return {{"slack", or_null(f.slack)}, {"non_releasable", or_null(f.non_releasable)}};
}

Json memory_json(const MemoryHolder& h) {
  return {{"use", key_of(h.use)},
          {"site", or_null_text(h.site)},
          {"phase", or_null_text(h.phase)},
          {"blocks", h.blocks},
          {"bytes", h.bytes}};
}

Json memory_json(const RankMemory& r) {
  return {
      {"rank", r.rank},
      {"device", r.device},
      {"peak_allocated", or_null(r.peak_allocated)},
      {"peak_reserved", or_null(r.peak_reserved)},
      {"peak_step", or_null(r.peak_step)},
      {"by_category", part(r.by_category, [](const MemoryUseBytes& b) { return memory_json(b); })},
      {"source", word_of(r.source)},
      {"peak_phase", or_null_text(r.peak_phase)},
      {"unknown_share", or_null(r.unknown_share)},
      {"by_phase", array_of(r.by_phase,
                            [](const PhasePeak& p) {
                              return Json{{"phase", p.phase}, {"allocated", p.allocated}};
                            })},
      {"at_peak", array_of(r.at_peak, [](const MemoryHolder& h) { return memory_json(h); })},
      {"before_bytes", r.before_bytes},
      {"retained_graph_bytes", r.retained_graph_bytes},
      {"steady_peak_allocated", or_null(r.steady_peak_allocated)},
      {"fragmentation", memory_json(r.fragmentation)},
      {"segment_allocs_per_step", or_null(r.segment_allocs_per_step)},
      {"segment_frees_per_step", or_null(r.segment_frees_per_step)},
      {"retries", or_null(r.retries)},
      {"cache_flushes", r.cache_flushes},
      {"device_total", or_null(r.device_total)},
      {"non_torch_peak", or_null(r.non_torch_peak)},
      {"hard_headroom", or_null(r.hard_headroom)},
      {"soft_headroom", or_null(r.soft_headroom)},
      {"unmatched", r.unmatched}};
}

Json memory_json(const Leak& leak) {
  return {{"rank", leak.rank},
          {"device", leak.device},
          {"bytes_per_step", leak.bytes_per_step},
          {"bound", leak.bound},
          {"steps_to_oom", or_null(leak.steps_to_oom)},
          {"source", word_of(leak.source)},
          {"steps", leak.steps},
          {"risen_bytes", leak.risen_bytes},
          {"sites", array_of(leak.sites, [](const LeakSite& s) {
             return Json{{"site", or_null_text(s.site)},
                         {"phase", or_null_text(s.phase)},
                         {"blocks", s.blocks},
                         {"bytes", s.bytes}};
           })}};
}

Json memory_json(const HostMemory& h) {
  return {{"rank", h.rank},
          {"samples", h.samples},
          {"peak_resident", h.peak_resident},
          {"first_steady", or_null(h.first_steady)},
          {"last_steady", or_null(h.last_steady)}};
}

Json memory_json(const OutOfMemory& o) {
  return {{"rank", o.rank},
          {"device", o.device},
          {"step", or_null(o.step)},
          {"bytes", o.bytes},
          {"free_bytes", or_null(o.free_bytes)},
          {"fragmented", or_null(o.fragmented)}};
}

Json memory_json(const MemoryImbalance& i) {
  return {{"rank", i.rank},
          {"peak", i.peak},
          {"median", i.median},
          {"max_over_mean", i.max_over_mean},
          {"max_less_median", i.max_less_median},
          {"ranks", i.ranks}};
}

Json memory_json(const ZeroSizing& z) {
  return {{"rank", z.rank},
          {"ranks", z.ranks},
          {"share", z.share},
          {"saved_bytes", z.saved_bytes},
          {"worthwhile", z.worthwhile}};
}

Json memory_json(const CheckpointingSizing& c) {
  return {{"rank", c.rank},
          {"share", c.share},
          {"activation_bytes", c.activation_bytes},
          {"worthwhile", c.worthwhile}};
}

}  // namespace

Json json_of_memory(const Memory& memory) {
  const auto object = [](const auto& value) { return memory_json(value); };
  return {{"per_rank", array_of(memory.per_rank, object)},
          {"leaks", part(memory.leaks,
                         [&](const std::vector<Leak>& leaks) { return array_of(leaks, object); })},
          {"fragmentation", part(memory.fragmentation, object)},
          {"host", array_of(memory.host, object)},
          {"out_of_memory", array_of(memory.out_of_memory, object)},
          {"imbalance", part(memory.imbalance, object)},
          {"zero", part(memory.zero, object)},
          {"checkpointing", part(memory.checkpointing, object)}};
}

}  // namespace dprof::analyzer
