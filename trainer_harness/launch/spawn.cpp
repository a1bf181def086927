// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/launch/spawn.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "trainer_harness/common/log.h"
#include "trainer_harness/common/usage_error.h"
#include "trainer_harness/faults/truth_merge.h"

namespace dprof::trainer_harness {
namespace {

constexpr const char* kSpawned = "DPROF_TRAINER_SPAWNED";
constexpr int kMostRestarts = 3;

struct MeetingPlace {
  std::string address;
  std::string port;
};

// From the environment, which several hosts require; otherwise this host and a free port.
MeetingPlace meeting_place(int nodes) {
  const std::string address = process_environment("MASTER_ADDR").value_or("");
  const std::string port = process_environment("MASTER_PORT").value_or("");
  if (nodes > 1 && (address.empty() || port.empty())) {
    throw UsageError(
        fmt::format("{} is not set, but there are {} hosts\n"
                    "hint: set it to the {} of the first host, on all of them",
                    address.empty() ? "MASTER_ADDR" : "MASTER_PORT", nodes,
                    address.empty() ? "address" : "same free port"));
  }
  return {address.empty() ? "127.0.0.1" : address,
          port.empty() ? std::to_string(free_port()) : port};
}

struct Outcome {
  int code = 0;
  bool asked_to_end = false;  // by a signal to this process: no restart
};

// One attempt of all ranks.
Outcome run_ranks(const std::vector<std::string>& arguments, const Program& program,
                  const std::vector<Variables>& ranks, int first_rank) {
  std::vector<std::string> command = {own_program()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ChildGroup children;
  const bool forks = can_fork();
  for (const Variables& rank : ranks) {
    if (forks) {
      children.start([&] { return program(arguments); }, rank);
    } else {
      children.start(command, rank);
    }
  }
  while (children.children_left() > 0) {
    const ChildGroup::Event event = children.wait_event();
    if (!event.child) {
      children.end_all();
      return {128 + event.signal, true};
    }
    if (event.ending.code == 0) continue;
    log_error(fmt::format("rank {} {}; the others are ended",
                          first_rank + static_cast<int>(*event.child), event.ending.text()));
    children.end_all();
    return {event.ending.code, false};
  }
  return {};
}

// Killed ranks cannot merge their accounts. By now all accounts are final.
void merge_accounts(const std::filesystem::path& truth) {
  if (truth.empty() || !std::filesystem::exists(truth.string() + ".rank-0")) return;
  try {
    (void)merge_truth(truth);
  } catch (const std::exception& error) {
    log_error(error.what());
  }
}

}  // namespace

bool is_spawned(const Environment& environment) { return environment(kSpawned).has_value(); }

Variables rank_variables(const RankPlace& place, bool elastic, const std::string& address,
                         const std::string& port, const Environment& environment) {
  Variables variables = {
      {kSpawned, "1"},
      {"RANK", std::to_string(place.node * place.local_world + place.local)},
      {"WORLD_SIZE", std::to_string(place.nodes * place.local_world)},
      {"LOCAL_RANK", std::to_string(place.local)},
      {"LOCAL_WORLD_SIZE", std::to_string(place.local_world)},
      {"GROUP_RANK", std::to_string(place.node)},
      {"MASTER_ADDR", address},
      {"MASTER_PORT", port},
  };
  if (!environment("OMP_NUM_THREADS")) variables.emplace_back("OMP_NUM_THREADS", "1");
  if (elastic) {
    variables.emplace_back("TORCHELASTIC_RESTART_COUNT", std::to_string(place.attempt));
    variables.emplace_back("TORCHELASTIC_MAX_RESTARTS", std::to_string(kMostRestarts));
  }
  return variables;
}

int spawn_ranks(const Options& options, const std::vector<std::string>& arguments,
                const Program& program) {
  if (const std::optional<std::string> rank = process_environment("RANK")) {
    throw UsageError(fmt::format(
        "--spawn within rank {} of another launcher\nhint: leave --spawn out, or the launcher",
        *rank));
  }
  const int nodes = options.launch.nodes.value_or(1);
  const int node = options.launch.node_rank.value_or(0);
  std::vector<std::string> ranks_arguments = arguments;
  int local_world = *options.launch.spawn;
  for (int attempt = 0;; ++attempt) {
    const auto [address, port] = meeting_place(nodes);
    std::vector<Variables> ranks;
    for (int local = 0; local < local_world; ++local) {
      ranks.push_back(rank_variables({local, local_world, node, nodes, attempt},
                                     options.launch.elastic, address, port, process_environment));
    }
    const Outcome outcome = run_ranks(ranks_arguments, program, ranks, node * local_world);
    const bool final =
        outcome.code == 0 || outcome.code == UsageError::kExitCode || outcome.asked_to_end;
    if (final || !options.launch.elastic) {
      if (outcome.code != 0 && node == 0) merge_accounts(options.output.truth);
      return outcome.code;
    }
    if (attempt == kMostRestarts || local_world == 1) {
      log_error(
          fmt::format("given up after {} restarts with {} ranks left", attempt, local_world - 1));
      return outcome.code;
    }
    --local_world;
    log_error(fmt::format("restart {} of {}, with {} ranks, from {}", attempt + 1, kMostRestarts,
                          local_world, options.output.checkpoint.string()));
    if (attempt == 0 && !options.output.resume) ranks_arguments.emplace_back("--resume");
  }
}

}  // namespace dprof::trainer_harness
