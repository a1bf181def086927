// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/clocks.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/render/layout.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kMostHosts = 16;

std::string bound_text(const std::optional<int64_t>& bound) {
  return bound ? "±" + format_duration({*bound}) : "unknown";
}

// Those that are worst known come first, where not all can be shown.
std::vector<HostClock> shown_hosts(const Clock& clock) {
  std::vector<HostClock> hosts = clock.hosts;
  if (hosts.size() <= kMostHosts) return hosts;
  std::ranges::stable_sort(hosts, std::greater(),
                           [](const HostClock& host) { return host.bound_ns.value_or(INT64_MAX); });
  hosts.resize(kMostHosts);
  return hosts;
}

TextTable table_of(const std::vector<HostClock>& hosts) {
  TextTable table;
  table.add_column("host", TextTable::Align::kLeft);
  for (const char* title : {"ahead by", "drift", "bound", "likely", "probes"})
    table.add_column(title, TextTable::Align::kRight);
  table.add_column("by", TextTable::Align::kLeft);
  for (const HostClock& host : hosts) {
    const bool known = host.bound_ns.has_value();
    std::string method = host.method;
    if (host.resets > 0) method += fmt::format(", {} of the clock", plural(host.resets, "step"));
    table.add_row(
        {printable(host.host), known ? format_duration({host.offset_ns}) : "",
         known ? fmt::format("{:.2f} ppm", static_cast<double>(host.drift_ppb) / 1000) : "",
         bound_text(host.bound_ns), host.likely_ns ? format_duration({*host.likely_ns}) : "",
         host.probes > 0 ? format_count(host.probes) : "", method});
  }
  return table;
}

std::string devices_text(const Clock& clock, size_t width, const Painter& paint) {
  std::string text;
  for (const DeviceClock& device : clock.devices) {
    if (device.reliable) continue;
    text += paragraph_of(
        "  !  ",
        fmt::format(
            "rank {}, device {}: its times are not reliable: {} of {} began before they were launched{}",
            device.rank, device.device, format_count(device.before_launch),
            plural(device.kernels, "kernel"),
            device.residual_ns
                ? ", the fit to the host's clock leaves " + format_duration({*device.residual_ns})
                : std::string()),
        5, width, paint, Style::kPlain);
  }
  return text;
}

}  // namespace

bool has_clock_trouble(const Report& report) {
  if (!report.clock) return false;
  const Clock& clock = *report.clock;
  return clock.violations > 0 ||
         std::ranges::any_of(clock.hosts, [](const HostClock& h) { return !h.bound_ns; }) ||
         std::ranges::any_of(clock.devices, [](const DeviceClock& d) { return !d.reliable; });
}

std::string clock_section(const Report& report, const TextOptions& options, const Painter& paint) {
  if (!report.clock) return {};
  const Clock& clock = *report.clock;
  const std::string devices = devices_text(clock, static_cast<size_t>(options.width), paint);
  if (clock.hosts.size() < 2 && clock.violations == 0 && devices.empty()) return {};
  const std::string title = fmt::format("against {} in mid-recording, with the largest bound",
                                        printable(clock.reference));
  std::string text = fmt::format("{}   {}\n", paint(Style::kStrong, "CLOCKS"), title);
  const std::vector<HostClock> hosts = shown_hosts(clock);
  text += table_of(hosts).render(kIndent, paint);
  if (hosts.size() < clock.hosts.size()) {
    text += paint(Style::kFaint,
                  fmt::format("  … and {} hosts that are better known (--format json has them all)",
                              clock.hosts.size() - hosts.size())) +
            '\n';
  }
  if (clock.checked > 0) {
    text += fmt::format("  {} of {} ended on a rank before they had begun on all\n",
                        format_count(clock.violations), plural(clock.checked, "collective"));
  }
  return text + devices;
}

}  // namespace dprof::analyzer
