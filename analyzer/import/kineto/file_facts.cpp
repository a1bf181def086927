// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/kineto/file_facts.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "analyzer/import/kineto/decimal.h"
#include "analyzer/import/text.h"

namespace dprof::analyzer::kineto {
namespace {

using nlohmann::json;

constexpr int kMaxRanks = 1 << 20;
constexpr size_t kMostProcesses = 4096;
constexpr std::string_view kKinetoMembers[] = {"schemaVersion", "deviceProperties",
                                               "distributedInfo", "baseTimeNanoseconds"};
constexpr std::string_view kHostMembers[] = {"host_name", "hostname", "host"};

constexpr Skip kBadBase{.what = "times at zero (baseTimeNanoseconds) out of range"};

// Times beyond this many ns count from 1970 (they are after 2001); uptimes are shorter.
constexpr int64_t kEpochFromNs = 1'000'000'000'000'000'000;

std::optional<int> small_number(const json& object, const char* key) {
  const auto member = object.find(key);
  if (member == object.end() || !member->is_number_integer()) return std::nullopt;
  const auto number = member->get<int64_t>();
  if (number < 0 || number > kMaxRanks) return std::nullopt;
  return static_cast<int>(number);
}

std::optional<int64_t> whole(const json& object, const char* key) {
  const auto member = object.find(key);
  if (member == object.end() || !member->is_number_integer()) return std::nullopt;
  return member->get<int64_t>();
}

std::string text(const json& object, const char* key) {
  const auto member = object.find(key);
  return member != object.end() && member->is_string() ? member->get<std::string>() : "";
}

std::string plain(const Value& value) {
  return value.escaped ? unescape(value.raw) : clean_utf8(std::string(value.raw));
}

}  // namespace

void FileFacts::member(std::string_view key, const Value& value) {
  if (std::ranges::find(kKinetoMembers, key) != std::end(kKinetoMembers)) of_kineto_ = true;
  if (key == "distributedInfo") {
    read_distributed(value.raw);
  } else if (key == "deviceProperties") {
    read_devices(value.raw);
  } else if (key == "baseTimeNanoseconds") {
    base_ns_ = whole_number(value.raw);
    bad_base_ = !base_ns_ || *base_ns_ > kMaxTimeNs || *base_ns_ < -kMaxTimeNs;
    if (bad_base_) base_ns_.reset();
  } else if (std::ranges::find(kHostMembers, key) != std::end(kHostMembers)) {
    if (value.kind == Value::Kind::kString && host_.empty()) host_ = plain(value);
  } else if (key == "cuda_driver_version" && value.kind == Value::Kind::kBare) {
    meta_["cuda_driver"] = plain(value);
  } else if (key == "cupti_version" && value.kind == Value::Kind::kBare) {
    meta_["cupti_version"] = plain(value);
  }
}

void FileFacts::read_distributed(std::string_view raw) {
  const json info = json::parse(raw, nullptr, false);
  if (!info.is_object()) return;
  distributed_ = info.dump(-1, ' ', false, json::error_handler_t::replace);
  rank_ = small_number(info, "rank");
  world_size_ = small_number(info, "world_size");
  if (world_size_ == 0) world_size_.reset();
  backend_ = text(info, "backend");
  if (const std::string version = text(info, "nccl_version"); !version.empty())
    meta_["nccl_version"] = version;
  const auto groups = info.find("pg_config");
  if (groups == info.end() || !groups->is_array()) return;
  for (const json& group : *groups) {
    if (!group.is_object()) continue;
    const auto ranks = group.find("ranks");
    if (ranks == group.end()) continue;
    const auto list = rank_list(ranks->is_string() ? ranks->get<std::string>() : ranks->dump());
    if (list && !list->empty()) groups_[text(group, "pg_name")] = *list;
  }
}

void FileFacts::read_devices(std::string_view raw) {
  const json devices = json::parse(raw, nullptr, false);
  if (!devices.is_array()) return;
  for (const json& device : devices) {
    if (!device.is_object()) continue;
    const std::optional<int64_t> id = whole(device, "id");
    if (!id) continue;
    Device& entry = devices_[*id];
    entry.name = text(device, "name");
    entry.memory_bytes = whole(device, "totalGlobalMem");
    const std::optional<int64_t> major = whole(device, "computeMajor");
    const std::optional<int64_t> minor = whole(device, "computeMinor");
    constexpr int64_t kMost = 10'000;
    if (major && minor && *major >= 0 && *major < kMost && *minor >= 0 && *minor < 100)
      entry.compute_capability = *major * 100 + *minor;
  }
}

std::optional<int> FileFacts::rank() const {
  if (given_rank_ || rank_) return given_rank_ ? given_rank_ : rank_;
  if (rank_of_process_.empty() || !ranks_of_processes().empty()) return std::nullopt;
  return rank_of_process_.begin()->second;
}

const std::map<std::string, int>& FileFacts::ranks_of_processes() const {
  static const std::map<std::string, int> kNone;
  const bool one = std::ranges::all_of(rank_of_process_, [&](const auto& entry) {
    return entry.second == rank_of_process_.begin()->second;
  });
  return one ? kNone : rank_of_process_;
}

void FileFacts::process_name(std::string_view process, std::string_view name) {
  std::string low(name.substr(0, 64));
  std::ranges::transform(low, low.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  });
  const size_t word = low.find("rank");
  if (word == std::string::npos) return;
  size_t at = low.find_first_not_of(" :#_-=[", word + 4);
  if (at == std::string::npos) return;
  int rank = 0;
  const auto [end, error] = std::from_chars(low.data() + at, low.data() + low.size(), rank);
  if (error != std::errc() || rank < 0 || rank > kMaxRanks) return;
  if (rank_of_process_.size() < kMostProcesses)
    rank_of_process_.try_emplace(std::string(process), rank);
}

void FileFacts::give_to(TraceSink& sink, Groups& groups, int64_t latest_ns, int decimals) {
  if (rank()) sink.set_rank(*rank());
  if (given_rank_) {
    sink.remark(
        "import_several_ranks",
        "going by the names of its processes, the file holds several ranks; this is one of them");
  }
  if (world_size_) sink.set_world_size(*world_size_);
  if (bad_base_) sink.skip(kBadBase);
  FileClock clock{.host = host_};
  if (base_ns_) {
    clock.realtime_at_zero_ns = *base_ns_;
  } else if (latest_ns > kEpochFromNs) {
    clock.realtime_at_zero_ns = 0;
  }
  constexpr int64_t kResolution[] = {1000, 100, 10, 1};
  clock.resolution_ns = kResolution[std::clamp(decimals, 0, 3)];
  sink.set_clock(std::move(clock));
  if (!distributed_.empty()) sink.set_meta("distributed_info", distributed_);
  for (const auto& [key, value] : meta_) sink.set_meta(key, value);
  for (auto& [name, members] : groups_) groups.know(name, members);
  for (const auto& [id, device] : devices_) {
    if (!sink.has_device(id)) continue;
    schema::DeviceRow row{.id = id,
                          .memory_bytes = device.memory_bytes,
                          .compute_capability = device.compute_capability};
    if (!device.name.empty()) row.name_id = sink.text(device.name);
    sink.set_device(row);
  }
}

}  // namespace dprof::analyzer::kineto
