// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/system/proc_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

namespace dprof::recorder {
namespace {

bool has_ended(int pidfd) {
  if (pidfd < 0) return false;
  pollfd polled{pidfd, POLLIN, 0};
  return poll(&polled, 1, 0) > 0;
}

// The file `name` of a thread.
template <size_t kSize>
const char* thread_file(char (&path)[kSize], int tid, const char* name) {
  *fmt::format_to_n(path, kSize - 1, "task/{}/{}", tid, name).out = '\0';
  return path;
}

}  // namespace

ProcessSampler::ProcessSampler(const RunClock& clock, const SystemRoots& roots, int pid, int pidfd)
    : clock_(clock), pid_(pid), own_pid_(pid) {
  if (pid <= 0) return;
  folder_ = Descriptor(
      open((roots.proc / std::to_string(pid)).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  // Still alive after the opening: the opened folder is that process's.
  if (has_ended(pidfd)) folder_ = Descriptor();
}

void ProcessSampler::sample(FileText& file, size_t most_threads, const Deliver& deliver) {
  if (!folder_.valid() || !sample_process(file, deliver)) return;
  const auto known = static_cast<int64_t>(threads_.size());
  if (threads_seen_ != known || --rounds_to_list_ <= 0) list_threads(file);
  sample_threads(file, most_threads, deliver);
}

void ProcessSampler::look(FileText& file, const Deliver& deliver) const {
  // The process's own view of its number is unknown until the first round.
  if (!folder_.valid() || !threads_seen_) return;
  char path[64];
  std::optional<schema::ThreadWait> wait =
      parse_wait_channel(file.read(folder_.get(), thread_file(path, pid_, "wchan")));
  if (!wait) {
    wait = parse_system_call(file.read(folder_.get(), thread_file(path, pid_, "syscall")));
  }
  if (!wait) return;
  deliver(SystemSample{clock_.now().ns, schema::kThreadWaitKind, own_pid_,
                       static_cast<int64_t>(*wait)});
}

void ProcessSampler::deliver_changed(std::string_view kind, std::optional<int64_t> subject,
                                     int64_t value, std::optional<int64_t>& last,
                                     const Deliver& deliver) const {
  if (last == value) return;
  last = value;
  deliver(SystemSample{clock_.now().ns, kind, subject, value});
}

bool ProcessSampler::sample_process(FileText& file, const Deliver& deliver) {
  const std::optional<ProcessStat> stat = parse_process_stat(file.read(folder_.get(), "stat"));
  if (!stat || stat->state == 'Z' || stat->state == 'X') {
    folder_ = Descriptor();
    return false;
  }
  deliver_changed("process.threads", std::nullopt, stat->threads, threads_seen_, deliver);
  deliver_changed("process.kernel_cpu_ns", std::nullopt,
                  stat->kernel_ticks * (1'000'000'000 / sysconf(_SC_CLK_TCK)), kernel_cpu_,
                  deliver);
  deliver_changed("process.minor_faults", std::nullopt, stat->minor_faults, minor_faults_, deliver);
  deliver_changed("process.major_faults", std::nullopt, stat->major_faults, major_faults_, deliver);

  const std::string_view status = file.read(folder_.get(), "status");
  own_pid_ = parse_own_id(status).value_or(pid_);
  nested_ = own_pid_ != pid_;
  // Of the main thread alone: these lines are not sums.
  if (const auto count = parse_value(status, "voluntary_ctxt_switches")) {
    deliver_changed("thread.voluntary_switches", own_pid_, *count, switched_, deliver);
  }
  if (const auto count = parse_value(status, "nonvoluntary_ctxt_switches")) {
    deliver_changed("thread.involuntary_switches", own_pid_, *count, preempted_, deliver);
  }
  const std::optional<int64_t> resident = parse_value(status, "VmRSS");
  if (!resident) return true;  // it is ending: its memory is already gone
  schema::MemorySampleRow row;
  row.time_ns = clock_.now().ns;
  row.device_id = -1;
  row.allocated_bytes = *resident * kKilobyte;
  // The kernel's high-water mark covers the whole life: if it has risen, it was reached since the
  // last sample; if not, the peak in between is unknown.
  const int64_t peak_bytes = parse_value(status, "VmHWM").value_or(0) * kKilobyte;
  if (peak_bytes > peak_bytes_) row.peak_allocated_bytes = peak_bytes_ = peak_bytes;
  deliver(row);
  return true;
}

void ProcessSampler::list_threads(FileText& file) {
  const int fd = openat(folder_.get(), "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(fdopendir(fd), &closedir);
  if (!folder) {
    close(fd);
    return;
  }
  rounds_to_list_ = kRoundsToList;
  order_.clear();
  while (const dirent* entry = readdir(folder.get())) {
    const std::optional<int64_t> tid = parse_number(entry->d_name);
    if (tid && *tid > 0 && *tid <= INT32_MAX) order_.push_back(static_cast<int>(*tid));
  }
  std::ranges::sort(order_);
  std::erase_if(threads_, [this](const auto& known) {
    return !std::ranges::binary_search(order_, known.first);
  });
  for (const int tid : order_) {
    const auto [known, is_new] = threads_.try_emplace(tid);
    if (!is_new) continue;
    known->second.subject = tid;
    if (!nested_) continue;
    char path[64];
    const std::string_view status = file.read(folder_.get(), thread_file(path, tid, "status"));
    known->second.subject = parse_own_id(status).value_or(tid);
  }
}

void ProcessSampler::sample_threads(FileText& file, size_t most, const Deliver& deliver) {
  order_.clear();
  for (const auto& [tid, thread] : threads_) order_.push_back(tid);
  // In a circle from the one after the last that was looked at; those that ran lately first.
  const auto next = std::ranges::upper_bound(order_, turn_);
  std::rotate(order_.begin(), next, order_.end());
  const auto idle = std::stable_partition(order_.begin(), order_.end(), [this](int tid) {
    return threads_[tid].idle_rounds < kRoundsToIdle;
  });
  const auto busy = static_cast<size_t>(idle - order_.begin());
  if (busy > most && !limit_reported_) {
    limit_reported_ = true;
    deliver(RecorderDiagnostic{
        "not_sampled", 1,
        fmt::format("{} threads run at once: {} of them are looked at in each round, in turns",
                    busy, most)});
  }
  if (order_.size() > most) order_.resize(most);
  for (const int tid : order_) sample_thread(file, tid, threads_[tid], deliver);
  if (!order_.empty()) turn_ = order_.back();
}

void ProcessSampler::sample_thread(FileText& file, int tid, Thread& thread,
                                   const Deliver& deliver) {
  char path[64];
  const std::optional<ThreadTimes> times =
      parse_schedstat(file.read(folder_.get(), thread_file(path, tid, "schedstat")));
  if (!times) {
    rounds_to_list_ = 0;  // it has ended
    return;
  }
  if (thread.last == times) {
    thread.idle_rounds = std::min(thread.idle_rounds + 1, kRoundsToIdle);
    return;
  }
  thread.idle_rounds = 0;
  thread.last = times;
  const int64_t now_ns = clock_.now().ns;
  deliver(SystemSample{now_ns, "thread.cpu_ns", thread.subject, times->cpu_ns});
  deliver(SystemSample{now_ns, "thread.run_queue_ns", thread.subject, times->run_queue_ns});
}

}  // namespace dprof::recorder
