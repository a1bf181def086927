// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analyzer/report/test_support/sample_report.h"

namespace dprof::analyzer {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::ElementsAre;

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& item : object.items()) keys.push_back(item.key());
  return keys;
}

Json rendered(const Report& report) { return Json::parse(render_json(report)); }

TEST(RenderJson, HasEveryTopLevelKeyAlways) {
  for (const Report& report : {Report(), sample_report()}) {
    EXPECT_THAT(
        keys_of(rendered(report)),
        ElementsAre("schema", "run", "recording", "clock", "breakdown", "gpu_rows", "overlap",
                    "contention", "buckets", "link_fits", "collectives", "point_to_point", "phases",
                    "stragglers", "detection", "slow_links", "hang", "ending", "memory", "energy",
                    "replay", "critical_path", "findings", "names"));
  }
}

TEST(RenderJson, WhatWasNotComputedIsNullAndWhatWasNotFoundIsEmpty) {
  Report report;
  const Json nothing = rendered(report);
  for (const char* key :
       {"clock",         "breakdown",   "gpu_rows",       "overlap", "contention", "buckets",
        "link_fits",     "collectives", "point_to_point", "phases",  "stragglers", "detection",
        "slow_links",    "hang",        "ending",         "memory",  "energy",     "replay",
        "critical_path", "findings",    "names"}) {
    EXPECT_TRUE(nothing[key].is_null()) << key;
  }
  EXPECT_TRUE(nothing["run"]["steps"].is_null());
  EXPECT_TRUE(nothing["run"]["world_size"].is_null());
  EXPECT_TRUE(nothing["recording"]["overhead"].is_null());
  EXPECT_EQ(nothing["recording"]["lost"], Json::array());

  report.stragglers.emplace();
  report.findings.emplace();
  report.collectives.emplace();
  report.point_to_point.emplace();
  report.phases.emplace();
  const Json none = rendered(report);
  for (const char* key : {"collectives", "point_to_point", "phases", "stragglers", "findings"})
    EXPECT_EQ(none[key], Json::array()) << key;
}

TEST(RenderJson, RunAndRecordingHaveTheKeysOfTheContract) {
  const Json json = rendered(sample_report());
  EXPECT_EQ(json["schema"], "dprof.report/1");
  EXPECT_THAT(keys_of(json["run"]), ElementsAre("name", "command", "ranks", "hosts", "world_size",
                                                "steps", "environment"));
  EXPECT_EQ(json["run"]["steps"],
            Json::parse(R"({"count": 120, "first_steady": 8, "last_steady": 117, "steady": 110,
                                                  "median_ns": 311400000, "source": "marker",
                                                  "micro_steps": 4,
                                                  "outer": [{"step": 40, "kind": "checkpoint",
                                                             "extra_ns": 310000000}],
                                                  "lengths_ns": []})"));
  const Json& recording = json["recording"];
  EXPECT_THAT(keys_of(recording), ElementsAre("events", "lost", "diagnostics", "overhead"));
  EXPECT_EQ(recording["lost"][0],
            Json::parse(R"({"rank": 1, "source": "torch", "reason": "ring_full", "count": 1204})"));
  EXPECT_THAT(keys_of(recording["diagnostics"][0]),
              ElementsAre("code", "severity", "count", "text"));
  EXPECT_EQ(recording["diagnostics"][1]["severity"], "data_loss");
  EXPECT_THAT(keys_of(recording["overhead"]),
              ElementsAre("share", "in_process_ns", "recorder_cpu_ns", "how"));
  EXPECT_TRUE(recording["overhead"]["recorder_cpu_ns"].is_null());
  EXPECT_THAT(keys_of(json["clock"]),
              ElementsAre("reference", "hosts", "devices", "violations", "checked"));
  EXPECT_THAT(keys_of(json["clock"]["hosts"][1]),
              ElementsAre("host", "offset_ns", "at_ns", "drift_ppb", "bound_ns", "likely_ns",
                          "method", "probes", "resets"));
}

TEST(RenderJson, BreakdownOfEachRankHasAllCategoriesAndSumsToWall) {
  const Json breakdown = rendered(sample_report())["breakdown"];
  EXPECT_THAT(keys_of(breakdown), ElementsAre("categories", "per_rank"));
  ASSERT_EQ(breakdown["categories"].size(), kCategories);
  ASSERT_EQ(breakdown["per_rank"].size(), 2u);
  for (const Json& rank : breakdown["per_rank"]) {
    EXPECT_THAT(keys_of(rank), ElementsAre("rank", "wall_ns", "category_ns", "detail_ns"));
    EXPECT_EQ(keys_of(rank["category_ns"]),
              breakdown["categories"].get<std::vector<std::string>>());
    int64_t sum = 0;
    for (const Json& ns : rank["category_ns"]) {
      EXPECT_TRUE(ns.is_number_integer());
      sum += ns.get<int64_t>();
    }
    EXPECT_EQ(sum, rank["wall_ns"].get<int64_t>());
  }
}

TEST(RenderJson, ResultsHaveTheKeysOfTheContract) {
  const Json json = rendered(sample_report());
  EXPECT_THAT(keys_of(json["overlap"]["per_rank"][0]),
              ElementsAre("rank", "communication_ns", "hidden_ns", "exposed_wait_ns",
                          "exposed_transfer_ns", "ratio", "hideable_ns", "best_ratio"));
  EXPECT_EQ(json["gpu_rows"]["filter"], "linked");
  EXPECT_THAT(keys_of(json["gpu_rows"]["per_rank"][0]),
              ElementsAre("rank", "rows", "span_ns", "busy_ns", "idle_ns", "compute_ns",
                          "communication_ns", "memory_ns", "overlap_ns", "left_out"));
  EXPECT_EQ(json["buckets"]["caps"][1]["cap_bytes"], nullptr);
  EXPECT_EQ(json["link_fits"][0]["alpha_ns"], 50'000.0);
  EXPECT_THAT(keys_of(json["collectives"][0]),
              ElementsAre("communicator", "function", "bytes", "n", "transfer_ns", "wait_ns",
                          "algbw", "busbw", "last_arriver", "per_step", "apparent_busbw",
                          "efficiency", "spread_ns", "bound_ns", "group"));
  EXPECT_EQ(json["collectives"][0]["function"], "all_reduce");
  EXPECT_EQ(json["collectives"][0]["last_arriver"], Json::parse(R"({"rank": 1, "share": 0.98})"));
  EXPECT_EQ(json["collectives"][0]["per_step"], 1.0);
  EXPECT_EQ(json["point_to_point"][0], Json::parse(R"({"communicator": "default_pg", "from": 1,
      "to": 0, "bytes": 87360, "n": 440, "per_step": 4.0, "transfer_ns": 300000,
      "wait_ns": 1200000, "send_wait_ns": null, "bound_ns": null, "unmatched_sends": 2, "unmatched_receives": 0})"));
  EXPECT_TRUE(json["point_to_point"][1]["from"].is_null());
  EXPECT_TRUE(json["point_to_point"][1]["transfer_ns"].is_null());
  EXPECT_EQ(json["phases"][1], Json::parse(R"({"name": "serve",
      "per_rank": [{"rank": 1, "per_step": 6.0, "mean_ns": 3000000}]})"));
  EXPECT_THAT(
      keys_of(json["stragglers"][0]),
      ElementsAre("rank", "shape", "cause", "own_delay_ns", "cost_ns", "bound_ns", "n",
                  "confidence", "evidence", "host", "host_ranks", "role", "onset_step", "group"));
  EXPECT_TRUE(json["stragglers"][0]["host"].is_null());
  EXPECT_EQ(json["stragglers"][0]["onset_step"], 30);
  EXPECT_EQ(json["detection"], Json::parse(R"({"floor_ns": 4000000, "power": 0.95,
      "named_ns": 15570000, "steps": 110, "ranks": 2})"));
  EXPECT_EQ(json["slow_links"], Json::parse(R"({"groups": [{"communicator": "dp_1",
      "ranks": [0, 1], "ratio": 1.4, "windows": 12}], "suspects": ["node-b"],
      "within_only": false,
      "hosts": [{"host": "node-b", "ranks": [1], "groups": 1, "ratio": 1.4, "excess_ns": 2100000,
                 "onset_step": 40}],
      "onsets": [{"communicator": "default_pg", "function": "all_reduce", "bytes": 25000000,
                  "ratio": 1.8, "step": 60, "excess_ns": 4000000}]})"));
  EXPECT_EQ(json["hang"],
            Json::parse(R"({"state": "dead", "culprits": [1], "waiting": [0], "collective":
                           {"communicator": "default_pg", "function": "all_reduce", "sequence": 219},
                         "reason": "Rank 1 was killed 2.00 s before the others ended.",
                         "ranks": [{"rank": 1, "state": "not_called", "last": "in backward of step 73",
                                    "since_ns": 2000000000, "stack": []},
                                   {"rank": 0, "state": "running", "last": "all_reduce",
                                    "since_ns": null, "stack": []}]})"));
  EXPECT_THAT(keys_of(json["replay"]),
              ElementsAre("identity_error", "accepted", "steps", "unexplained", "unit", "whatif",
                          "slowdown", "held_out_error", "half_error", "refused", "together"));
  EXPECT_EQ(json["replay"]["slowdown"]["stages"][1],
            Json::parse(R"({"part": "stage 2 of 2", "ranks": [1], "slowdown": 1.17})"));
  EXPECT_TRUE(json["replay"]["slowdown"]["worst_ranks_share"].is_null());
  const Json& finding = json["findings"][0];
  EXPECT_THAT(keys_of(finding), ElementsAre("rule", "severity", "title", "detail", "advice",
                                            "ranks", "cost_ns", "bound_ns", "cause", "confidence",
                                            "caused_by", "evidence", "explain", "removed_by"));
  EXPECT_EQ(finding["explain"],
            Json::parse(R"({"decided_by": ["its forward was compared with the other rank's"],
                            "refuted_by": ["a run with the ranks' data exchanged"]})"));
  EXPECT_EQ(json["findings"][1]["explain"]["decided_by"], Json::array());
  EXPECT_EQ(finding["severity"], "critical");
  EXPECT_TRUE(finding["caused_by"].is_null());
  EXPECT_EQ(finding["evidence"][0],
            Json::parse(R"({"rank": 1, "table": "host_range", "rows": [17, 18],
                                                    "start_ns": 100, "end_ns": 900})"));
  EXPECT_TRUE(json["findings"][1]["cost_ns"].is_null());
  EXPECT_EQ(json["findings"][1]["caused_by"], 0);
}

TEST(RenderJson, MemoryHasItsUnknownsAsNullAndItsListsAlways) {
  const Json memory = rendered(sample_report())["memory"];
  EXPECT_THAT(keys_of(memory), ElementsAre("per_rank", "leaks", "fragmentation", "host",
                                           "out_of_memory", "imbalance", "zero", "checkpointing"));
  const Json& rank = memory["per_rank"][0];
  EXPECT_EQ(rank["peak_allocated"], 1 << 20);
  EXPECT_EQ(rank["peak_step"], 12);
  EXPECT_TRUE(rank["peak_reserved"].is_null());
  EXPECT_EQ(rank["source"], "allocator_events");
  EXPECT_EQ(rank["by_category"].size(), kMemoryUses);
  EXPECT_EQ(rank["by_category"]["parameter"], 786'432);
  EXPECT_EQ(memory["leaks"][0]["bytes_per_step"], 4096);
  EXPECT_TRUE(memory["leaks"][0]["steps_to_oom"].is_null());
  EXPECT_TRUE(memory["fragmentation"].is_null());
  EXPECT_EQ(memory["out_of_memory"], Json::array());
  EXPECT_EQ(memory["host"][0]["peak_resident"], 800'000'000);
  EXPECT_TRUE(memory["host"][0]["page_faults_per_step"].is_null());
  Report none;
  none.memory.emplace();
  EXPECT_TRUE(rendered(none)["memory"]["leaks"].is_null()) << "not the same as no leak";
}

TEST(RenderJson, ARotatingStragglerHasNoRank) {
  Report report = sample_report();
  report.stragglers->front().rank.reset();
  EXPECT_TRUE(rendered(report)["stragglers"][0]["rank"].is_null());
}

TEST(RenderJson, BrokenTextsGiveValidJson) {
  Report report;
  report.run.name = "caf\xe9\x01";
  EXPECT_TRUE(Json::accept(render_json(report)));
}

}  // namespace
}  // namespace dprof::analyzer
