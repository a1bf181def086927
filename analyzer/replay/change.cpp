// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/change.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace dprof::analyzer {
namespace {

// What can follow the subject.
enum Form : unsigned {
  kTimesFactor = 1,  // *0.8
  kZero = 2,         // =0
  kPeersForm = 4,    // =peers
  kWordForm = 8,     // =none and the like
  kBytesForm = 16,   // =50MB
  kCountForm = 32,   // =4
  kTimesCount = 64,  // =2x
  kNamed = 128,      // a name after a colon
  kAboveZero = 256,  // the factor is not 0
};

struct SubjectKind {
  std::string_view word;
  unsigned forms;
  std::string_view said;  // its word, for kWordForm
  std::string_view example;
};

// In the order of Subject.
constexpr std::array<SubjectKind, kSubjects> kKinds = {{
    {"rank", kNamed | kPeersForm | kTimesFactor, "", "rank:3=peers"},
    {"host", kNamed | kPeersForm | kTimesFactor, "", "host:node-2=peers"},
    {"stragglers", kWordForm, "none", "stragglers=none"},
    {"input", kZero | kTimesFactor, "", "input=0"},
    {"transfer", kZero | kTimesFactor, "", "transfer*0.5"},
    {"bandwidth", kTimesFactor | kAboveZero, "", "bandwidth*2"},
    {"latency", kZero | kTimesFactor, "", "latency=0"},
    {"bucket_cap", kBytesForm, "", "bucket_cap=50MB"},
    {"overlap", kWordForm, "full", "overlap=full"},
    {"sync", kWordForm, "none", "sync=none"},
    {"launch", kWordForm, "graphs", "launch=graphs"},
    {"gc", kWordForm | kZero, "together", "gc=together"},
    {"checkpoint", kZero | kTimesFactor, "", "checkpoint=0"},
    {"kernel", kNamed | kZero | kTimesFactor, "", "kernel:NAME*0.7"},
    {"phase", kNamed | kZero | kTimesFactor, "", "phase:forward*0.9"},
    {"op", kNamed | kZero | kTimesFactor, "", "op:aten::mm*0.5"},
    {"accumulate", kCountForm, "", "accumulate=4"},
    {"world", kTimesCount, "", "world=2x"},
    {"host-work", kZero | kTimesFactor, "", "host-work=0"},
}};

struct Unit {
  std::string_view word;
  double bytes;
};
constexpr Unit kUnits[] = {{"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0},
                           {"KB", 1e3},     {"MB", 1e6},        {"GB", 1e9},
                           {"B", 1.0}};

Failure wrong(std::string_view text, std::string_view why) {
  return fail(Code::kUsage, fmt::format("--what-if '{}': {}", text, why),
              "one of: " + change_examples());
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(value) || value < 0) return std::nullopt;
  return value;
}

std::optional<int64_t> bytes_of(std::string_view text) {
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.word)) continue;
    const auto value = number_of(text.substr(0, text.size() - unit.word.size()));
    if (!value || *value <= 0 || *value * unit.bytes > 1e15) return std::nullopt;
    return std::llround(*value * unit.bytes);
  }
  return std::nullopt;
}

// The value after '=': true if it is valid for the subject.
bool read_value(const SubjectKind& kind, std::string_view value, Change& change) {
  const auto takes = [&](Form form) { return (kind.forms & form) != 0; };
  if (takes(kPeersForm) && value == "peers") {
    change.peers = true;
    return true;
  }
  if (takes(kWordForm) && value == kind.said) {
    change.word = true;
    return true;
  }
  if (takes(kZero) && number_of(value) == 0.0) {
    change.factor = 0;
    return true;
  }
  if (takes(kBytesForm)) {
    const auto bytes = bytes_of(value);
    change.bytes = bytes.value_or(0);
    return bytes.has_value();
  }
  if (takes(kTimesCount)) {
    if (!value.ends_with('x')) return false;
    value.remove_suffix(1);
  }
  if (takes(kCountForm) || takes(kTimesCount)) {
    const auto count = number_of(value);
    if (!count || *count < 1 || *count > 1024 || *count != std::floor(*count)) return false;
    change.factor = *count;
    return true;
  }
  return false;
}

}  // namespace

std::string change_examples() {
  std::vector<std::string_view> examples;
  for (const SubjectKind& kind : kKinds) examples.push_back(kind.example);
  return fmt::format("{}", fmt::join(examples, ", "));
}

Result<Change> parse_change(std::string_view text) {
  // Kernel names contain asterisks, operator names colons: the last sign counts.
  const size_t sign = text.find_last_of("=*");
  if (sign == std::string_view::npos || sign == 0 || sign + 1 == text.size())
    return wrong(text, "it names no change, such as '=0' or '*0.5'");
  const std::string_view whole = text.substr(0, sign);
  const size_t colon = whole.find(':');
  const std::string_view word = whole.substr(0, colon);
  const auto* kind = std::ranges::find(kKinds, word, &SubjectKind::word);
  if (kind == kKinds.end()) return wrong(text, fmt::format("unknown change '{}'", word));
  Change change{.subject = static_cast<Subject>(kind - kKinds.begin()),
                .text = std::string(text),
                .name = {}};
  const bool named = colon != std::string_view::npos && colon + 1 < whole.size();
  if (named != ((kind->forms & kNamed) != 0))
    return wrong(text, named ? "it takes no name" : "a name must follow, after a colon");
  if (named) change.name = std::string(whole.substr(colon + 1));
  if (change.subject == Subject::kRank) {
    const auto rank = number_of(change.name);
    if (!rank || *rank != std::floor(*rank) || *rank > 1e9)
      return wrong(text, "the rank must be a number");
    change.rank = static_cast<int>(*rank);
  }
  const std::string_view value = text.substr(sign + 1);
  if (text[sign] == '*') {
    const auto factor = number_of(value);
    if ((kind->forms & kTimesFactor) == 0 || !factor ||
        ((kind->forms & kAboveZero) != 0 && *factor == 0))
      return wrong(text, fmt::format("'*{}' is not possible here", value));
    change.factor = *factor;
    return change;
  }
  if (!read_value(*kind, value, change))
    return wrong(text, fmt::format("'={}' is not possible here", value));
  return change;
}

}  // namespace dprof::analyzer
