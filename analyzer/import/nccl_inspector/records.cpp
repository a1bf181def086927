// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/nccl_inspector/records.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "analyzer/import/kineto/words.h"

namespace dprof::analyzer::nccl_inspector {
namespace {

using Json = nlohmann::json;
using schema::Function;

constexpr size_t kDeepest = 64;

const Json* member(const Json* json, const char* key) {
  if (json == nullptr || !json->is_object()) return nullptr;
  const auto found = json->find(key);
  return found == json->end() ? nullptr : &*found;
}

std::optional<int64_t> integer(const Json* json) {
  if (json == nullptr || !json->is_number_integer()) return std::nullopt;
  if (json->is_number_unsigned() && json->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
    return std::nullopt;
  return json->get<int64_t>();
}

std::optional<double> real(const Json* json) {
  if (json == nullptr || !json->is_number()) return std::nullopt;
  return json->get<double>();
}

std::string text(const Json* json) {
  return json != nullptr && json->is_string() ? json->get<std::string>() : std::string();
}

// Microseconds; nullopt if implausible.
std::optional<int64_t> ns_of(const std::optional<int64_t>& us) {
  constexpr int64_t kLimit = (int64_t{1} << 61) / 1000;
  if (!us || *us < 0 || *us > kLimit) return std::nullopt;
  return *us * 1000;
}

std::optional<uint64_t> hash_of(std::string_view hex) {
  if (hex.starts_with("0x")) hex.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
  if (hex.empty() || error != std::errc() || end != hex.data() + hex.size()) return std::nullopt;
  return value;
}

// The first channel's begin; the call's if kernels were not observed.
std::optional<int64_t> start_of(const Json* times) {
  std::optional<int64_t> first;
  const Json* channels = member(times, "kernel_events");
  if (channels != nullptr && channels->is_array()) {
    for (const Json& channel : *channels) {
      const auto start = ns_of(integer(member(&channel, "kernel_start_ts")));
      if (start && (!first || *start < *first)) first = start;
    }
  }
  return first ? first : ns_of(integer(member(times, "coll_start_ts")));
}

bool is_too_deep(std::string_view text) {
  size_t depth = 0;
  for (const char c : text) {
    if ((c == '{' || c == '[') && ++depth > kDeepest) return true;
    if ((c == '}' || c == ']') && depth > 0) --depth;
  }
  return false;
}

}  // namespace

std::optional<std::string_view> next_object(std::string_view& rest) {
  const size_t begin = rest.find('{');
  if (begin == std::string_view::npos) {
    rest = {};
    return std::string_view();
  }
  size_t depth = 0;
  bool quoted = false;
  for (size_t i = begin; i < rest.size(); ++i) {
    const char c = rest[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '{') ++depth;
    if (c == '}' && --depth == 0) {
      const std::string_view object = rest.substr(begin, i + 1 - begin);
      rest.remove_prefix(i + 1);
      return object;
    }
  }
  rest = {};
  return std::nullopt;
}

Result<Record> record_of(std::string_view object) {
  if (is_too_deep(object)) return fail(Code::kDamaged, "nested too deeply");
  const Json json = Json::parse(object, nullptr, false);
  if (json.is_discarded()) return fail(Code::kDamaged, "not valid JSON");
  const Json* header = member(&json, "header");
  const Json* metadata = member(&json, "metadata");
  const Json* collective = member(&json, "coll_perf");
  const auto id = hash_of(text(member(header, "id")));
  const auto rank = integer(member(header, "rank"));
  const auto ranks = integer(member(header, "n_ranks"));
  const auto written = ns_of(integer(member(metadata, "dump_timestamp_us")));
  const auto duration = ns_of(integer(member(collective, "coll_exec_time_us")));
  const std::optional<Function> function = kineto::function_of(text(member(collective, "coll")));
  constexpr int64_t kMostRanks = 1 << 24;
  const bool sensible = id && rank && ranks && *rank >= 0 && *rank < *ranks && *ranks <= kMostRanks;
  if (!sensible || !written || !duration || !function)
    return fail(Code::kNotATrace, "not a record of a collective");
  Record record;
  record.communicator = *id;
  record.rank = *rank;
  record.ranks = *ranks;
  record.host = text(member(metadata, "hostname"));
  record.pid = integer(member(metadata, "pid")).value_or(0);
  record.function = *function;
  record.sequence = integer(member(collective, "coll_sn"));
  record.message_bytes = integer(member(collective, "coll_msg_size_bytes"));
  if (record.message_bytes && *record.message_bytes < 0) record.message_bytes.reset();
  record.duration_ns = *duration;
  record.start_ns = start_of(member(collective, "event_trace_ts"));
  record.written_ns = *written;
  record.algbw_gbs = real(member(collective, "coll_algobw_gbs"));
  record.busbw_gbs = real(member(collective, "coll_busbw_gbs"));
  return record;
}

std::optional<int64_t> input_bytes(const Record& record) {
  if (!record.message_bytes || record.function == Function::kBarrier) return std::nullopt;
  const bool per_rank = record.function == Function::kReduceScatter;
  int64_t bytes = 0;
  if (__builtin_mul_overflow(*record.message_bytes, per_rank ? record.ranks : 1, &bytes))
    return std::nullopt;
  return bytes;
}

}  // namespace dprof::analyzer::nccl_inspector
