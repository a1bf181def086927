// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/test_support/mini_recorder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>

extern char** environ;

namespace dprof::inject {

namespace {
constexpr int kPatienceMs = 20'000;  // then a test fails instead of hanging
}

SeenSession::SeenSession(int socket, int memory, const wire::Hello& hello, std::string texts)
    : socket_(socket), hello_(hello) {
  for (size_t at = 0; at < texts.size();) {
    const std::string entry = texts.c_str() + at;
    at += entry.size() + 1;
    const size_t equals = entry.find('=');
    if (equals != std::string::npos) texts_[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  if (memory < 0) return;
  sealed_ = (fcntl(memory, F_GET_SEALS) & F_SEAL_SHRINK) != 0;
  void* base = mmap(nullptr, wire::kTotalBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  close(memory);
  if (base == MAP_FAILED) return;
  mapping_.base = static_cast<unsigned char*>(base);
  for (uint32_t ring = 0; ring < wire::kMaxRings; ++ring) {
    readers_.emplace_back(mapping_.ring(ring), mapping_.slots(ring));
  }
}

SeenSession::~SeenSession() {
  hang_up();
  if (mapping_.base != nullptr) munmap(mapping_.base, wire::kTotalBytes);
}

std::string SeenSession::text_of(uint32_t id) const {
  const wire::ArenaText text = wire::arena_text(mapping_, id);
  return std::string(text.text, text.length);
}

std::string SeenSession::fact(wire::Fact fact) const {
  return text_of(header().facts[static_cast<uint32_t>(fact)].load());
}

uint64_t SeenSession::remarks(wire::Remark remark) const {
  return header().remarks[static_cast<uint32_t>(remark)].load();
}

uint64_t SeenSession::loss(wire::SharedLoss loss) const {
  return header().losses[static_cast<uint32_t>(loss)].count.load();
}

uint64_t SeenSession::dropped() const {
  uint64_t sum = 0;
  for (uint32_t ring = 0; ring < wire::kMaxRings; ++ring) {
    sum += mapping_.ring(ring)->dropped.count.load();
  }
  return sum;
}

std::vector<SeenRecord> SeenSession::drain() {
  std::vector<SeenRecord> seen;
  for (uint32_t ring = 0; ring < wire::kMaxRings; ++ring) {
    wire::RingShared* shared = mapping_.ring(ring);
    const uint32_t status = shared->status.load(std::memory_order_acquire);
    if (status == static_cast<uint32_t>(wire::RingStatus::kFree)) continue;
    const uint32_t tid = shared->os_tid.load(std::memory_order_relaxed);
    readers_[ring].drain([&](const wire::ReadRecord& read) {
      SeenRecord one;
      one.ring = ring;
      one.os_tid = tid;
      one.record = read.record;
      one.text = text_of(read.record.string);
      if (read.record.kind == wire::Kind::kRangeBegin) {
        one.domain = text_of(read.record.range_begin.domain);
      } else if (read.record.kind == wire::Kind::kRangeEnd) {
        one.domain = text_of(read.record.range_end.domain);
      } else if (read.record.kind == wire::Kind::kSchemaEntry) {
        one.domain = text_of(read.record.schema_entry.domain);
      }
      one.more.assign(read.more, read.more + read.more_bytes);
      seen.push_back(std::move(one));
    });
    EXPECT_FALSE(readers_[ring].damaged());
    if (status == static_cast<uint32_t>(wire::RingStatus::kClosed)) {
      shared->status.store(static_cast<uint32_t>(wire::RingStatus::kFree),
                           std::memory_order_release);
    }
  }
  return seen;
}

void SeenSession::control(wire::CaptureState state, wire::DetailLevel detail) const {
  wire::ControlPage& control = *mapping_.control();
  control.state.store(static_cast<uint32_t>(state));
  control.detail.store(static_cast<uint32_t>(detail));
  control.generation.fetch_add(1, std::memory_order_release);
  wire::futex_wake(control.generation);
}

bool SeenSession::hung_up() const {
  pollfd watch{socket_, POLLIN | POLLRDHUP, 0};
  return poll(&watch, 1, 0) > 0 && (watch.revents & (POLLHUP | POLLRDHUP)) != 0;
}

void SeenSession::hang_up() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
}

MiniRecorder::MiniRecorder(int backlog) {
  char pattern[] = "/tmp/dprof-test-XXXXXX";
  folder_ = mkdtemp(pattern);
  path_ = folder_ + "/socket";
  socket_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path_.copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(listen(socket_, backlog), 0);
}

MiniRecorder::~MiniRecorder() {
  close(socket_);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::unique_ptr<SeenSession> MiniRecorder::accept(int timeout_ms) const {
  pollfd watch{socket_, POLLIN, 0};
  if (poll(&watch, 1, timeout_ms) <= 0) return nullptr;
  const int peer = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
  watch = {peer, POLLIN, 0};
  if (poll(&watch, 1, timeout_ms) <= 0) {
    close(peer);
    return nullptr;
  }
  std::vector<char> packet(wire::kHelloBytes);
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part{packet.data(), packet.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = recvmsg(peer, &message, MSG_CMSG_CLOEXEC);
  if (got < static_cast<ssize_t>(sizeof(wire::Hello))) {
    close(peer);
    return nullptr;
  }
  int memory = -1;
  if (const cmsghdr* rights = CMSG_FIRSTHDR(&message)) {
    memcpy(&memory, CMSG_DATA(rights), sizeof memory);
  }
  wire::Hello hello;
  memcpy(&hello, packet.data(), sizeof hello);
  std::string texts(packet.data() + sizeof hello, static_cast<size_t>(got) - sizeof hello);
  return std::make_unique<SeenSession>(peer, memory, hello, std::move(texts));
}

Child::Child(const std::vector<std::string>& command,
             const std::vector<std::pair<std::string, std::string>>& environment) {
  int to_child[2];
  int from_child[2];
  EXPECT_EQ(pipe2(to_child, O_CLOEXEC), 0);
  EXPECT_EQ(pipe2(from_child, O_CLOEXEC), 0);
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (text.rfind("DPROF_", 0) == 0 || text.rfind("LD_PRELOAD=", 0) == 0 ||
        text.rfind("NVTX_INJECTION64_PATH=", 0) == 0) {
      continue;
    }
    const bool replaced = std::any_of(environment.begin(), environment.end(), [&](const auto& one) {
      return text.rfind(one.first + "=", 0) == 0;
    });
    if (!replaced) variables.push_back(text);
  }
  for (const auto& [key, value] : environment) variables.push_back(key + "=" + value);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (const std::string& entry : variables) envp.push_back(const_cast<char*>(entry.c_str()));
  envp.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to_child[0], 0);
  posix_spawn_file_actions_adddup2(&actions, from_child[1], 1);
  EXPECT_EQ(posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), envp.data()), 0)
      << command[0];
  posix_spawn_file_actions_destroy(&actions);
  close(to_child[0]);
  close(from_child[1]);
  input_ = to_child[1];
  output_ = from_child[0];
}

Child::~Child() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    wait();
  }
  close(input_);
  close(output_);
}

void Child::say(const std::string& line) const {
  const std::string text = line + "\n";
  EXPECT_EQ(write(input_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

std::string Child::hear() {
  std::string line;
  char letter = 0;
  pollfd watch{output_, POLLIN, 0};
  while (poll(&watch, 1, kPatienceMs) > 0 && read(output_, &letter, 1) == 1 && letter != '\n') {
    line += letter;
  }
  return line;
}

int Child::wait() {
  if (pid_ <= 0) return -1;
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace dprof::inject
