// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/clocks/meeting_point.h"

#include <poll.h>

#include <vector>

namespace dprof::recorder {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kAskAgain{200};

}  // namespace

Result<MeetingPoint> MeetingPoint::open(const std::string& where, const Job& job) {
  Result<Address> address = parse_address(where);
  if (!address.ok()) return fail(address.error());
  MeetingPoint point;
  point.address_ = *address;
  point.key_ = derive_key(job.id, "meet");
  Result<Descriptor> socket = bind_udp(*address);
  if (socket.ok()) {
    point.socket_ = *std::move(socket);
    point.listens_ = true;
    return point;
  }
  // Of another host, or another recorder of this host listens already.
  const Code code = socket.error().code;
  if (code != Code::kUnsupported && code != Code::kUsage) return fail(socket.error());
  socket = bind_udp(any_address(*address));
  if (!socket.ok()) return fail(socket.error());
  point.socket_ = *std::move(socket);
  return point;
}

std::optional<MeetPacket> MeetingPoint::ask(milliseconds at_most) const {
  const uint64_t sequence = random_sequence();
  const std::vector<uint8_t> question =
      encode(MeetPacket{PacketKind::kMeet, sequence, {}, {}, {}}, key_);
  const steady_clock::time_point give_up = steady_clock::now() + at_most;
  while (steady_clock::now() < give_up) {
    send_to(socket_.get(), question, address_);
    const steady_clock::time_point again = std::min(give_up, steady_clock::now() + kAskAgain);
    while (steady_clock::now() < again) {
      const auto left = std::chrono::duration_cast<milliseconds>(again - steady_clock::now());
      pollfd polled{socket_.get(), POLLIN, 0};
      if (poll(&polled, 1, static_cast<int>(left.count()) + 1) <= 0) break;
      uint8_t buffer[kMeetBytes + 1];
      const std::optional<Received> got = receive(socket_.get(), buffer);
      if (!got) continue;
      const auto answer = decode_meet(std::span(buffer).first(got->bytes), key_);
      const bool ours = answer && answer->kind == PacketKind::kWelcome &&
                        answer->sequence == sequence && !answer->run_id.empty();
      if (ours) return answer;
    }
  }
  return std::nullopt;
}

}  // namespace dprof::recorder
