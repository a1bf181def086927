// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/common/clock.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "collector/wire/ticks.h"

namespace dprof::recorder {
namespace {

using wire::ClockSource;
using wire::read_ticks;

// Long enough that two readings, each good to some 50 ns, give the rate to about 1 ppm.
constexpr int64_t kMeasureNs = 50 * kNsPerMs;
constexpr int kReadTries = 8;
constexpr uint32_t kShift = 32;

int64_t clock_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

std::string file_text(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string first_line(const char* path) {
  std::string text = file_text(path);
  return text.substr(0, text.find('\n'));
}

ClockSource choose_source() {
  const bool usable =
      tsc_is_usable(file_text("/proc/cpuinfo"),
                    file_text("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
  return usable ? ClockSource::kTsc : ClockSource::kMonotonic;
}

// The two clocks are read between two tick readings; the try with the shortest interval between
// them counts. `ns_per_tick` converts that interval to the width.
ClockReading read_clocks(ClockSource source, double ns_per_tick) {
  ClockReading best;
  uint64_t best_distance = UINT64_MAX;
  for (int i = 0; i < kReadTries; ++i) {
    const uint64_t before = read_ticks(source);
    const int64_t realtime = clock_ns(CLOCK_REALTIME);
    const int64_t raw = clock_ns(CLOCK_MONOTONIC_RAW);
    const uint64_t distance = read_ticks(source) - before;
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = {before + distance / 2, realtime, raw, 0};
  }
  best.width_ns = static_cast<int64_t>(static_cast<double>(best_distance) * ns_per_tick) + 1;
  return best;
}

}  // namespace

bool tsc_is_usable(const std::string& cpuinfo, const std::string& clocksource) {
  if (!clocksource.starts_with("tsc")) return false;
  std::istringstream lines(cpuinfo);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("flags")) continue;
    line += ' ';
    return line.find(" constant_tsc ") != std::string::npos &&
           line.find(" nonstop_tsc ") != std::string::npos;
  }
  return false;
}

int64_t FakeClock::apply(int64_t raw_ns) const {
  const __int128 scaled = static_cast<__int128>(raw_ns) * drift_ppb;
  const __int128 quotient = scaled / kNsPerSecond;
  const __int128 drift = quotient - (scaled % kNsPerSecond < 0 ? 1 : 0);
  return static_cast<int64_t>(raw_ns + static_cast<__int128>(offset_ns) + drift);
}

RunClock RunClock::start(const FakeClock& fake) {
  const ClockSource source = choose_source();
  const auto at_origin = [&](uint64_t multiplier) {
    RunClock clock({.tick0 = 0, .multiplier = multiplier, .shift = kShift, .source = source});
    clock.origin_ = clock.read();
    clock.scale_.tick0 = clock.origin_.ticks;
    clock.real_origin_raw_ns_ = clock.origin_.monotonic_raw_ns;
    clock.fake_ = fake;
    clock.origin_ = clock.shown(clock.origin_);
    return clock;
  };
  if (source == ClockSource::kMonotonic) return at_origin(uint64_t{1} << kShift);
  const ClockReading first = read_clocks(source, 1);
  const timespec pause{0, kMeasureNs};
  nanosleep(&pause, nullptr);
  const ClockReading second = read_clocks(source, 1);
  const auto ns = static_cast<double>(second.monotonic_raw_ns - first.monotonic_raw_ns);
  const double ns_per_tick = ns / static_cast<double>(second.ticks - first.ticks);
  const auto multiplier = static_cast<uint64_t>(ns_per_tick * static_cast<double>(1ULL << kShift));
  return at_origin(multiplier);
}

RunClock::RunClock(const wire::TickScale& scale, const FakeClock& fake,
                   int64_t origin_monotonic_raw_ns)
    : scale_(scale), fake_(fake), real_origin_raw_ns_(origin_monotonic_raw_ns) {
  origin_ = shown({scale.tick0, origin_monotonic_raw_ns, origin_monotonic_raw_ns, 0});
}

bool RunClock::take_rate_of(const wire::TickScale& other) {
  if (other.source != scale_.source || other.shift != scale_.shift) return false;
  const uint64_t most = scale_.multiplier / 10'000;  // 100 ppm
  const uint64_t apart =
      std::max(other.multiplier, scale_.multiplier) - std::min(other.multiplier, scale_.multiplier);
  if (apart > most) return false;
  scale_.multiplier = other.multiplier;
  return true;
}

// Converts to the trace's axis, which counts the fake clock's time since time 0.
int64_t RunClock::drifted(int64_t real_ns) const {
  return fake_.apply(real_origin_raw_ns_ + real_ns) - fake_.apply(real_origin_raw_ns_);
}

ClockReading RunClock::shown(ClockReading real) const {
  const int64_t raw_ns = fake_.apply(real.monotonic_raw_ns);
  real.realtime_ns += raw_ns - real.monotonic_raw_ns;
  real.monotonic_raw_ns = raw_ns;
  return real;
}

uint64_t RunClock::now_ticks() const { return read_ticks(scale_.source); }

ClockReading RunClock::read() const {
  return shown(read_clocks(scale_.source, 1e9 / ticks_per_second()));
}

double RunClock::ticks_per_second() const {
  const double ns_per_tick =
      static_cast<double>(scale_.multiplier) / static_cast<double>(uint64_t{1} << scale_.shift);
  return 1e9 / ns_per_tick;
}

std::string clock_variable(const wire::TickScale& scale) {
  return fmt::format("{} {} {} {}", static_cast<uint32_t>(scale.source), scale.tick0,
                     scale.multiplier, scale.shift);
}

std::string cpu_model() {
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

std::string boot_id() { return first_line("/proc/sys/kernel/random/boot_id"); }

std::string RunClock::id() const {
  std::error_code error;
  const std::filesystem::path time_namespace =
      std::filesystem::read_symlink("/proc/self/ns/time", error);
  std::string id = fmt::format("{} {}", boot_id(), time_namespace.string());
  if (fake_ != FakeClock{}) id += fmt::format(" fake:{},{}", fake_.offset_ns, fake_.drift_ppb);
  return id;
}

int64_t thread_cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

}  // namespace dprof::recorder
