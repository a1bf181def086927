// SPDX-License-Identifier: Apache-2.0
#include "cli/mpi/team.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

#include "base/exit_code.h"

namespace dprof::cli {
namespace {

// Ends the process if this object lives too long.
class Impatience {
 public:
  explicit Impatience(std::chrono::seconds patience)
      : thread_([this, patience] {
          std::unique_lock lock(mutex_);
          if (over_.wait_for(lock, patience, [this] { return is_over_; })) return;
          const std::string text = fmt::format(
              "dprof: MPI did not start within {} s: not all processes of the job take part\n"
              "hint: start `dprof` by mpirun or srun itself; with --no-mpi this process works alone\n",
              patience.count());
          std::fputs(text.c_str(), stderr);
          _exit(static_cast<int>(ExitCode::kInternal));
        }) {}
  ~Impatience() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    over_.notify_one();
  }
  Impatience(const Impatience&) = delete;
  Impatience& operator=(const Impatience&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::jthread thread_;  // the last member: it uses the others, and is destroyed first
};

}  // namespace

Result<std::unique_ptr<Team>> Team::join(const std::filesystem::path& library,
                                         std::chrono::seconds patience) {
  // MPI's own plugins look for its symbols.
  void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  const auto entry =
      loaded == nullptr ? nullptr : reinterpret_cast<MpiEntry>(dlsym(loaded, kMpiEntry));
  if (entry == nullptr) {
    return fail(Code::kUnsupported, fmt::format("MPI cannot be used: {}", dlerror()),
                "--no-mpi: this process works alone");
  }
  const MpiLibrary& mpi = *entry();
  int number = 0;
  int of = 1;
  const Impatience impatience(patience);
  if (!mpi.start(&number, &of)) {
    return fail(Code::kUnsupported, "MPI cannot be started", "--no-mpi: this process works alone");
  }
  return std::make_unique<Team>(mpi, static_cast<size_t>(number), static_cast<size_t>(of));
}

// MPI_Abort would do the same, but with Open MPI's mpirun 4.1 it sometimes hangs.
void Team::end_without_farewell(int code) {
  std::fflush(nullptr);
  _exit(code);
}

Team::Team(const MpiLibrary& library, size_t number, size_t of, void (*leave_alone)(int))
    : library_(library), number_(number), size_(of), leave_alone_(leave_alone), inboxes_(of) {
  for (size_t other = 0; other < size_; ++other) {
    // The others do not send each other messages.
    if (other != number_ && (number_ == 0 || other == 0)) wait_for_next(other);
  }
}

Team::~Team() {
  constexpr std::chrono::seconds kAtMost{10};
  const auto until = std::chrono::steady_clock::now() + kAtMost;
  for (size_t other = 1; number_ == 0 && !lost_ && other < size_; ++other) send(other, {});
  while (!lost_ && !all_sent()) {
    if (turn()) continue;
    lost_ = std::chrono::steady_clock::now() > until;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (Inbox& inbox : inboxes_) {
    if (inbox.transfer != nullptr) library_.forget(inbox.transfer);
  }
  if (!lost_) {
    library_.finish();
    return;
  }
  leave_alone_(static_cast<int>(ExitCode::kSomethingLost));
}

void Team::send(size_t to, std::string bytes) {
  Outgoing& out = outgoing_.emplace_back();
  out.to = to;
  out.length = bytes.size();
  out.bytes = std::move(bytes);
  const auto add = [&](const void* part, size_t size) {
    out.transfers.push_back(library_.send(static_cast<int>(to), part, size));
  };
  add(&out.length, sizeof out.length);
  for (size_t at = 0; at < out.bytes.size(); at += library_.most_bytes)
    add(out.bytes.data() + at, std::min(library_.most_bytes, out.bytes.size() - at));
}

std::optional<TeamMessage> Team::receive() {
  if (arrived_.empty()) return std::nullopt;
  TeamMessage first = std::move(arrived_.front());
  arrived_.pop_front();
  return first;
}

bool Team::turn() {
  bool any = false;
  for (Outgoing& out : outgoing_) {
    while (!out.transfers.empty() &&
           library_.look(out.transfers.front()) != MpiLibrary::kUnderWay) {
      out.transfers.pop_front();
      any = true;
    }
  }
  outgoing_.remove_if([](const Outgoing& out) { return out.transfers.empty(); });
  for (size_t from = 0; from < size_; ++from) {
    while (turn(from)) any = true;
  }
  return any;
}

// Whether part of a message has arrived.
bool Team::turn(size_t from) {
  Inbox& inbox = inboxes_[from];
  if (inbox.transfer == nullptr) return false;
  const MpiLibrary::Outcome outcome = library_.look(inbox.transfer);
  if (outcome == MpiLibrary::kUnderWay) return false;
  inbox.transfer = nullptr;
  if (outcome == MpiLibrary::kFailed) return false;  // it has died
  if (inbox.asked_for == 0) inbox.bytes.resize(inbox.length);
  if (inbox.asked_for < inbox.length) {
    wait_for_part(from);
    return true;
  }
  arrived_.push_back({from, std::move(inbox.bytes)});
  wait_for_next(from);
  return true;
}

void Team::wait_for_next(size_t from) {
  Inbox& inbox = inboxes_[from];
  inbox.bytes.clear();
  inbox.asked_for = 0;
  inbox.transfer = library_.receive(static_cast<int>(from), &inbox.length, sizeof inbox.length);
}

void Team::wait_for_part(size_t from) {
  Inbox& inbox = inboxes_[from];
  const size_t part = std::min(library_.most_bytes, inbox.bytes.size() - inbox.asked_for);
  inbox.transfer =
      library_.receive(static_cast<int>(from), inbox.bytes.data() + inbox.asked_for, part);
  inbox.asked_for += part;
}

}  // namespace dprof::cli
