// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/system/proc_text.h"

#include <sys/syscall.h>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace dprof::recorder {
namespace {

constexpr std::string_view kBlank = " \t\n";

// The next word of `text`, which is advanced past it; "" at its end.
std::string_view next_word(std::string_view& text) {
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) {
    text = {};
    return {};
  }
  const size_t end = std::min(text.find_first_of(kBlank, begin), text.size());
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

template <typename Number>
bool read_number(std::string_view word, Number& number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size();
}

std::string_view next_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// Parts of the names of functions in which Linux 4 to 6 lets a thread wait. Compilers inline them
// in one kernel and not in the next: the first of these contained in the name counts.
struct WaitName {
  std::string_view part;
  schema::ThreadWait wait;
};
constexpr WaitName kWaitNames[] = {
    {"nanosleep", schema::ThreadWait::kSleep},
    {"common_nsleep", schema::ThreadWait::kSleep},
    {"futex", schema::ThreadWait::kLock},
    {"ep_poll", schema::ThreadWait::kPoll},
    {"do_epoll_wait", schema::ThreadWait::kPoll},
    {"do_poll", schema::ThreadWait::kPoll},
    {"do_sys_poll", schema::ThreadWait::kPoll},
    {"poll_schedule", schema::ThreadWait::kPoll},
    {"do_select", schema::ThreadWait::kPoll},
    {"sk_wait", schema::ThreadWait::kPoll},
    {"wait_woken", schema::ThreadWait::kPoll},
    {"skb_wait", schema::ThreadWait::kPoll},
    {"inet_csk_accept", schema::ThreadWait::kPoll},
    {"unix_stream", schema::ThreadWait::kPoll},
    {"unix_wait", schema::ThreadWait::kPoll},
    {"pipe_read", schema::ThreadWait::kPoll},
    {"pipe_write", schema::ThreadWait::kPoll},
    {"pipe_wait", schema::ThreadWait::kPoll},
    {"eventfd_read", schema::ThreadWait::kPoll},
    {"io_schedule", schema::ThreadWait::kDisk},
    {"folio_wait", schema::ThreadWait::kDisk},
    {"wait_on_page", schema::ThreadWait::kDisk},
    {"wait_on_buffer", schema::ThreadWait::kDisk},
    {"bit_wait_io", schema::ThreadWait::kDisk},
    {"jbd2_", schema::ThreadWait::kDisk},
    {"fsync", schema::ThreadWait::kDisk},
    {"xlog_", schema::ThreadWait::kDisk},
    {"rq_qos_wait", schema::ThreadWait::kDisk},
    {"submit_bio_wait", schema::ThreadWait::kDisk},
    {"rpc_wait_bit", schema::ThreadWait::kDisk},
    {"nfs_wait", schema::ThreadWait::kDisk},
    {"request_wait_answer", schema::ThreadWait::kDisk},
};

// Calls whose number alone shows what they wait for. Not read and write: of a file, or a socket.
struct WaitCall {
  int64_t number;
  schema::ThreadWait wait;
};
constexpr WaitCall kWaitCalls[] = {
    {SYS_nanosleep, schema::ThreadWait::kSleep},  {SYS_clock_nanosleep, schema::ThreadWait::kSleep},
    {SYS_futex, schema::ThreadWait::kLock},
#ifdef SYS_futex_waitv
    {SYS_futex_waitv, schema::ThreadWait::kLock},
#endif
#ifdef SYS_poll
    {SYS_poll, schema::ThreadWait::kPoll},        {SYS_select, schema::ThreadWait::kPoll},
    {SYS_epoll_wait, schema::ThreadWait::kPoll},
#endif
    {SYS_ppoll, schema::ThreadWait::kPoll},       {SYS_pselect6, schema::ThreadWait::kPoll},
    {SYS_epoll_pwait, schema::ThreadWait::kPoll}, {SYS_accept, schema::ThreadWait::kPoll},
    {SYS_accept4, schema::ThreadWait::kPoll},     {SYS_connect, schema::ThreadWait::kPoll},
    {SYS_recvfrom, schema::ThreadWait::kPoll},    {SYS_recvmsg, schema::ThreadWait::kPoll},
    {SYS_sendto, schema::ThreadWait::kPoll},      {SYS_sendmsg, schema::ThreadWait::kPoll},
    {SYS_pread64, schema::ThreadWait::kDisk},     {SYS_pwrite64, schema::ThreadWait::kDisk},
    {SYS_fsync, schema::ThreadWait::kDisk},       {SYS_fdatasync, schema::ThreadWait::kDisk},
};

}  // namespace

std::optional<schema::ThreadWait> parse_wait_channel(std::string_view text) {
  const std::string_view name = next_word(text);
  if (name.empty() || name == "0") return std::nullopt;
  for (const WaitName& known : kWaitNames) {
    if (name.find(known.part) != std::string_view::npos) return known.wait;
  }
  return schema::ThreadWait::kOther;
}

std::optional<schema::ThreadWait> parse_system_call(std::string_view text) {
  const std::string_view word = next_word(text);
  if (word == "running") return schema::ThreadWait::kRunning;
  int64_t number = 0;
  if (!read_number(word, number)) return std::nullopt;
  const auto known = std::ranges::find(kWaitCalls, number, &WaitCall::number);
  return known == std::end(kWaitCalls) ? schema::ThreadWait::kOther : known->wait;
}

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  // "pid (name) state ppid …": the name can contain anything, even parentheses and newlines.
  const size_t end_of_name = text.rfind(')');
  if (end_of_name == std::string_view::npos) return std::nullopt;
  text.remove_prefix(end_of_name + 1);
  constexpr int kState = 3, kMinorFaults = 10, kMajorFaults = 12, kKernelTicks = 15, kThreads = 20;
  ProcessStat stat;
  for (int field = kState; field <= kThreads; ++field) {
    const std::string_view word = next_word(text);
    if (word.empty()) return std::nullopt;
    bool good = true;
    if (field == kState) stat.state = word.front();
    if (field == kMinorFaults) good = read_number(word, stat.minor_faults);
    if (field == kMajorFaults) good = read_number(word, stat.major_faults);
    if (field == kKernelTicks) good = read_number(word, stat.kernel_ticks);
    if (field == kThreads) good = read_number(word, stat.threads) && !text.empty();
    if (!good) return std::nullopt;
  }
  return stat;
}

std::optional<ThreadTimes> parse_schedstat(std::string_view text) {
  ThreadTimes times;
  // The blank after the second number proves that it is complete.
  if (!read_number(next_word(text), times.cpu_ns)) return std::nullopt;
  if (!read_number(next_word(text), times.run_queue_ns) || text.empty()) return std::nullopt;
  return times;
}

std::optional<int64_t> parse_value(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = next_line(text);
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    if (line.starts_with(':')) line.remove_prefix(1);
    if (line.empty() || kBlank.find(line.front()) == std::string_view::npos) continue;
    int64_t value = 0;
    if (read_number(next_word(line), value)) return value;
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<int64_t> parse_own_id(std::string_view status) {
  while (!status.empty()) {
    std::string_view line = next_line(status);
    constexpr std::string_view kKey = "NSpid:";
    if (!line.starts_with(kKey)) continue;
    line.remove_prefix(kKey.size());
    std::optional<int64_t> last;
    for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
      int64_t id = 0;
      if (!read_number(word, id)) return std::nullopt;
      last = id;
    }
    return last;
  }
  return std::nullopt;
}

std::optional<HostTimes> parse_host_times(std::string_view text) {
  std::string_view line = next_line(text);
  if (next_word(line) != "cpu") return std::nullopt;
  int64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, soft_irq = 0, steal = 0;
  for (int64_t* field : {&user, &nice, &system, &idle, &iowait, &irq, &soft_irq, &steal}) {
    if (!read_number(next_word(line), *field)) return std::nullopt;
  }
  return HostTimes{user + nice + system + irq + soft_irq, steal, iowait};
}

std::optional<Load> parse_load(std::string_view text) {
  double one_minute = 0;
  Load load;
  if (!read_number(next_word(text), one_minute) || !(one_minute >= 0 && one_minute < 1e9)) {
    return std::nullopt;
  }
  load.one_minute_milli = static_cast<int64_t>(one_minute * 1000 + 0.5);
  next_word(text);
  next_word(text);
  const std::string_view running = next_word(text);
  const size_t slash = running.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  if (!read_number(running.substr(0, slash), load.runnable)) return std::nullopt;
  return load;
}

std::optional<InterfaceCounters> next_interface(std::string_view& text) {
  while (!text.empty()) {
    std::string_view line = next_line(text);
    const size_t colon = line.find(':');  // a name has none
    if (colon == std::string_view::npos) continue;
    std::string_view name = line.substr(0, colon);
    InterfaceCounters found;
    found.name = next_word(name);
    line.remove_prefix(colon + 1);
    constexpr int kFields = 16, kSent = 8;
    int64_t fields[kFields] = {};
    bool good = !found.name.empty();
    for (int i = 0; i < kFields && good; ++i) good = read_number(next_word(line), fields[i]);
    if (!good) continue;
    found.rx_bytes = fields[0];
    found.tx_bytes = fields[kSent];
    found.errors = fields[2] + fields[kSent + 2];
    found.dropped = fields[3] + fields[kSent + 3];
    return found;
  }
  return std::nullopt;
}

std::optional<int64_t> parse_protocol_counter(std::string_view text, std::string_view protocol,
                                              std::string_view field) {
  while (!text.empty()) {
    std::string_view names = next_line(text);
    if (!names.starts_with(protocol) || names.substr(protocol.size()).substr(0, 1) != ":") continue;
    std::string_view values = next_line(text);
    if (next_word(names) != next_word(values)) return std::nullopt;
    for (std::string_view name = next_word(names); !name.empty(); name = next_word(names)) {
      const std::string_view word = next_word(values);
      if (name != field) continue;
      int64_t value = 0;
      if (read_number(word, value)) return value;
      return std::nullopt;
    }
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<int64_t> parse_pressure_us(std::string_view text) {
  std::string_view line = next_line(text);
  if (next_word(line) != "some") return std::nullopt;
  constexpr std::string_view kKey = "total=";
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
    if (!word.starts_with(kKey)) continue;
    word.remove_prefix(kKey.size());
    int64_t total = 0;
    if (read_number(word, total)) return total;
  }
  return std::nullopt;
}

std::optional<std::string> parse_cgroup_path(std::string_view text, std::string_view controller) {
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    const size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const size_t second = line.find(':', first + 1);  // the path can contain more of them
    if (second == std::string_view::npos) continue;
    std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (!path.starts_with('/') || path.find("/..") != std::string_view::npos) continue;
    if (controller.empty()) {
      if (controllers.empty() && line.starts_with("0:")) return std::string(path);
      continue;
    }
    while (!controllers.empty()) {
      const size_t comma = std::min(controllers.find(','), controllers.size());
      if (controllers.substr(0, comma) == controller) return std::string(path);
      controllers.remove_prefix(std::min(comma + 1, controllers.size()));
    }
  }
  return std::nullopt;
}

std::optional<int64_t> parse_number(std::string_view text) {
  int64_t value = 0;
  if (!read_number(next_word(text), value) || !next_word(text).empty()) return std::nullopt;
  return value;
}

std::optional<int64_t> parse_memory_limit(std::string_view text) {
  constexpr int64_t kNone = INT64_MAX - (int64_t{1} << 20);  // version 1 says "all pages there are"
  const std::optional<int64_t> limit = parse_number(text);
  return limit && *limit < kNone ? limit : std::nullopt;
}

}  // namespace dprof::recorder
