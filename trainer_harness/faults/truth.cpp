// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/faults/truth.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "trainer_harness/faults/truth_json.h"

namespace dprof::trainer_harness {
namespace {

using Json = TruthJson;

int64_t read_clock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

Json number_or_null(double number) { return number == 0 ? Json() : Json(number); }

// The fault as requested. A key that its kind does not have is null.
Json asked_json(const Fault& fault) {
  const FaultRow& row = fault_row(fault.kind);
  const FaultKeys keys = row.needs | row.takes;
  const bool endless = fault.to == std::numeric_limits<int64_t>::max();
  const bool has_mode = (keys & bit(FaultKey::kMode)) != 0;
  const Json rank = fault.kind == FaultKind::kRotating ? Json()
                    : fault.rank == kEveryRank         ? Json("all")
                                                       : Json(fault.rank);
  return {{"kind", row.name},
          {"rank", rank},
          {"ms", number_or_null(fault.ms)},
          {"mode", has_mode ? Json(fault.spin ? "spin" : "sleep") : Json()},
          {"from", fault.from},
          {"to", endless ? Json() : Json(fault.to)},
          {"every", fault.every},
          {"share", number_or_null(fault.share)},
          {"mb", number_or_null(fault.mb)},
          {"rate_mbit", number_or_null(fault.rate_mbit)},
          {"delay_ms", number_or_null(fault.delay_ms)},
          {"loss", number_or_null(fault.loss)},
          {"text", fault.text}};
}

// A fault with its strikes and deeds on all ranks.
Json fault_json(const Fault& fault, size_t index, const std::vector<Json>& ranks) {
  Json strikes = Json::array();
  Json done = Json::array();
  int64_t total_ns = 0;
  int64_t timed = 0;
  for (const Json& rank : ranks) {
    for (Json strike : rank.at("strikes")) {
      if (strike.at("fault").get<size_t>() != index) continue;
      if (const Json& duration = strike.at("duration_ns"); !duration.is_null()) {
        total_ns += duration.get<int64_t>();
        ++timed;
      }
      strike["rank"] = rank.at("rank");
      strikes.push_back(std::move(strike));
    }
    Json deeds = Json::object();
    for (const Json& deed : rank.at("deeds")) {
      if (deed.at("fault").get<size_t>() == index) deeds[deed.at("what")] = deed.at("value");
    }
    if (deeds.empty()) continue;
    deeds["rank"] = rank.at("rank");
    done.push_back(std::move(deeds));
  }
  Json json = asked_json(fault);
  json["count"] = strikes.size();
  json["total_ns"] = total_ns;
  json["mean_ns"] = timed == 0 ? Json() : Json(total_ns / timed);
  json["done"] = std::move(done);
  json["strikes"] = std::move(strikes);
  return json;
}

}  // namespace

Moment now() { return {read_clock(CLOCK_REALTIME), read_clock(CLOCK_MONOTONIC_RAW)}; }

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

Json to_json(const Moment& moment) {
  return {{"realtime_ns", moment.realtime_ns}, {"monotonic_raw_ns", moment.monotonic_raw_ns}};
}

Json to_json(const Strike& strike) {
  return {{"fault", strike.fault},
          {"step", strike.step},
          {"begin", to_json(strike.begin)},
          {"duration_ns", strike.duration_ns == kNoDuration ? Json() : Json(strike.duration_ns)}};
}

Json to_json(const Deed& deed) {
  Json value = std::visit([](const auto& plain) { return Json(plain); }, deed.value);
  return {{"fault", deed.fault}, {"what", deed.what}, {"value", std::move(value)}};
}

Json state_json(const RankTruth& truth) {
  return {{"parameters", truth.parameter_bytes},
          {"gradients", truth.gradient_bytes},
          {"optimizer", truth.optimizer_bytes}};
}

std::string encode(const RankTruth& truth) {
  Json starts = Json::array();
  Json durations = Json::array();
  for (const StepTime& step : truth.steps) {
    starts.push_back(step.begin_monotonic_raw_ns);
    durations.push_back(step.duration_ns);
  }
  Json hashes = Json::array();
  for (const uint64_t hash : truth.index_hashes) hashes.push_back(fmt::format("{:016x}", hash));
  Json strikes = Json::array();
  for (const Strike& strike : truth.strikes) strikes.push_back(to_json(strike));
  Json deeds = Json::array();
  for (const Deed& deed : truth.deeds) deeds.push_back(to_json(deed));
  const Json account = {{"rank", truth.rank},
                        {"pid", getpid()},
                        {"host", host_name()},
                        {"attempts", 1},
                        {"batch", truth.batch},
                        {"begin", to_json(truth.begin)},
                        {"end", to_json(truth.end)},
                        {"ended", true},
                        {"failure", nullptr},
                        {"checksum", truth.checksum},
                        {"first_loss", truth.first_loss},
                        {"last_loss", truth.last_loss},
                        {"state_bytes", state_json(truth)},
                        {"step_begin_monotonic_raw_ns", std::move(starts)},
                        {"step_ns", std::move(durations)},
                        {"samples", truth.samples},
                        {"index_hash", std::move(hashes)},
                        {"strikes", std::move(strikes)},
                        {"deeds", std::move(deeds)}};
  return account.dump();
}

void write_truth_json(const std::filesystem::path& file, const JobTruth& job,
                      std::vector<Json> accounts) {
  Json injected = Json::array();
  for (size_t i = 0; i < job.faults.size(); ++i) {
    injected.push_back(fault_json(job.faults[i], i, accounts));
  }
  int64_t batch = 0;
  for (Json& account : accounts) {
    if (batch == 0) batch = account.value("batch", int64_t{0});
    account.erase("strikes");
    account.erase("deeds");
  }
  const Json whole = {{"schema", "dprof.truth/1"},
                      {"model", job.model},
                      {"backend", job.backend},
                      {"world_size", job.world_size},
                      {"batch", batch},
                      {"seed", job.seed},
                      {"injected", std::move(injected)},
                      {"ranks", std::move(accounts)}};

  std::filesystem::path part = file;
  part += ".part";
  std::ofstream out(part, std::ios::trunc);
  out << whole.dump(1) << '\n';
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(part, file, error);
  if (!out || error) {
    throw std::runtime_error("cannot write " + file.string() +
                             "\nhint: --truth needs a file in a folder that exists");
  }
}

void write_truth(const std::filesystem::path& file, const JobTruth& job,
                 const std::vector<std::string>& ranks) {
  std::vector<Json> accounts;
  for (const std::string& text : ranks) accounts.push_back(Json::parse(text));
  write_truth_json(file, job, std::move(accounts));
}

}  // namespace dprof::trainer_harness
