// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/clocks/peers.h"

#include <fmt/format.h>

#include <algorithm>

namespace dprof::recorder {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kMeetWithin{10};
constexpr seconds kBetweenLastBursts{1};
// Each look reads the files of all recorders.
constexpr seconds kLongestLookPause{32};

}  // namespace

Result<Peers> Peers::meet(const std::string& where, const std::filesystem::path& key_file,
                          const Job& job) {
  Peers peers;
  peers.where_ = where;
  if (where.empty()) return peers;
  if (key_file.empty()) {
    return fail(Code::kUsage, "--meet needs a secret that all recorders of the job have",
                "--meet-key-file FILE");
  }
  const Result<std::string> secret = read_meet_secret(key_file);
  if (!secret.ok()) return fail(secret.error());
  Result<MeetingPoint> point = MeetingPoint::open(where, *secret, job);
  if (!point.ok()) return fail(point.error());
  peers.point_ = *std::move(point);
  if (peers.point_->listens()) return peers;
  peers.met_ = peers.point_->ask(kMeetWithin);
  if (!peers.met_) {
    peers.failure_ = fmt::format("no recorder of this job answered at {} within {} s", where,
                                 kMeetWithin.count());
  }
  return peers;
}

void Peers::start(const RunClock& clock, const RunFolder& folder, const Variables& variables) {
  folder_ = folder.path();
  self_ = folder.self();
  const bool alone = where_.empty() && find_job(variables).id.empty();
  self_.address = alone ? "127.0.0.1" : own_address(variables);
  if (met_ && met_->run_id != self_.run_id) {
    failure_ = fmt::format("the folder holds a different run from that of {}", where_);
    met_.reset();
  }
  if (alone) return;
  const bool is_guest = point_ && !point_->listens();
  Result<std::unique_ptr<ClockPeers>> clocks = ClockPeers::start(
      clock, self_, is_guest ? std::nullopt : std::exchange(point_, std::nullopt));
  if (clocks.ok()) {
    clocks_ = *std::move(clocks);
  } else {
    failure_ = clocks.error().what;
  }
}

Status Peers::announce() const {
  const Result<std::filesystem::path> written = write_recorder_file(folder_, self_);
  if (!written.ok()) return fail(written.error());
  return Done{};
}

void Peers::tick(RunFolder& folder) {
  folder.beat();
  if (!clocks_ || !clocks_->wants_target()) return;
  if (met_) {
    if (met_->clock_id == self_.clock_id || !self_.first_on_host) return;
    clocks_->probe({point_->address(), point_->probe_key(met_->run_id), met_->clock_id});
    return;
  }
  const steady_clock::time_point now = steady_clock::now();
  if (now < next_look_ || !self_.first_on_host) return;
  next_look_ = now + look_pause_;
  look_pause_ = std::min(look_pause_ * 2, kLongestLookPause);
  const std::optional<RecorderFile> reference =
      choose_reference(read_recorder_files(folder_), self_, [&](const RecorderFile& file) {
        return LockFile::is_held(folder_ / "recorders" / (file.name + ".lock"));
      });
  if (!reference) return;
  const Result<Address> address = find_address(reference->address, reference->probe_port);
  if (!address.ok()) return;
  clocks_->probe({*address, probe_key(reference->token), reference->clock_id});
  look_pause_ = kFirstLookPause;
}

void Peers::before_end() {
  if (!clocks_ || steady_clock::now() < next_last_burst_) return;
  clocks_->burst_now();
  next_last_burst_ = steady_clock::now() + kBetweenLastBursts;
}

std::vector<schema::ClockProbeRow> Peers::take_probes() {
  return clocks_ ? clocks_->take_probes() : std::vector<schema::ClockProbeRow>();
}

std::optional<std::string> Peers::complaint(bool others) const {
  if (failure_) return failure_;
  if (clocks_ && clocks_->failed()) return "the thread of the clock probes failed";
  if (met_ || (clocks_ && clocks_->heard() > 0)) return std::nullopt;
  if (!where_.empty()) return fmt::format("no other recorder came to {}", where_);
  if (others) return std::string("the job has ranks that no recorder of this run has seen");
  return std::nullopt;
}

}  // namespace dprof::recorder
