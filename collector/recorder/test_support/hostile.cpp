// SPDX-License-Identifier: Apache-2.0
// A hostile process, or one that writes through wild pointers, for the tests of `dprof record`.
// Executes its arguments in order; its noise is the same in every run. All of it is bounded.
//
//   hello               an honest hello, with the rank variables of its environment
//   ranges=N            N honest ranges named `work`
//   noise=N             N slots of random bytes into the ring
//   heads=N             N times: the head jumps somewhere, back, or to the end of 64 bits
//   control=N           N times: the control page is overwritten with noise, 1 ms apart
//   directory=N         N times: the ring directory is
//   header=N            N times: the header is
//   arena               fills the string arena, then writes 10 more texts
//   hello-noise, hello-cut, hello-empty, hello-descriptors, hello-version   hellos of strangers
//   memory-small, memory-open, memory-file, memory-read-only   a hello with memory that is not
//                       as it should be: too small, not sealed, no memfd, not to be written
//   again               a second hello, with memory of its own
//   silent=N, hangups=N N connections that say nothing, and stay or hang up
//   drained             waits until the recorder has read the ring
//   sleep=MS, clean
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "collector/recorder/ranks/environment.h"
#include "collector/recorder/test_support/fake_process.h"
#include "collector/wire/ticks.h"

namespace dprof::recorder {
namespace {

constexpr uint8_t kNvtx = 3;

std::string variables_of_environment() {
  const Environment environment = Environment::current();
  std::string variables = "cmdline=hostile";
  variables.push_back('\0');
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"}) {
    if (environment.get(name).empty()) continue;
    variables += fmt::format("{}={}", name, environment.get(name));
    variables.push_back('\0');
  }
  return variables;
}

int connect_to_recorder() {
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  Environment::current()
      .get(wire::kSocketVariable)
      .copy(address.sun_path, sizeof address.sun_path - 1);
  // A full backlog makes a blocking connect wait.
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return -1;
  return fd;
}

// Sends bytes with descriptors, and keeps the connection.
bool send_packet(const std::vector<unsigned char>& bytes, const std::vector<int>& descriptors) {
  const int fd = connect_to_recorder();
  if (fd < 0) return false;
  iovec part{const_cast<unsigned char*>(bytes.data()), bytes.size()};
  std::vector<char> control(CMSG_SPACE(descriptors.size() * sizeof(int)));
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size() * sizeof(int));
  }
  return sendmsg(fd, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

std::vector<unsigned char> hello_packet(uint32_t version, uint32_t more_text) {
  const std::string text = variables_of_environment();
  wire::Hello hello{};
  hello.magic = wire::kMagic;
  hello.wire_version = version;
  hello.pid = getpid();
  hello.text_bytes = static_cast<uint32_t>(text.size()) + more_text;
  std::vector<unsigned char> bytes(sizeof hello + text.size());
  std::memcpy(bytes.data(), &hello, sizeof hello);
  std::memcpy(bytes.data() + sizeof hello, text.data(), text.size());
  return bytes;
}

// A descriptor that a hello should not bring.
int odd_memory(std::string_view what) {
  if (what == "memory-file") return open("/dev/zero", O_RDWR | O_CLOEXEC);
  const int fd = memfd_create("odd", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  const uint64_t bytes = what == "memory-small" ? 4096 : wire::kTotalBytes;
  int seals = F_SEAL_SHRINK;
  if (what == "memory-open") seals = 0;
  if (what == "memory-read-only") seals |= F_SEAL_WRITE;
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) return -1;
  return fcntl(fd, F_ADD_SEALS, seals) == 0 ? fd : -1;
}

class Hostile {
 public:
  Hostile() : scale_(scale_of_environment()), process_(scale_) {
    process_.began_at(ticks());
    ring_ = process_.open_ring(0, static_cast<uint32_t>(getpid()));
    work_ = process_.text("work");
  }

  bool act(std::string_view action, int number) {
    const std::string path = Environment::current().get(wire::kSocketVariable);
    if (action == "hello") return process_.say_hello(path, variables_of_environment());
    if (action == "again") return again(path);
    if (action == "ranges") return ranges(number);
    if (action == "noise") return noise(number);
    if (action == "drained") return wait_until_drained();
    if (action == "heads") return heads(number);
    if (action == "control") return scribble(number, wire::kControlOffset, 4096);
    if (action == "directory") {
      return scribble(number, wire::kDirectoryOffset, wire::kMaxRings * wire::kDirectoryEntryBytes);
    }
    if (action == "header") return scribble(number, wire::kHeaderOffset, sizeof(wire::Header));
    if (action == "arena") return fill_arena();
    if (action == "silent" || action == "hangups") return flood(action, number);
    if (action == "sleep") std::this_thread::sleep_for(std::chrono::milliseconds(number));
    if (action == "clean") process_.mapping().header()->clean_end.store(1);
    return action.starts_with("memory-") || action.starts_with("hello-") ? odd_hello(action) : true;
  }

 private:
  [[nodiscard]] uint64_t ticks() const { return wire::read_ticks(scale_.source); }

  bool again(const std::string& path) {
    static FakeProcess second(scale_);
    second.began_at(process_.first_event_ticks());
    return second.say_hello(path, variables_of_environment());
  }

  bool ranges(int count) {
    for (int i = 0; i < count; ++i) {
      ring_.push(range_begin(work_, ticks(), kNvtx));
      ring_.push(range_end(ticks(), kNvtx));
    }
    return true;
  }

  void fill(void* place, size_t bytes) {
    auto* to = static_cast<unsigned char*>(place);
    for (size_t i = 0; i < bytes; ++i) to[i] = static_cast<unsigned char>(random_());
  }

  bool noise(int count) {
    wire::RingShared& shared = *process_.mapping().ring(0);
    for (int i = 0; i < count; ++i) {
      const uint64_t at = shared.head.load();
      fill(&process_.mapping().slots(0)[at & wire::kRingMask], wire::kSlotBytes);
      shared.head.store(at + 1, std::memory_order_release);
      if (i % 1000 == 999) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ring_ = {&shared, process_.mapping().slots(0), process_.mapping().control()};  // goes on there
    return true;
  }

  [[nodiscard]] bool wait_until_drained() const {
    const wire::RingShared& shared = *process_.mapping().ring(0);
    for (int i = 0; i < 20'000 && shared.tail.load() != shared.head.load(); ++i) usleep(1000);
    return shared.tail.load() == shared.head.load();
  }

  bool heads(int count) {
    std::atomic<uint64_t>& head = process_.mapping().ring(0)->head;
    for (int i = 0; i < count; ++i) {
      const uint64_t now = head.load();
      const uint64_t somewhere[] = {
          now + 1'000'000, now - 7, UINT64_MAX, 0, now + wire::kRingSlots / 2, random_()};
      head.store(somewhere[static_cast<size_t>(i) % std::size(somewhere)]);
      std::this_thread::sleep_for(std::chrono::milliseconds(6));
    }
    return true;
  }

  bool scribble(int count, uint64_t offset, size_t bytes) {
    for (int i = 0; i < count; ++i) {
      fill(process_.mapping().base + offset, bytes);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

  bool fill_arena() {
    std::string text(wire::kMaxTextBytes, 'x');
    while (process_.text(text) != 0) {
    }
    for (int i = 0; i < 9; ++i) process_.text(text);
    return true;
  }

  bool flood(std::string_view action, int count) {
    for (int i = 0; i < count; ++i) {
      const int fd = connect_to_recorder();
      if (action == "hangups") close(fd);
    }
    return true;
  }

  bool odd_hello(std::string_view action) {
    if (action.starts_with("memory-")) {
      const int memory = odd_memory(action);
      return memory >= 0 && send_packet(hello_packet(wire::kWireVersion, 0), {memory});
    }
    if (action == "hello-empty") return send_packet({}, {});
    if (action == "hello-cut") return send_packet(hello_packet(wire::kWireVersion, 5000), {});
    if (action == "hello-version") return send_packet(hello_packet(77, 0), {process_.memory_fd()});
    if (action == "hello-descriptors") {
      return send_packet(hello_packet(wire::kWireVersion, 0), std::vector<int>(100, STDERR_FILENO));
    }
    std::vector<unsigned char> bytes(500);
    fill(bytes.data(), bytes.size());
    return send_packet(bytes, {process_.memory_fd()});
  }

  wire::TickScale scale_;
  FakeProcess process_;
  wire::RingWriter ring_;
  uint32_t work_ = 0;
  std::mt19937 random_{424242};
};

}  // namespace
}  // namespace dprof::recorder

int main(int argc, char** argv) {
  dprof::recorder::Hostile hostile;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    const int number = equals == std::string::npos ? 0 : std::atoi(argument.c_str() + equals + 1);
    if (!hostile.act(argument.substr(0, equals), number)) {
      fmt::print(stderr, "hostile: {} failed\n", argument);
      return 99;
    }
  }
  return 0;
}
