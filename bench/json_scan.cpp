// SPDX-License-Identifier: Apache-2.0
// The importer's JSON scanner against simdjson's on-demand parser, on the same events in memory.
// By turns; a ratio is the median over the rounds, with the 95 % interval of that median. Fails
// where the readers do not see the same.
//
// simdjson has all events at once, in a padded buffer: what it would cost to give it a large file
// in pieces is not counted. Sloppy text it refuses: then there is nothing to compare.
#include "analyzer/import/kineto/json_scan.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "analyzer/import/input.h"
#include "bench/process_use.h"

namespace {

using dprof::analyzer::Input;
using dprof::analyzer::kineto::Cursor;
using dprof::analyzer::kineto::Scan;
using dprof::analyzer::kineto::Value;
namespace ondemand = simdjson::ondemand;

// Each reader looks at every member of every event and of its `args`, by key and by value.
struct Seen {
  int64_t events = 0;  // -1 = the reader gave up
  int64_t members = 0;
  int64_t bytes = 0;  // of keys and values, as they stand in the text

  void add(std::string_view key, std::string_view value) {
    ++members;
    bytes += static_cast<int64_t>(key.size() + value.size());
  }
  friend bool operator==(const Seen&, const Seen&) = default;
};

// As Kineto writes them.
std::string made_events(int64_t count) {
  std::string text = "[";
  for (int64_t i = 0; i < count; ++i) {
    text += i == 0 ? "\n" : ",\n";
    text += fmt::format(
        R"json(  {{
    "ph": "X", "cat": "kernel", "name": "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)", "pid": 0, "tid": 7,
    "ts": {}.{:03}, "dur": {}.{:03},
    "args": {{
      "External id": {}, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": {},
      "registers per thread": 32, "shared memory": 0, "grid": [{}, 1, 1], "block": [128, 1, 1]
    }}
  }})json",
        1'700'000'000'000 + i * 10, i % 1000, 5 + i % 7, i % 1000, i, i, 1 + i % 4096);
  }
  return text + "\n]";
}

// The array of events of a file; "" = it has none.
std::string events_of(const std::string& path) {
  dprof::Result<Input> input = Input::open(path);
  if (!input.ok()) return "";
  std::string text;
  for (std::string_view block = input->next(); !block.empty(); block = input->next()) text += block;
  const size_t key = text.find("\"traceEvents\"");
  const size_t begin = text.find('[', key == std::string::npos ? 0 : key);
  if (begin == std::string::npos) return "";
  Cursor cursor(std::string_view(text).substr(begin));
  Value events;
  return cursor.value(events) == Scan::kDone ? std::string(events.raw) : "";
}

Scan see_object(Cursor& cursor, bool in_args, Seen& seen) {
  cursor.enter();
  while (true) {
    Value key;
    bool more = false;
    if (const Scan scan = cursor.next_key(key, more); scan != Scan::kDone || !more) return scan;
    if (!in_args && key.raw == "args" && cursor.peek() == '{') {
      seen.add(key.raw, {});
      if (const Scan scan = see_object(cursor, true, seen); scan != Scan::kDone) return scan;
      continue;
    }
    Value value;
    if (const Scan scan = cursor.value(value); scan != Scan::kDone) return scan;
    seen.add(key.raw, value.raw);
  }
}

Seen scan_ours(std::string_view text) {
  Seen seen;
  Cursor cursor(text);
  cursor.enter();
  bool more = true;
  while (cursor.next_element(more) == Scan::kDone && more) {
    ++seen.events;
    if (see_object(cursor, false, seen) != Scan::kDone) break;
  }
  return seen;
}

std::string_view trimmed(std::string_view text) {
  return text.substr(0, text.find_last_not_of(" \n\r\t") + 1);
}

void see_theirs(ondemand::object object, bool in_args, Seen& seen) {
  for (ondemand::field field : object) {
    const std::string_view key = field.unescaped_key();
    ondemand::value value = field.value();
    const ondemand::json_type type = value.type();
    if (type == ondemand::json_type::object && !in_args && key == "args") {
      seen.add(key, {});
      see_theirs(value.get_object(), true, seen);
    } else if (type == ondemand::json_type::object) {
      ondemand::object inner = value.get_object();
      seen.add(key, trimmed(inner.raw_json()));
    } else if (type == ondemand::json_type::array) {
      ondemand::array inner = value.get_array();
      seen.add(key, trimmed(inner.raw_json()));
    } else {
      std::string_view token = trimmed(value.raw_json_token());
      if (type == ondemand::json_type::string) token = token.substr(1, token.size() - 2);
      seen.add(key, token);
    }
  }
}

// SIMDJSON_PADDING bytes behind the text are ours.
Seen scan_theirs(std::string_view text) {
  static ondemand::parser parser;
  Seen seen;
  try {
    ondemand::document document =
        parser.iterate(text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING);
    for (ondemand::object event : document.get_array()) {
      ++seen.events;
      see_theirs(event, false, seen);
    }
  } catch (const simdjson::simdjson_error&) {
    seen.events = -1;
  }
  return seen;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<int64_t>(values.size() / 2));
  return values[values.size() / 2];
}

// The median of the rounds' ratios, and its 95 % interval.
std::array<double, 3> ratio(const std::vector<double>& seconds, const std::vector<double>& base) {
  std::vector<double> ratios;
  for (size_t r = 0; r < base.size(); ++r) ratios.push_back(seconds[r] / base[r]);
  std::mt19937 source(1);
  std::vector<double> medians;
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> resampled;
    for (size_t r = 0; r < ratios.size(); ++r)
      resampled.push_back(ratios[source() % ratios.size()]);
    medians.push_back(median(std::move(resampled)));
  }
  std::ranges::sort(medians);
  return {median(ratios), medians[50], medians[1949]};
}

}  // namespace

int main(int argc, char** argv) {
  std::string file;
  int64_t events = 100'000;
  int rounds = 31;
  CLI::App app{"the importer's JSON scanner against simdjson"};
  app.add_option("FILE", file, "a Kineto recording, perhaps packed; without: events made here");
  app.add_option("--events", events, "to be made")->capture_default_str();
  app.add_option("--rounds", rounds)->capture_default_str()->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);

  std::string buffer = file.empty() ? made_events(events) : events_of(file);
  if (buffer.empty()) {
    fmt::print(stderr, "{}: no events\n", file);
    return 1;
  }
  const size_t size = buffer.size();
  buffer.resize(size + simdjson::SIMDJSON_PADDING);
  const std::string_view text(buffer.data(), size);

  std::array<std::vector<double>, 2> seconds;
  Seen ours;
  for (int round = 0; round < rounds; ++round) {
    auto begin = std::chrono::steady_clock::now();
    ours = scan_ours(text);
    seconds[0].push_back(dprof::bench::seconds_since(begin));
    begin = std::chrono::steady_clock::now();
    const Seen theirs = scan_theirs(text);
    seconds[1].push_back(dprof::bench::seconds_since(begin));
    if (ours == theirs) continue;
    fmt::print(stderr, "dprof saw {} events with {} members of {} bytes, simdjson {}, {}, {}\n",
               ours.events, ours.members, ours.bytes, theirs.events, theirs.members, theirs.bytes);
    return 1;
  }
  const auto speed = [&](size_t which) {
    return static_cast<double>(size) / median(seconds[which]) / 1e9;
  };
  const auto [middle, low, high] = ratio(seconds[0], seconds[1]);
  fmt::print(
      "{} events, {:.1f} MB: dprof {:.2f} GB/s, simdjson {:.2f} GB/s; dprof takes {:.2f} times as long, 95 % {:.2f} … {:.2f}\n",
      ours.events, static_cast<double>(size) / 1e6, speed(0), speed(1), middle, low, high);
  return 0;
}
