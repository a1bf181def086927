// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/test_support/fake_process.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "collector/recorder/ranks/environment.h"

namespace dprof::recorder {

FakeProcess::FakeProcess(const wire::TickScale& scale)
    : memory_fd_(memfd_create("dprof", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  if (memory_fd_ < 0 || ftruncate(memory_fd_, wire::kTotalBytes) != 0 ||
      fcntl(memory_fd_, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    std::abort();
  }
  void* base = mmap(nullptr, wire::kTotalBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd_, 0);
  if (base == MAP_FAILED) std::abort();
  mapping_.base = static_cast<unsigned char*>(base);
  wire::Header& header = *mapping_.header();
  header.magic = wire::kMagic;
  header.wire_version = wire::kWireVersion;
  header.max_rings = wire::kMaxRings;
  header.ring_slots = wire::kRingSlots;
  header.arena_bytes = wire::kArenaBytes;
  header.total_bytes = wire::kTotalBytes;
  header.scale = scale;
  wire::arena_start(mapping_);
}

FakeProcess::~FakeProcess() {
  munmap(mapping_.base, wire::kTotalBytes);
  close(memory_fd_);
  if (socket_ >= 0) close(socket_);
}

uint32_t FakeProcess::text(std::string_view text) {
  return wire::arena_append(mapping_, text.data(), text.size(), 1);
}

wire::RingWriter FakeProcess::open_ring(uint32_t index, uint32_t os_tid) {
  wire::RingShared& shared = *mapping_.ring(index);
  shared.os_tid = os_tid;
  shared.status.store(static_cast<uint32_t>(wire::RingStatus::kLive), std::memory_order_release);
  std::atomic<uint32_t>& taken = mapping_.header()->rings_taken;
  if (taken.load() <= index) taken.store(index + 1);
  return {&shared, mapping_.slots(index), mapping_.control()};
}

void FakeProcess::close_ring(uint32_t index) {
  mapping_.ring(index)->status.store(static_cast<uint32_t>(wire::RingStatus::kClosed),
                                     std::memory_order_release);
}

bool FakeProcess::say_hello(const std::string& socket_path, std::string_view variables,
                            uint32_t wire_version, bool with_memory) {
  socket_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return false;
  }
  wire::Hello hello{};
  hello.magic = wire::kMagic;
  hello.wire_version = wire_version;
  hello.pid = getpid();
  hello.error_number = with_memory ? 0 : ENOMEM;
  hello.text_bytes = static_cast<uint32_t>(variables.size());
  hello.first_event_ticks = first_event_ticks_;
  std::vector<char> packet(sizeof hello + variables.size());
  std::memcpy(packet.data(), &hello, sizeof hello);
  std::memcpy(packet.data() + sizeof hello, variables.data(), variables.size());
  iovec part{packet.data(), packet.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (with_memory) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &memory_fd_, sizeof memory_fd_);
  }
  return sendmsg(socket_, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(packet.size());
}

namespace {

wire::Record record_of(wire::Kind kind, uint32_t text, uint64_t ticks) {
  wire::Record record{};
  record.kind = kind;
  record.slots = 1;
  record.string = text;
  record.ticks = ticks;
  return record;
}

}  // namespace

wire::TickScale scale_of_environment() {
  wire::TickScale scale{
      .tick0 = 0, .multiplier = 1, .shift = 0, .source = wire::ClockSource::kMonotonic};
  unsigned source = 0, shift = 0;
  unsigned long long tick0 = 0, multiplier = 0;
  const std::string text = Environment::current().get(wire::kClockVariable);
  if (std::sscanf(text.c_str(), "%u %llu %llu %u", &source, &tick0, &multiplier, &shift) == 4) {
    scale = {tick0, multiplier, shift, static_cast<wire::ClockSource>(source)};
  }
  return scale;
}

wire::Record range_begin(uint32_t name, uint64_t ticks, uint8_t category, uint64_t key) {
  wire::Record record = record_of(wire::Kind::kRangeBegin, name, ticks);
  record.range_begin.sequence = -1;
  record.range_begin.key = key;
  record.range_begin.category = category;
  return record;
}

wire::Record range_end(uint64_t ticks, uint8_t category, uint64_t key) {
  wire::Record record = record_of(wire::Kind::kRangeEnd, 0, ticks);
  record.range_end.key = key;
  record.range_end.category = category;
  return record;
}

wire::Record collective_enqueue(uint32_t name, uint64_t ticks, uint64_t group, uint8_t function) {
  wire::Record record = record_of(wire::Kind::kCollectiveEnqueue, name, ticks);
  record.enqueue.group = group;
  record.enqueue.bytes = 4096;
  record.enqueue.count = 1024;
  record.enqueue.root = -1;
  record.enqueue.peer = -1;
  record.enqueue.function = function;
  record.enqueue.data_type = 8;  // float32
  record.enqueue.reduction = 1;  // sum
  record.enqueue.backend = 1;    // gloo
  return record;
}

wire::Record collective_edge(wire::Kind kind, uint32_t name, uint64_t ticks, uint64_t key) {
  wire::Record record = record_of(kind, name, ticks);
  record.edge.key = key;
  return record;
}

}  // namespace dprof::recorder
