// SPDX-License-Identifier: Apache-2.0
// Teams of one process with a fake MPI, a table of queues that replaces the processes on other
// machines. With a real MPI: tests/end_to_end/test_mpi.py.
#include "cli/mpi/team.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <thread>

#include "analyzer/digest/all.h"
#include "analyzer/digest/bytes.h"
#include "cli/mpi/digests.h"
#include "tests/support/run_builder.h"
#include "tests/support/temporary_folder.h"

namespace dprof::cli {
namespace {

// Parts in flight between the processes. A send is done when its part has been received.
struct Fake {
  struct Part {
    std::string bytes;
    bool taken = false;
  };
  struct Wanted {
    int from, to;
    void* bytes;
    size_t size;
  };
  std::mutex mutex;
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Part>>> under_way;  // from, to
  std::map<void*, Wanted> wanted;
  std::map<void*, std::shared_ptr<Part>> sent;
  std::vector<size_t> sizes;  // of all that was sent
  int finished = 0;
  int aborted = 0;
  uintptr_t next = 1;
};
Fake* fake = nullptr;

template <int kSelf>
struct FakeProcess {
  static bool start(int*, int*) { return true; }
  static void* send(int to, const void* bytes, size_t size) {
    const std::lock_guard lock(fake->mutex);
    auto part = std::make_shared<Fake::Part>();
    part->bytes.assign(static_cast<const char*>(bytes), size);
    fake->under_way[{kSelf, to}].push_back(part);
    fake->sizes.push_back(size);
    void* handle = reinterpret_cast<void*>(fake->next++);
    fake->sent[handle] = part;
    return handle;
  }
  static void* receive(int from, void* bytes, size_t size) {
    const std::lock_guard lock(fake->mutex);
    void* handle = reinterpret_cast<void*>(fake->next++);
    fake->wanted[handle] = {from, kSelf, bytes, size};
    return handle;
  }
  static MpiLibrary::Outcome look(void* handle) {
    const std::lock_guard lock(fake->mutex);
    if (const auto sent = fake->sent.find(handle); sent != fake->sent.end())
      return sent->second->taken ? MpiLibrary::kDone : MpiLibrary::kUnderWay;
    const Fake::Wanted& want = fake->wanted.at(handle);
    auto& queue = fake->under_way[{want.from, want.to}];
    if (queue.empty()) return MpiLibrary::kUnderWay;
    EXPECT_EQ(queue.front()->bytes.size(), want.size);
    std::memcpy(want.bytes, queue.front()->bytes.data(), want.size);
    queue.front()->taken = true;
    queue.pop_front();
    fake->wanted.erase(handle);
    return MpiLibrary::kDone;
  }
  static void forget(void* handle) {
    const std::lock_guard lock(fake->mutex);
    fake->wanted.erase(handle);
  }
  static void finish() {
    const std::lock_guard lock(fake->mutex);
    ++fake->finished;
  }
  static void abort(int) {
    const std::lock_guard lock(fake->mutex);
    ++fake->aborted;
  }
  static constexpr MpiLibrary kLibrary = {start, send, receive, look, forget, finish, 10};
};

class Teams : public ::testing::Test {
 protected:
  void SetUp() override { fake = &fake_; }
  Fake fake_;
};

TEST_F(Teams, LongMessagesGoInPartsAndArriveWholeAndInOrder) {
  const std::string empty;
  const std::string whole(30, 'x');
  const std::string odd = "a message of more than three parts";
  {
    Team receiver(FakeProcess<0>::kLibrary, 0, 2, FakeProcess<0>::abort);
    Team sender(FakeProcess<1>::kLibrary, 1, 2, FakeProcess<1>::abort);
    for (const std::string& bytes : {odd, empty, whole}) sender.send(0, bytes);
    for (const std::string& bytes : {odd, empty, whole}) {
      while (receiver.turn()) {
      }
      const std::optional<TeamMessage> message = receiver.receive();
      ASSERT_TRUE(message);
      EXPECT_EQ(message->from, 1U);
      EXPECT_EQ(message->bytes, bytes);
    }
    EXPECT_LE(std::ranges::max(fake_.sizes), 10U);
    while (sender.turn()) {
    }
    EXPECT_TRUE(sender.all_sent());
    receiver.lost_one();  // nobody receives its farewell here
  }
  EXPECT_EQ(fake_.finished, 1);
  EXPECT_EQ(fake_.aborted, 1);
}

class TeamDigests : public Teams {
 protected:
  void SetUp() override {
    Teams::SetUp();
    test_support::RunSpec spec;
    spec.ranks = 5;
    spec.steps = 4;
    ASSERT_TRUE(test_support::write_run(folder_.path() / "run", spec).ok());
    run_ = *analyzer::open_run({folder_.path() / "run"});
    for (analyzer::TraceFile& trace : run_.traces) trace.shift_ns = int64_t{1'000} * trace.rank;
  }

  [[nodiscard]] std::vector<std::string> alone() const {
    return bytes_of_all(*analyzer::digest_all(run_.traces, false, go_on));
  }
  static std::vector<std::string> bytes_of_all(
      const std::vector<Result<analyzer::RankDigest>>& digests) {
    std::vector<std::string> bytes;
    for (const auto& digest : digests)
      bytes.push_back(digest.ok() ? analyzer::bytes_of(*digest) : digest.error().what);
    return bytes;
  }
  static bool go_on(std::string_view, double) { return true; }

  test_support::TemporaryFolder folder_;
  analyzer::Run run_;
};

TEST_F(TeamDigests, AreThoseOfOneProcess) {
  Status helped[2] = {fail(Code::kInternal, ""), fail(Code::kInternal, "")};
  std::vector<std::string> said;
  {
    std::jthread first([&] {
      Team team(FakeProcess<1>::kLibrary, 1, 3, FakeProcess<1>::abort);
      helped[0] = help({.team = team});
    });
    std::jthread second([&] {
      Team team(FakeProcess<2>::kLibrary, 2, 3, FakeProcess<2>::abort);
      helped[1] = help({.team = team, .host = "far away"});
    });
    Team team(FakeProcess<0>::kLibrary, 0, 3, FakeProcess<0>::abort);
    const auto digests = digests_of_all(
        {.team = team, .say = [&](const std::string& text) { said.push_back(text); }}, run_.traces,
        false, go_on);
    ASSERT_TRUE(digests.ok());
    EXPECT_EQ(bytes_of_all(*digests), alone());
  }
  EXPECT_TRUE(helped[0].ok());
  EXPECT_TRUE(helped[1].ok());
  EXPECT_TRUE(said.empty());
  EXPECT_EQ(fake_.finished, 3);
}

// A trace that one process cannot read is read by number 0, which says why.
TEST_F(TeamDigests, ADamagedTraceIsReportedAsByOneProcess) {
  std::filesystem::resize_file(run_.traces[3].path, 1000);
  {
    std::jthread other([&] {
      Team team(FakeProcess<1>::kLibrary, 1, 2, FakeProcess<1>::abort);
      EXPECT_TRUE(help({.team = team}).ok());
    });
    Team team(FakeProcess<0>::kLibrary, 0, 2, FakeProcess<0>::abort);
    const auto digests = digests_of_all({.team = team}, run_.traces, false, go_on);
    ASSERT_TRUE(digests.ok());
    EXPECT_FALSE((*digests)[3].ok());
    EXPECT_EQ(bytes_of_all(*digests), alone());
  }
}

TEST_F(TeamDigests, OfOneThatNeverComesAreMadeByNumberZero) {
  std::vector<std::string> said;
  {
    Team team(FakeProcess<0>::kLibrary, 0, 2, FakeProcess<0>::abort);
    const auto digests =
        digests_of_all({.team = team,
                        .patience = std::chrono::milliseconds(50),
                        .say = [&](const std::string& text) { said.push_back(text); }},
                       run_.traces, false, go_on);
    ASSERT_TRUE(digests.ok());
    EXPECT_EQ(bytes_of_all(*digests), alone());
  }
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find("process 1 gave no sign of life"), std::string::npos) << said[0];
  EXPECT_EQ(fake_.aborted, 1);
}

// It says hello, takes its order, and dies.
TEST_F(TeamDigests, OfOneThatDiesAreMadeByNumberZero) {
  std::vector<std::string> said;
  {
    std::optional<Team> other(std::in_place, FakeProcess<1>::kLibrary, 1, 2, FakeProcess<1>::abort);
    std::jthread dying([&] {
      // With so little patience it leaves before it has made any digest.
      EXPECT_FALSE(help({.team = *other, .patience = std::chrono::milliseconds(-1)}).ok());
    });
    Team team(FakeProcess<0>::kLibrary, 0, 2, FakeProcess<0>::abort);
    const auto digests =
        digests_of_all({.team = team,
                        .patience = std::chrono::milliseconds(200),
                        .say = [&](const std::string& text) { said.push_back(text); }},
                       run_.traces, false, go_on);
    ASSERT_TRUE(digests.ok());
    EXPECT_EQ(bytes_of_all(*digests), alone());
  }
  EXPECT_EQ(said.size(), 1U);
  EXPECT_EQ(fake_.aborted, 2);
}

}  // namespace
}  // namespace dprof::cli
