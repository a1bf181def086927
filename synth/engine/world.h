// SPDX-License-Identifier: Apache-2.0
// All ranks together: matches the members of each collective and orders by time what happens
// between ranks. It only keeps the course of each collective; a rank can then be executed again by
// itself, with the same outcome, to get its complete trail.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <vector>

#include "synth/engine/machine.h"
#include "synth/engine/network.h"

namespace dprof::synth {

struct Group {
  std::string name;
  int64_t hash = 0;
  int64_t ordinal = 0;
  std::vector<int> members;  // global ranks, ascending

  [[nodiscard]] int number_of(int rank) const;  // -1: no member
};

// One collective or message in the run.
struct Instance {
  int32_t group = 0;
  schema::Function function{};  // kSend for a message
  schema::DataType dtype{};
  int32_t root = -1;  // global rank; the sender of a message
  int32_t peer = -1;  // the receiver
  int64_t bytes = 0;
  int64_t sequence = 0;
  int32_t arrived = 0;
  int32_t last_rank = -1;
  int32_t first_rank = -1;
  bool mismatch = false;
  int64_t first_start = kNever;
  int64_t last_start = 0;  // of the members that must be present
  int64_t begin = kNever;  // of the transfer
  int64_t end = kNever;
};

// The length of a transfer when it is alone, and the links that it uses.
struct TransferCost {
  double ns = 0;
  std::vector<int> links;
  bool never = false;  // it hangs
};

struct WorldModel {
  const ProgramSource* programs = nullptr;
  std::span<const Group> groups;
  std::vector<MachineSetting> ranks;
  size_t links = 1;
  std::function<TransferCost(const Instance&, const CollectiveCall&)> cost;
  uint64_t seed = 1;
  int64_t spread_ns = 5'000;
};

// When a member notices the end of a collective.
[[nodiscard]] int64_t member_end(const WorldModel& model, const Instance& instance, uint32_t id,
                                 int rank, int64_t start);

class World : public Peers {
 public:
  explicit World(const WorldModel& model);
  ~World() override;

  void run();

  Answer arrive(const Arrival& arrival) override;
  bool has_reached(int rank, int64_t at) override;

  [[nodiscard]] const std::vector<Instance>& instances() const { return instances_; }
  // The instance of a rank's n-th collective.
  [[nodiscard]] const std::vector<std::vector<uint32_t>>& works() const { return works_; }
  // Ranks that did not finish their programs, and the last known moment.
  [[nodiscard]] std::vector<int> stuck() const;
  [[nodiscard]] int64_t last_known() const;
  // When the last rank ended each step; as many steps as all ranks have.
  [[nodiscard]] std::vector<int64_t> step_ends() const;

 private:
  enum class EventKind : uint8_t { kReady, kFinished, kMember, kWake };
  struct Event {
    int64_t at = 0;
    uint64_t order = 0;
    EventKind kind{};
    uint32_t id = 0;       // instance, or rank
    uint32_t version = 0;  // of the transfer
    uint64_t work = 0;
    bool operator>(const Event& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };
  struct Waiting {
    int rank = 0;
    uint64_t work = 0;
    int64_t start = 0;
  };
  struct Open {  // while an instance is not over
    std::vector<Waiting> waiting;
    std::optional<size_t> transfer;
    CollectiveCall call;
    bool ready = false;
  };

  uint32_t instance_for(const Arrival& arrival);
  void note_arrival(Instance& instance, const Arrival& arrival);
  void push(int64_t at, EventKind kind, uint32_t id, uint32_t version = 0, uint64_t work = 0);
  void on_ready(uint32_t id);
  void on_finished(uint32_t id);
  void push_forecasts();
  [[nodiscard]] bool computation_beside(const Open& open) const;

  const WorldModel& model_;
  Network network_;
  std::vector<std::unique_ptr<RankMachine>> machines_;
  std::vector<Instance> instances_;
  std::map<uint32_t, Open> open_;
  std::vector<uint32_t> instance_of_transfer_;
  std::vector<std::vector<uint32_t>> works_;
  std::vector<std::vector<uint32_t>> by_call_;  // [group][nth]
  std::map<std::tuple<int, int, int>, std::pair<std::vector<uint32_t>, std::array<size_t, 2>>>
      messages_;  // by group, from, to; number of calls of sender and receiver
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<int64_t> asked_;  // by rank: the last has_reached() request
  uint64_t order_ = 0;
  int64_t now_ = INT64_MIN;
};

// Answers from the world's results.
class Replay : public Peers {
 public:
  Replay(const WorldModel& model, const World& world, int rank)
      : model_(model), world_(world), rank_(rank) {}

  Answer arrive(const Arrival& arrival) override;
  bool has_reached(int, int64_t) override { return true; }

 private:
  const WorldModel& model_;
  const World& world_;
  int rank_;
};

}  // namespace dprof::synth
