// SPDX-License-Identifier: Apache-2.0
// Compares the importer's JSON scanner with simdjson's on-demand parser and RapidJSON's Reader, on
// the same events in memory, in turns. A ratio is the median over the rounds, with its 95 %
// interval. Fails if readers that read to the end do not see the same.
//
//   simdjson              all events at once; to give it a large file in pieces is not counted
//   simdjson, each event  the scanner finds an event's end, simdjson reads it: what is no JSON for
//                         simdjson (NaN, raw control characters, …) costs this event
//   ends of events        the scanner finds them, and nothing reads the events
//   RapidJSON             one event after the other, at each of which it could begin again
//   RapidJSON, in situ    it overwrites the text, so that it could not
#include "analyzer/import/kineto/json_scan.h"

#include <fmt/format.h>
#include <rapidjson/reader.h>
#include <simdjson.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
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

// Each reader visits every member of every event and of its `args`, by key and by value.
struct Seen {
  int64_t events = 0;
  int64_t refused = 0;  // of these
  int64_t members = 0;
  int64_t bytes = 0;  // of keys and values; RapidJSON's strings are unescaped

  void add(std::string_view key, std::string_view value) { add(key.size() + value.size()); }
  void add(size_t size) {
    ++members;
    bytes += static_cast<int64_t>(size);
  }
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

// Calls `read` with each event's position; false = no more events.
template <typename Read>
Seen for_each_event(std::string_view text, Read&& read) {
  Seen seen;
  Cursor cursor(text);
  cursor.enter();
  bool more = true;
  while (cursor.next_element(more) == Scan::kDone && more) {
    ++seen.events;
    if (read(cursor, seen) != Scan::kDone) break;
  }
  return seen;
}

Seen scan_ours(std::string_view text) {
  return for_each_event(text,
                        [](Cursor& cursor, Seen& seen) { return see_object(cursor, false, seen); });
}

Seen find_ends(std::string_view text) {
  return for_each_event(text, [](Cursor& cursor, Seen&) {
    Value event;
    return cursor.value(event);
  });
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

// In all of these, SIMDJSON_PADDING bytes after the text are allocated.
Seen scan_simdjson(std::string_view text) {
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
    seen.refused = 1;
  }
  return seen;
}

Seen scan_simdjson_each(std::string_view text) {
  static ondemand::parser parser;
  return for_each_event(text, [](Cursor& cursor, Seen& seen) {
    Value event;
    const Scan scan = cursor.value(event);
    if (scan != Scan::kDone) return scan;
    try {
      ondemand::document document = parser.iterate(event.raw.data(), event.raw.size(),
                                                   event.raw.size() + simdjson::SIMDJSON_PADDING);
      see_theirs(document.get_object(), false, seen);
    } catch (const simdjson::simdjson_error&) {
      ++seen.refused;
    }
    return scan;
  });
}

// RapidJSON's callbacks. Anything nested deeper than the members of an event and of its `args`
// counts as one value.
// NOLINTBEGIN(readability-identifier-naming): the names by which RapidJSON calls them
template <typename Stream>
class Handler : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Handler<Stream>> {
 public:
  Handler(Stream& stream, Seen& seen) : stream_(stream), seen_(seen) {}

  bool Default() { return value(4); }
  bool RawNumber(const char*, unsigned size, bool) { return value(size); }
  bool String(const char*, unsigned size, bool) { return value(size); }
  bool Key(const char* text, unsigned size, bool) {
    if (depth_ != counted_) return true;
    key_ = size;
    is_args_ = depth_ == 1 && std::string_view(text, size) == "args";
    return true;
  }
  bool StartObject() {
    if (depth_ == 1 && is_args_) {
      seen_.add(key_);
    } else if (depth_ > 0) {
      return StartArray();
    }
    counted_ = ++depth_;
    return true;
  }
  bool EndObject(unsigned) {
    if (depth_ != counted_) return EndArray(0);
    counted_ = --depth_;
    return true;
  }
  bool StartArray() {
    if (depth_ == counted_) began_ = stream_.Tell();
    return ++depth_ <= dprof::analyzer::kineto::kMaxDepth;
  }
  bool EndArray(unsigned) {
    --depth_;
    return value(stream_.Tell() - began_ + 1);
  }

 private:
  bool value(size_t size) {
    if (depth_ == counted_) seen_.add(key_ + size);
    return true;
  }

  Stream& stream_;
  Seen& seen_;
  int depth_ = 0;
  int counted_ = 0;  // the depth whose members count
  size_t key_ = 0;
  bool is_args_ = false;
  size_t began_ = 0;
};
// NOLINTEND(readability-identifier-naming)

template <unsigned kFlags, typename Stream>
Seen scan_rapidjson(Stream stream) {
  constexpr unsigned kAll = kFlags | rapidjson::kParseStopWhenDoneFlag |
                            rapidjson::kParseNumbersAsStringsFlag |
                            rapidjson::kParseTrailingCommasFlag;
  rapidjson::Reader reader;
  Seen seen;
  do {
    stream.Take();
    Handler<Stream> handler(stream, seen);
    if (reader.Parse<kAll>(stream, handler).IsError()) {
      ++seen.refused;
      return seen;
    }
    ++seen.events;
    rapidjson::SkipWhitespace(stream);
  } while (stream.Peek() == ',');
  return seen;
}

Seen scan_rapidjson_each(std::string_view text) {
  return scan_rapidjson<0>(rapidjson::StringStream(text.data()));
}

std::string copied;  // the text before each round

Seen scan_rapidjson_in_situ(std::string_view) {
  return scan_rapidjson<rapidjson::kParseInsituFlag>(rapidjson::InsituStringStream(copied.data()));
}

struct Way {
  const char* name;
  Seen (*scan)(std::string_view text);
};
constexpr Way kWays[] = {{"dprof", scan_ours},
                         {"simdjson", scan_simdjson},
                         {"simdjson, each event", scan_simdjson_each},
                         {"ends of events", find_ends},
                         {"RapidJSON", scan_rapidjson_each},
                         {"RapidJSON, in situ", scan_rapidjson_in_situ}};

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

int main(int argc, char** argv) try {
  std::string file;
  int64_t events = 100'000;
  int rounds = 31;
  CLI::App app{"the importer's JSON scanner against simdjson and RapidJSON"};
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

  std::array<std::vector<double>, std::size(kWays)> seconds;
  std::array<Seen, std::size(kWays)> seen;
  for (int round = 0; round < rounds; ++round) {
    for (size_t w = 0; w < std::size(kWays); ++w) {
      copied = text;
      const auto begin = std::chrono::steady_clock::now();
      seen[w] = kWays[w].scan(text);
      seconds[w].push_back(dprof::bench::seconds_since(begin));
    }
  }

  fmt::print("{} events with {} members, {:.1f} MB\n", seen[0].events, seen[0].members,
             static_cast<double>(size) / 1e6);
  bool same = true;
  for (size_t w = 0; w < std::size(kWays); ++w) {
    const auto [middle, low, high] = ratio(seconds[w], seconds[0]);
    fmt::print("{:22}{:.2f} GB/s, {:.2f} times as long as dprof, 95 % {:.2f} … {:.2f}",
               kWays[w].name, static_cast<double>(size) / median(seconds[w]) / 1e9, middle, low,
               high);
    if (seen[w].refused > 0) fmt::print("; refused {} events", seen[w].refused);
    fmt::print("\n");
    if (seen[w].refused > 0 || kWays[w].scan == find_ends) continue;
    same = same && seen[w].events == seen[0].events && seen[w].members == seen[0].members;
  }
  if (!same) fmt::print(stderr, "they did not see the same\n");
  return same ? 0 : 1;
} catch (const std::exception& error) {
  std::fputs(error.what(), stderr);
  return 1;
}
