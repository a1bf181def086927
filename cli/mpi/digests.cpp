// SPDX-License-Identifier: Apache-2.0
#include "cli/mpi/digests.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cereal/archives/binary.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/tuple.hpp>
#include <cereal/types/vector.hpp>
#include <mutex>
#include <sstream>
#include <thread>
#include <tuple>

#include "analyzer/digest/all.h"
#include "analyzer/digest/bytes.h"
#include "analyzer/digest/cache.h"
#include "base/in_threads.h"
#include "cli/mpi/deal.h"

namespace dprof::cli {
namespace {

using analyzer::RankDigest;
using analyzer::TraceFile;
using Steady = std::chrono::steady_clock;

// The first byte of a message. An order contains: whether the cache counts, how many processes
// share the host, and for each trace its position, its path and how it ended. An answer contains:
// the position, whether the trace could be read, and the digest's bytes.
enum Kind : char { kHello = 'h', kOrder = 'o', kAnswer = 'a', kAlive = 'b', kStay = 's' };
using Pieces = std::vector<std::tuple<uint64_t, std::string, std::string>>;

template <typename... Parts>
std::string message(Kind kind, const Parts&... parts) {
  std::ostringstream stream;
  stream << kind;
  cereal::BinaryOutputArchive archive(stream);
  (archive(parts), ...);
  return std::move(stream).str();
}

// Sent by another process of this very program (except hellos), so other contents are not possible.
template <typename... Parts>
bool unpack(std::string bytes, Kind kind, Parts&... parts) try {
  if (bytes.empty() || bytes.front() != kind) return false;
  std::istringstream stream(std::move(bytes));
  stream.get();
  cereal::BinaryInputArchive archive(stream);
  (archive(parts), ...);
  return true;
} catch (const std::exception&) {
  return false;
}

// Says "I am alive" once a second.
class Beat {
 public:
  [[nodiscard]] bool is_due() {
    if (Steady::now() < next_) return false;
    next_ = Steady::now() + std::chrono::seconds(1);
    return true;
  }

 private:
  Steady::time_point next_ = Steady::now();
};

void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

// Number of threads for a process that shares its host with others. A launcher that binds it to
// cores has already decided.
size_t threads_beside(uint64_t processes) {
  const auto cores = static_cast<size_t>(std::max<long>(1, sysconf(_SC_NPROCESSORS_ONLN)));
  return std::clamp<size_t>(cores / processes, 1,
                            std::max<size_t>(1, std::thread::hardware_concurrency()));
}

// --- number 0 ---

class Gathering {
 public:
  Gathering(const TeamWork& work, std::span<const TraceFile> traces, bool cache,
            const analyzer::Progress& progress)
      : work_(work),
        traces_(traces),
        cache_(cache),
        progress_(progress),
        helpers_(work.team.size()),
        digests_(traces.size()) {}

  Result<std::vector<Result<RankDigest>>> run() {
    if (!meet()) return fail(Code::kUsage, "cancelled");
    order();
    if (!make(own_)) return fail(Code::kUsage, "cancelled");
    while (is_waiting()) {
      if (!report_progress()) return fail(Code::kUsage, "cancelled");
      rest();
    }
    std::vector<size_t> missing;
    for (size_t i = 0; i < traces_.size(); ++i) {
      if (!digests_.has(i)) missing.push_back(i);
    }
    if (!make(missing)) return fail(Code::kUsage, "cancelled");
    if (work_.team.has_lost_one()) say_to_all(message(kStay));
    return std::move(digests_).take();
  }

 private:
  struct Helper {
    bool came = false;
    bool lost = false;
    std::string fingerprint;
    std::string host;
    size_t owes = 0;  // digests
    Steady::time_point last_sign = Steady::now();
  };

  [[nodiscard]] std::span<Helper> others() { return std::span(helpers_).subspan(1); }

  // Processes that have said hello are known to have started.
  bool meet() {
    const auto is_awaited = [](const Helper& helper) { return !helper.came && !helper.lost; };
    while (std::ranges::any_of(others(), is_awaited)) {
      take_in();
      look_after(is_awaited);
      beat();
      if (!progress_(fmt::format("{} processes", work_.team.size()), 0)) return false;
      rest();
    }
    return true;
  }

  // By size, and to a process on the trace's host if possible.
  void order() {
    helpers_[0].host = work_.host;
    std::vector<size_t> hands = {0};
    for (size_t h = 1; h < helpers_.size(); ++h) {
      const Helper& helper = helpers_[h];
      if (helper.lost) continue;
      if (helper.fingerprint == analyzer::kDigestFingerprint) {
        hands.push_back(h);
      } else {
        work_.say(fmt::format("process {} on {} runs another dprof, and makes no digests", h,
                              helper.host));
      }
    }
    std::vector<uint64_t> sizes;
    for (const TraceFile& trace : traces_) {
      std::error_code error;
      const uintmax_t size = std::filesystem::file_size(trace.path, error);
      sizes.push_back(error ? 0 : size);
    }
    const std::vector<size_t> hand_of = deal(sizes, hands.size(), [&](size_t piece, size_t hand) {
      return helpers_[hands[hand]].host == traces_[piece].host;
    });
    std::vector<Pieces> pieces(helpers_.size());
    for (size_t i = 0; i < traces_.size(); ++i) {
      const size_t h = hands[hand_of[i]];
      if (h == 0) own_.push_back(i);
      std::error_code error;
      pieces[h].emplace_back(i, std::filesystem::absolute(traces_[i].path, error).string(),
                             traces_[i].ended);
    }
    for (const size_t h : hands) {
      if (h == 0) continue;
      helpers_[h].owes = pieces[h].size();
      work_.team.send(h, message(kOrder, cache_, processes_on(helpers_[h].host), pieces[h]));
    }
  }

  [[nodiscard]] uint64_t processes_on(const std::string& host) const {
    return static_cast<uint64_t>(std::ranges::count(helpers_, host, &Helper::host));
  }

  bool make(std::span<const size_t> positions) {
    return in_threads(
               positions.size(), threads_beside(processes_on(work_.host)),
               [&](size_t p) {
                 const TraceFile& trace = traces_[positions[p]];
                 digests_.put(positions[p], cache_ ? analyzer::cached_digest(trace)
                                                   : analyzer::digest_rank(trace));
               },
               [&](size_t done) {
                 made_now_ = done;
                 return report_progress();
               }) &&
           settle(positions.size());
  }
  bool settle(size_t made) {
    made_ += made;
    made_now_ = 0;
    return true;
  }

  bool report_progress() {
    take_in();
    look_after([](const Helper& helper) { return helper.owes > 0; });
    beat();
    const size_t done = made_ + made_now_ + taken_;
    return progress_(fmt::format("{} of {} ranks read", done, traces_.size()),
                     static_cast<double>(done) / static_cast<double>(traces_.size()));
  }

  void beat() {
    if (beat_.is_due()) say_to_all(message(kAlive));
  }

  void say_to_all(const std::string& what) {
    for (size_t h = 1; h < helpers_.size(); ++h) {
      if (helpers_[h].came && !helpers_[h].lost) work_.team.send(h, what);
    }
    work_.team.turn();
  }

  void take_in() {
    while (work_.team.turn()) {
      while (std::optional<TeamMessage> message = work_.team.receive()) take(*std::move(message));
    }
  }

  void take(TeamMessage message) {
    Helper& helper = helpers_[message.from];
    helper.last_sign = Steady::now();
    if (message.bytes.empty()) return;
    uint64_t position = 0;
    bool good = false;
    std::string bytes;
    if (message.bytes.front() == kHello) {
      helper.came = unpack(std::move(message.bytes), kHello, helper.fingerprint, helper.host);
    } else if (!helper.lost && unpack(std::move(message.bytes), kAnswer, position, good, bytes) &&
               position < traces_.size() && helper.owes > 0) {
      --helper.owes;
      std::optional<RankDigest> digest =
          good ? analyzer::digest_in_run(bytes, traces_[position]) : std::nullopt;
      if (!digest) return;  // perhaps this process can read it
      digests_.put(position, *std::move(digest));
      ++taken_;
    }
  }

  // Gives up processes whose message is overdue because they have died.
  template <typename IsAwaited>
  void look_after(IsAwaited is_awaited) {
    const Steady::time_point oldest = Steady::now() - work_.patience;
    for (size_t h = 1; h < helpers_.size(); ++h) {
      Helper& helper = helpers_[h];
      if (helper.lost || !is_awaited(helper) || helper.last_sign >= oldest) continue;
      helper.lost = true;
      work_.team.lost_one();
      work_.say(
          fmt::format("process {}{}{} gave no sign of life for {} s; what it owes is made here", h,
                      helper.host.empty() ? "" : " on ", helper.host,
                      std::chrono::duration_cast<std::chrono::seconds>(work_.patience).count()));
      helper.owes = 0;
    }
  }

  [[nodiscard]] bool is_waiting() {
    return std::ranges::any_of(others(), [](const Helper& helper) { return helper.owes > 0; });
  }

  const TeamWork& work_;
  const std::span<const TraceFile> traces_;
  const bool cache_;
  const analyzer::Progress& progress_;
  std::vector<Helper> helpers_;  // by number; the first is this process
  std::vector<size_t> own_;      // positions
  analyzer::CollectedDigests digests_;
  Beat beat_;
  size_t made_ = 0;
  size_t made_now_ = 0;
  size_t taken_ = 0;
};

// --- the others ---

class Helping {
 public:
  explicit Helping(const TeamWork& work) : work_(work) {}

  Status run() {
    work_.team.send(0, message(kHello, std::string(analyzer::kDigestFingerprint), work_.host));
    while (!order_ && !is_over_ && !is_alone()) go_on();
    if (order_ && !is_over_) {
      const Order& order = *order_;
      in_threads(
          order.pieces.size(), threads_beside(order.on_this_host),
          [&](size_t p) { make(order.pieces[p], order.cache); },
          [&](size_t) {
            go_on();
            return !is_over_ && !is_alone();
          });
    }
    while (!is_over_ && !is_alone()) go_on();
    if (is_over_) return Done{};
    work_.team.lost_one();
    return fail(Code::kInternal, "process 0 gave no sign of life");
  }

 private:
  void make(const Pieces::value_type& piece, bool cache) {
    TraceFile trace;
    uint64_t position = 0;
    std::string path;
    std::tie(position, path, trace.ended) = piece;
    trace.path = path;
    const Result<std::string> bytes = analyzer::digest_bytes(trace, cache);
    const std::lock_guard lock(mutex_);
    made_.push_back(message(kAnswer, position, bytes.ok(), bytes.ok() ? *bytes : std::string()));
  }

  void go_on() {
    {
      const std::lock_guard lock(mutex_);
      for (std::string& answer : made_) work_.team.send(0, std::move(answer));
      made_.clear();
    }
    if (beat_.is_due()) work_.team.send(0, message(kAlive));
    if (!work_.team.turn()) rest();
    while (const std::optional<TeamMessage> said = work_.team.receive()) {
      last_sign_ = Steady::now();
      is_over_ = is_over_ || said->bytes.empty();
      Order order;
      is_to_stay_ = is_to_stay_ || unpack(said->bytes, kStay);
      if (unpack(said->bytes, kOrder, order.cache, order.on_this_host, order.pieces))
        order_ = std::move(order);
    }
  }

  // A process that has to stay is ended by the launcher, together with number 0: once a process is
  // lost none can leave in order, and with mpirun 4.1 an attempt can hang or crash.
  [[nodiscard]] bool is_alone() const {
    return !is_to_stay_ && Steady::now() - last_sign_ > work_.patience;
  }

  struct Order {
    bool cache = false;
    uint64_t on_this_host = 1;  // processes
    Pieces pieces;
  };
  const TeamWork& work_;
  std::optional<Order> order_;
  bool is_over_ = false;
  bool is_to_stay_ = false;
  Steady::time_point last_sign_ = Steady::now();
  Beat beat_;
  std::mutex mutex_;  // of made_
  std::vector<std::string> made_;
};

}  // namespace

Result<std::vector<Result<RankDigest>>> digests_of_all(const TeamWork& work,
                                                       std::span<const TraceFile> traces,
                                                       bool cache,
                                                       const analyzer::Progress& progress) {
  return Gathering(work, traces, cache, progress).run();
}

Status help(const TeamWork& work) { return Helping(work).run(); }

}  // namespace dprof::cli
