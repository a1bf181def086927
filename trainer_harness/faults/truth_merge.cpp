// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/faults/truth_merge.h"

#include <fstream>
#include <optional>
#include <stdexcept>

#include "trainer_harness/faults/truth_json.h"
#include "trainer_harness/faults/truth_log.h"

namespace dprof::trainer_harness {
namespace {

using Json = TruthJson;

Json empty_account(int rank) {
  return {{"rank", rank},
          {"pid", nullptr},
          {"host", nullptr},
          {"attempts", 0},
          {"batch", 0},
          {"begin", nullptr},
          {"end", nullptr},
          {"ended", nullptr},
          {"failure", nullptr},
          {"checksum", nullptr},
          {"first_loss", nullptr},
          {"last_loss", nullptr},
          {"state_bytes", nullptr},
          {"step_begin_monotonic_raw_ns", Json::array()},
          {"step_ns", Json::array()},
          {"samples", Json::array()},
          {"index_hash", Json::array()},
          {"strikes", Json::array()},
          {"deeds", Json::array()},
          {"damaged_lines", 0}};
}

// Adds one line to the account. Strikes of a failed attempt stay: they explain the restart.
void take(Json& account, const Json& line) {
  const auto& event = line.at("event").get_ref<const std::string&>();
  const auto copy = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) account.at(name) = line.at(name);
  };
  const auto add = [&](const char* to, const char* from) {
    for (const Json& item : line.at(from)) account.at(to).push_back(item);
  };
  if (event == "begin") {
    copy({"pid", "host", "begin", "batch"});
    account["attempts"] = account.at("attempts").get<int>() + 1;
    for (const char* name : {"step_begin_monotonic_raw_ns", "step_ns", "samples", "index_hash"}) {
      account[name] = Json::array();
    }
    account["failure"] = nullptr;
  } else if (event == "steps") {
    add("step_begin_monotonic_raw_ns", "begin");
    add("step_ns", "ns");
    add("samples", "samples");
    add("index_hash", "index_hash");
  } else if (event == "strike" || event == "deed") {
    Json item = line;
    item.erase("event");
    account.at(event == "strike" ? "strikes" : "deeds").push_back(std::move(item));
  } else if (event == "failed") {
    account["failure"] = line.at("why");
  } else if (event == "end") {
    copy({"end", "checksum", "first_loss", "last_loss", "state_bytes"});
    account["ended"] = true;
  }
}

struct Part {
  Json account;
  std::optional<Json> begin;  // the latest
};

// Reads a rank's file, and counts lines that a dying rank or a full disk left unfinished.
std::optional<Part> read_part(const std::filesystem::path& file, int rank) {
  std::ifstream in(file);
  if (!in) return std::nullopt;
  Part part{empty_account(rank), std::nullopt};
  int64_t damaged = 0;
  for (std::string text; std::getline(in, text);) {
    try {
      const Json line = Json::parse(text);
      take(part.account, line);
      if (line.at("event") == "begin") part.begin = line;
    } catch (const Json::exception&) {
      ++damaged;
    }
  }
  part.account["damaged_lines"] = damaged;
  return part;
}

JobTruth job_of(const Json& begin) {
  JobTruth job{
      begin.at("model"), begin.at("backend"), begin.at("world_size"), begin.at("seed"), {}};
  for (const Json& fault : begin.at("faults")) {
    job.faults.push_back(parse_fault(fault.get_ref<const std::string&>()));
  }
  return job;
}

// The rank's file covers earlier attempts too, so it is preferred if the same process wrote it.
Json account_of(int rank, const std::optional<Part>& part, const std::string& published) {
  if (published.empty()) return part ? part->account : empty_account(rank);
  Json sent = Json::parse(published);
  const bool same = part && part->account.at("pid") == sent.at("pid") &&
                    part->account.at("host") == sent.at("host") &&
                    !part->account.at("ended").is_null();
  return same ? part->account : sent;
}

}  // namespace

bool merge_truth(const std::filesystem::path& truth_file,
                 const std::vector<std::string>& published) {
  // Any rank's account describes the job.
  std::optional<Json> begin;
  const std::string parts = truth_file.filename().string() + ".rank-";
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::absolute(truth_file).parent_path(), error)) {
    if (begin || !entry.path().filename().string().starts_with(parts)) continue;
    if (const std::optional<Part> part = read_part(entry.path(), 0)) begin = part->begin;
  }
  if (!begin) {
    throw std::runtime_error("no rank has left an account beside " + truth_file.string() +
                             "\nhint: the job ended before its first step");
  }
  const JobTruth job = job_of(*begin);
  std::vector<Json> accounts;
  bool whole = true;
  bool final = true;
  for (int rank = 0; rank < job.world_size; ++rank) {
    const std::string sent =
        static_cast<size_t>(rank) < published.size() ? published[static_cast<size_t>(rank)] : "";
    accounts.push_back(account_of(rank, read_part(truth_part(truth_file, rank), rank), sent));
    whole = whole && !accounts.back().at("ended").is_null();
    final = final &&
            !(accounts.back().at("ended").is_null() && accounts.back().at("failure").is_null());
  }
  write_truth_json(truth_file, job, std::move(accounts));
  for (int rank = 0; whole && rank < job.world_size; ++rank) {
    std::filesystem::remove(truth_part(truth_file, rank), error);
  }
  return final;
}

}  // namespace dprof::trainer_harness
