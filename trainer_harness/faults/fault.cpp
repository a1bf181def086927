// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/faults/fault.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <thread>

namespace dprof::trainer_harness {
namespace {

struct KindName {
  std::string_view name;
  FaultKind kind;
};

constexpr KindName kKinds[] = {
    {"compute", FaultKind::kCompute},
    {"loader", FaultKind::kLoader},
    {"backward", FaultKind::kBackward},
};

constexpr std::string_view kKeys = "rank, ms, from, to, every, mode";

[[noreturn]] void refuse(std::string_view text, const std::string& why, const std::string& hint) {
  throw UsageError(fmt::format("--inject {}: {}\nhint: {}", text, why, hint));
}

int64_t whole_number(std::string_view text, std::string_view key, std::string_view value) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size() || number < 0) {
    refuse(text, fmt::format("{}={} is not a whole number of 0 or more", key, value),
           fmt::format("write {}=N", key));
  }
  return number;
}

double milliseconds(std::string_view text, std::string_view value) {
  double ms = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), ms);
  const bool whole = error == std::errc{} && end == value.data() + value.size();
  if (!whole || !std::isfinite(ms) || ms <= 0) {
    refuse(text, fmt::format("ms={} is not a positive number of milliseconds", value),
           "write ms=12 or ms=0.5");
  }
  return ms;
}

FaultKind kind_of(std::string_view text, std::string_view name) {
  for (const KindName& known : kKinds) {
    if (known.name == name) return known.kind;
  }
  refuse(text, fmt::format("no fault is called '{}'", name),
         fmt::format("the kinds are {}", fault_kind_names()));
}

void set_key(Fault& fault, std::string_view text, std::string_view key, std::string_view value) {
  if (key == "rank") {
    const int64_t rank = whole_number(text, key, value);
    if (rank > std::numeric_limits<int>::max())
      refuse(text, "no job has such a rank", "write rank=1");
    fault.rank = static_cast<int>(rank);
  } else if (key == "ms") {
    fault.ms = milliseconds(text, value);
  } else if (key == "from") {
    fault.from = whole_number(text, key, value);
  } else if (key == "to") {
    fault.to = whole_number(text, key, value);
  } else if (key == "every") {
    fault.every = whole_number(text, key, value);
    if (fault.every == 0) refuse(text, "every=0 names no step", "every=1 is each step");
  } else if (key == "mode") {
    if (value != "sleep" && value != "busy") {
      refuse(text, fmt::format("mode={} is not known", value), "the modes are sleep and busy");
    }
    fault.busy = value == "busy";
  } else {
    refuse(text, fmt::format("no key is called '{}'", key), fmt::format("the keys are {}", kKeys));
  }
}

}  // namespace

std::string_view fault_kind_name(FaultKind kind) {
  for (const KindName& known : kKinds) {
    if (known.kind == kind) return known.name;
  }
  return "unknown";
}

std::string fault_kind_names() {
  std::string names;
  for (const KindName& known : kKinds) {
    if (!names.empty()) names += ", ";
    names += known.name;
  }
  return names;
}

Fault parse_fault(std::string_view text) {
  const size_t colon = text.find(':');
  Fault fault;
  fault.kind = kind_of(text, text.substr(0, colon));
  std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  bool has_rank = false;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const std::string_view pair = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) {
      refuse(text, fmt::format("'{}' is not key=value", pair),
             fmt::format("write KIND:key=value,...; the keys are {}", kKeys));
    }
    set_key(fault, text, pair.substr(0, equals), pair.substr(equals + 1));
    has_rank = has_rank || pair.substr(0, equals) == "rank";
  }
  if (!has_rank || fault.ms <= 0) {
    refuse(text, "rank and ms are needed", "write for example loader:rank=1,ms=12");
  }
  if (fault.from >= fault.to) {
    refuse(text, "no step lies in from..to", "the range is half-open: from=10,to=20 are ten steps");
  }
  return fault;
}

bool strikes(const Fault& fault, FaultKind kind, int rank, int64_t step) {
  return fault.kind == kind && fault.rank == rank && step >= fault.from && step < fault.to &&
         (step - fault.from) % fault.every == 0;
}

void suffer(const Fault& fault) {
  using Clock = std::chrono::steady_clock;
  const auto delay = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double, std::milli>(fault.ms));
  if (!fault.busy) {
    std::this_thread::sleep_for(delay);
    return;
  }
  const Clock::time_point end = Clock::now() + delay;
  while (Clock::now() < end) {
  }
}

}  // namespace dprof::trainer_harness
