// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/faults/truth.h"

#include <time.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace dprof::trainer_harness {
namespace {

using Json = nlohmann::ordered_json;

int64_t read_clock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

Json to_json(const Moment& moment) {
  return {{"realtime_ns", moment.realtime_ns}, {"monotonic_raw_ns", moment.monotonic_raw_ns}};
}

// A fault and all its strikes, on whichever rank.
Json fault_json(const Fault& fault, size_t index, const std::vector<Json>& ranks) {
  Json strikes = Json::array();
  int64_t total_ns = 0;
  for (const Json& rank : ranks) {
    for (const Json& strike : rank.at("strikes")) {
      if (strike.at("fault").get<size_t>() != index) continue;
      total_ns += strike.at("duration_ns").get<int64_t>();
      strikes.push_back(strike);
    }
  }
  const auto count = static_cast<int64_t>(strikes.size());
  const bool endless = fault.to == std::numeric_limits<int64_t>::max();
  return {{"kind", fault_kind_name(fault.kind)},
          {"rank", fault.rank},
          {"ms", fault.ms},
          {"mode", fault.busy ? "busy" : "sleep"},
          {"from", fault.from},
          {"to", endless ? Json() : Json(fault.to)},
          {"every", fault.every},
          {"count", count},
          {"total_ns", total_ns},
          {"mean_ns", count == 0 ? Json() : Json(total_ns / count)},
          {"strikes", std::move(strikes)}};
}

}  // namespace

Moment now() { return {read_clock(CLOCK_REALTIME), read_clock(CLOCK_MONOTONIC_RAW)}; }

std::string encode(const RankTruth& truth) {
  Json starts = Json::array();
  Json durations = Json::array();
  for (const StepTime& step : truth.steps) {
    starts.push_back(step.begin_monotonic_raw_ns);
    durations.push_back(step.duration_ns);
  }
  Json strikes = Json::array();
  for (const Strike& strike : truth.strikes) {
    strikes.push_back({{"fault", strike.fault},
                       {"step", strike.step},
                       {"begin", to_json(strike.begin)},
                       {"duration_ns", strike.duration_ns}});
  }
  const Json account = {{"rank", truth.rank},
                        {"pid", getpid()},
                        {"host", host_name()},
                        {"begin", to_json(truth.begin)},
                        {"end", to_json(truth.end)},
                        {"checksum", truth.checksum},
                        {"first_loss", truth.first_loss},
                        {"last_loss", truth.last_loss},
                        {"step_begin_monotonic_raw_ns", std::move(starts)},
                        {"step_ns", std::move(durations)},
                        {"strikes", std::move(strikes)}};
  return account.dump();
}

void write_truth(const std::filesystem::path& file, const JobTruth& job,
                 const std::vector<std::string>& ranks) {
  std::vector<Json> accounts;
  for (const std::string& text : ranks) accounts.push_back(Json::parse(text));
  Json injected = Json::array();
  for (size_t i = 0; i < job.faults.size(); ++i) {
    injected.push_back(fault_json(job.faults[i], i, accounts));
  }
  for (Json& account : accounts) account.erase("strikes");
  const Json whole = {
      {"schema", "dprof.truth/1"},       {"model", job.model},          {"backend", job.backend},
      {"world_size", job.world_size},    {"batch", job.batch},          {"seed", job.seed},
      {"injected", std::move(injected)}, {"ranks", std::move(accounts)}};

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

}  // namespace dprof::trainer_harness
