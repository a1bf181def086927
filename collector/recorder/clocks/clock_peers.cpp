// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/clocks/clock_peers.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

namespace dprof::recorder {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kProbesInBurst = 8;
constexpr seconds kBurstInterval{1};
constexpr milliseconds kAnswerWithin{50};  // a slower probe carries no information
constexpr seconds kSilentFor{5};
constexpr milliseconds kLastBurst{100};
constexpr int kPacketsAtOnce = 64;
constexpr size_t kMostRows = 1 << 16;
constexpr size_t kMostAnswered = 4096;  // remembered at most

}  // namespace

PeerKey probe_key(const std::string& token) { return derive_key(token, "probe"); }

std::optional<RecorderFile> choose_reference(
    const std::vector<RecorderFile>& files, const RecorderFile& self,
    const std::function<bool(const RecorderFile&)>& lives) {
  if (!self.first_on_host) return std::nullopt;
  const RecorderFile* reference = &self;
  for (const RecorderFile& file : files) {
    if (file.run_id != self.run_id || file.id == self.id || file.probe_port == 0) continue;
    if (std::pair(!file.first, file.id) > std::pair(!reference->first, reference->id)) continue;
    if (lives(file)) reference = &file;
  }
  if (reference->clock_id == self.clock_id) return std::nullopt;
  return *reference;
}

Result<std::unique_ptr<ClockPeers>> ClockPeers::start(const RunClock& clock, RecorderFile& self,
                                                      std::optional<MeetingPoint> meeting) {
  const Result<Address> own = find_address(self.address, 0);
  if (!own.ok()) return fail(own.error());
  Result<Descriptor> socket = bind_udp(any_address(*own));
  if (!socket.ok()) return fail(socket.error());
  std::unique_ptr<ClockPeers> peers(new ClockPeers(clock));
  peers->socket_ = *std::move(socket);
  peers->wake_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  peers->key_ = probe_key(self.token);
  peers->run_id_ = self.run_id;
  peers->clock_id_ = self.clock_id;
  if (meeting && meeting->listens()) {
    peers->meet_key_ = meeting->key();
    peers->met_probe_key_ = meeting->probe_key(self.run_id);
    peers->meet_socket_ = meeting->take_socket();
  }
  self.probe_port = port_of(peers->socket_.get());
  peers->next_sequence_ = random_sequence();
  try {
    peers->thread_ = std::thread([running = peers.get()] { running->run_guarded(); });
  } catch (const std::system_error& error) {
    return fail(Code::kIo, fmt::format("no thread for clock probes: {}", error.what()),
                "raise the limit of processes (ulimit -u, the container's pids limit)");
  }
  return peers;
}

ClockPeers::~ClockPeers() {
  stopping_.store(true, std::memory_order_relaxed);
  eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

void ClockPeers::probe(const PeerTarget& target) {
  {
    const std::lock_guard lock(mutex_);
    new_target_ = target;
    has_target_ = true;
    last_answer_ = Steady::now();  // it has not had a chance yet
  }
  eventfd_write(wake_.get(), 1);
}

bool ClockPeers::wants_target() const {
  const std::lock_guard lock(mutex_);
  return !has_target_ || Steady::now() - last_answer_ > kSilentFor;
}

void ClockPeers::burst_now() {
  const int64_t before = bursts_.load();
  {
    const std::lock_guard lock(mutex_);
    if (!has_target_) return;
    burst_asked_ = true;
  }
  eventfd_write(wake_.get(), 1);
  const Steady::time_point give_up = Steady::now() + kLastBurst;
  while (bursts_.load() == before && Steady::now() < give_up) {
    std::this_thread::sleep_for(milliseconds(1));
  }
}

std::vector<schema::ClockProbeRow> ClockPeers::take_probes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(rows_, {});
}

// An exception from a library (out of memory) ends the probes, and nothing else.
void ClockPeers::run_guarded() {
  try {
    run();
  } catch (const std::exception&) {
    failed_.store(true, std::memory_order_relaxed);
  }
}

void ClockPeers::run() {
  while (!stopping_.load(std::memory_order_relaxed)) {
    {
      const std::lock_guard lock(mutex_);
      if (new_target_) {
        target_ = std::exchange(new_target_, std::nullopt);
        outstanding_.reset();
        left_in_burst_ = 0;
        next_burst_ = Steady::now();
      }
      if (std::exchange(burst_asked_, false)) next_burst_ = Steady::now();
    }
    send_what_is_due();
    pollfd polled[] = {{socket_.get(), POLLIN, 0},
                       {wake_.get(), POLLIN, 0},
                       {meet_socket_.get(), POLLIN, 0}};  // poll() passes over a descriptor of -1
    const auto pause = std::chrono::duration_cast<milliseconds>(next_event() - Steady::now());
    poll(polled, std::size(polled), static_cast<int>(std::max<int64_t>(pause.count() + 1, 0)));
    eventfd_t wakes = 0;
    eventfd_read(wake_.get(), &wakes);
    take_packets(socket_.get());
    if (meet_socket_.valid()) take_packets(meet_socket_.get());
  }
}

ClockPeers::Steady::time_point ClockPeers::next_event() const {
  if (outstanding_) return outstanding_->give_up;
  if (target_) return next_burst_;
  return Steady::now() + kBurstInterval;
}

// One probe at a time: the next is sent when the answer has arrived, or is overdue.
void ClockPeers::send_what_is_due() {
  const Steady::time_point now = Steady::now();
  if (outstanding_ && now >= outstanding_->give_up) {
    outstanding_.reset();
    if (left_in_burst_ == 0) bursts_.fetch_add(1);
  }
  if (!target_ || outstanding_) return;
  if (left_in_burst_ == 0) {
    if (now < next_burst_) return;
    left_in_burst_ = kProbesInBurst;
    next_burst_ = now + kBurstInterval;
  }
  --left_in_burst_;
  const uint64_t sequence = next_sequence_++;
  const auto packet = encode(ProbePacket{PacketKind::kProbe, sequence, 0, 0}, target_->key);
  outstanding_ = Outstanding{sequence, clock_.now().ns, now + kAnswerWithin};
  send_to(socket_.get(), packet, target_->address);  // an unsent probe is an unanswered one
}

void ClockPeers::take_packets(int socket) {
  uint8_t buffer[kMeetBytes + 1];
  for (int i = 0; i < kPacketsAtOnce; ++i) {
    const std::optional<Received> got = receive(socket, buffer);
    if (!got) return;
    const int64_t receive_ns = clock_.now().ns - got->age_ns;
    const std::span<const uint8_t> bytes = std::span(buffer).first(got->bytes);
    const PeerKey& key = socket == meet_socket_.get() ? met_probe_key_ : key_;
    if (const auto probe = decode_probe(bytes, key); probe && probe->kind == PacketKind::kProbe) {
      answer(socket, *got, *probe, key, receive_ns);
    } else if (const auto question = decode_meet(bytes, meet_key_);
               question && meet_socket_.valid() && question->kind == PacketKind::kMeet) {
      welcome(socket, *got, *question);
    } else if (const auto reply = target_ ? decode_probe(bytes, target_->key) : std::nullopt;
               reply && reply->kind == PacketKind::kAnswer) {
      note_answer(*reply, *got, receive_ns);
    } else {
      refused_.fetch_add(1, std::memory_order_relaxed);
    }
    if (outstanding_ == std::nullopt) send_what_is_due();
  }
}

void ClockPeers::answer(int socket, const Received& received, const ProbePacket& probe,
                        const PeerKey& key, int64_t receive_ns) {
  ProbePacket reply{PacketKind::kAnswer, probe.sequence, on_clock(receive_ns), 0};
  reply.reply_ns = on_clock(clock_.now().ns);
  send_to(socket, encode(reply, key), received.from);
  heard_.fetch_add(1, std::memory_order_relaxed);
}

// A copy of a question gets no answer.
void ClockPeers::welcome(int socket, const Received& received, const MeetPacket& question) {
  if (std::ranges::find(answered_, question.sequence) != answered_.end()) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (answered_.size() == kMostAnswered) answered_.pop_front();
  answered_.push_back(question.sequence);
  const std::vector<uint8_t> reply =
      encode(MeetPacket{PacketKind::kWelcome, question.sequence, run_id_, clock_id_}, meet_key_);
  send_to(socket, reply, received.from);
  heard_.fetch_add(1, std::memory_order_relaxed);
}

// An answer counts once: a copy of it has no outstanding question. A host with several addresses
// can answer from another one, but from the same port.
void ClockPeers::note_answer(const ProbePacket& packet, const Received& received,
                             int64_t receive_ns) {
  const bool expected = outstanding_ && outstanding_->sequence == packet.sequence &&
                        received.from.port() == target_->address.port();
  if (!expected || packet.reply_ns < packet.receive_ns || receive_ns < outstanding_->send_ns) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const schema::ClockProbeRow row{.peer = target_->clock_id,
                                  .send_ns = outstanding_->send_ns,
                                  .peer_receive_ns = packet.receive_ns,
                                  .peer_reply_ns = packet.reply_ns,
                                  .receive_ns = receive_ns};
  outstanding_.reset();
  heard_.fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    last_answer_ = Steady::now();
    if (rows_.size() < kMostRows) rows_.push_back(row);
  }
  if (left_in_burst_ == 0) bursts_.fetch_add(1);
}

}  // namespace dprof::recorder
