// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/clocks/meeting_point.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace dprof::recorder {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kAskAgain{200};
constexpr size_t kShortestSecret = 16;
constexpr size_t kLongestSecret = 4096;
constexpr char kSecretHint[] =
    "make one and give it to all recorders of the job: (umask 077; head -c 32 /dev/urandom | "
    "base64 > FILE)";

}  // namespace

Result<std::string> read_meet_secret(const std::filesystem::path& file) {
  const Descriptor fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!fd.valid() || fstat(fd.get(), &status) != 0) {
    return fail(Code::kUsage, fmt::format("{}: {}", file.string(), std::strerror(errno)),
                kSecretHint);
  }
  if (!S_ISREG(status.st_mode) || (status.st_mode & 077) != 0 || status.st_uid != geteuid()) {
    return fail(Code::kUsage,
                fmt::format("{}: others can read it, so it is no secret", file.string()),
                fmt::format("chmod 600 {}", file.string()));
  }
  char text[kLongestSecret];
  const ssize_t got = read(fd.get(), text, sizeof text);
  std::string_view secret(text, static_cast<size_t>(std::max<ssize_t>(got, 0)));
  constexpr std::string_view kBlanks = " \t\r\n";
  secret.remove_prefix(std::min(secret.find_first_not_of(kBlanks), secret.size()));
  secret = secret.substr(0, secret.find_last_not_of(kBlanks) + 1);
  if (secret.size() < kShortestSecret) {
    return fail(Code::kUsage,
                fmt::format("{}: a secret of fewer than {} bytes can be guessed", file.string(),
                            kShortestSecret),
                kSecretHint);
  }
  return std::string(secret);
}

Result<MeetingPoint> MeetingPoint::open(const std::string& where, const std::string& secret,
                                        const Job& job) {
  Result<Address> address = parse_address(where);
  if (!address.ok()) return fail(address.error());
  MeetingPoint point;
  point.address_ = *address;
  point.secret_ = secret;
  point.key_ = derive_key(secret + '\0' + job.id, "meet");
  Result<Descriptor> socket = bind_udp(*address);
  if (socket.ok()) {
    point.socket_ = *std::move(socket);
    point.listens_ = true;
    return point;
  }
  // The address is another host's, or another recorder of this host is already listening.
  const Code code = socket.error().code;
  if (code != Code::kUnsupported && code != Code::kUsage) return fail(socket.error());
  socket = bind_udp(any_address(*address));
  if (!socket.ok()) return fail(socket.error());
  point.socket_ = *std::move(socket);
  return point;
}

std::optional<MeetPacket> MeetingPoint::ask(milliseconds at_most) const {
  std::vector<uint64_t> asked;  // each question is answered once
  const steady_clock::time_point give_up = steady_clock::now() + at_most;
  while (steady_clock::now() < give_up) {
    asked.push_back(random_sequence());
    send_to(socket_.get(), encode(MeetPacket{PacketKind::kMeet, asked.back(), {}, {}}, key_),
            address_);
    const steady_clock::time_point again = std::min(give_up, steady_clock::now() + kAskAgain);
    while (steady_clock::now() < again) {
      const auto left = std::chrono::duration_cast<milliseconds>(again - steady_clock::now());
      pollfd polled{socket_.get(), POLLIN, 0};
      if (poll(&polled, 1, static_cast<int>(left.count()) + 1) <= 0) break;
      uint8_t buffer[kMeetBytes + 1];
      const std::optional<Received> got = receive(socket_.get(), buffer);
      if (!got) continue;
      const auto answer = decode_meet(std::span(buffer).first(got->bytes), key_);
      const bool ours = answer && answer->kind == PacketKind::kWelcome && got->from.is(address_) &&
                        !answer->run_id.empty() &&
                        std::ranges::find(asked, answer->sequence) != asked.end();
      if (ours) return answer;
    }
  }
  return std::nullopt;
}

}  // namespace dprof::recorder
