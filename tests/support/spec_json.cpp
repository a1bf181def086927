// SPDX-License-Identifier: Apache-2.0
#include "tests/support/spec_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dprof::test_support {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::pair<std::string_view, Phase>, 5> kPhases = {
    {{"input", Phase::kInput},
     {"forward", Phase::kForward},
     {"backward", Phase::kBackward},
     {"optimizer", Phase::kOptimizer},
     {"checkpoint", Phase::kCheckpoint}}};
constexpr std::array<std::pair<std::string_view, DelayForm>, 2> kForms = {
    {{"op", DelayForm::kOp}, {"host", DelayForm::kHost}}};
constexpr std::array<std::pair<std::string_view, StepMarks>, 3> kMarks = {
    {{"marker", StepMarks::kMarker},
     {"optimizer", StepMarks::kOptimizer},
     {"none", StepMarks::kNone}}};

// Remembers the first thing that it could not understand.
class Parser {
 public:
  RunSpec spec(const Json& json) {
    RunSpec s;
    for_each_member(json, [&](std::string_view key, const Json& value) {
      return set_shape(s, key, value) || set_rest(s, key, value);
    });
    return s;
  }
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  // Calls set(key, value) for each member; set returns false for a key that it does not know.
  template <typename Set>
  void for_each_member(const Json& json, Set&& set) {
    for (const auto& item : json.items()) {
      if (!set(std::string_view(item.key()), item.value()) && error_.empty()) {
        error_ = fmt::format("unknown key '{}'", item.key());
      }
    }
  }

  template <typename T>
  static bool take(T& field, const Json& value) {
    value.get_to(field);
    return true;
  }

  template <typename Enum, size_t N>
  bool take(Enum& field, const Json& value,
            const std::array<std::pair<std::string_view, Enum>, N>& words) {
    const auto text = value.get<std::string>();
    const auto found = std::ranges::find(words, text, [](const auto& w) { return w.first; });
    if (found != words.end()) {
      field = found->second;
    } else if (error_.empty()) {
      error_ = fmt::format("unknown word '{}'", text);
    }
    return true;
  }

  Delay delay_of_json(const Json& json) {
    Delay d;
    for_each_member(json, [&](std::string_view key, const Json& value) {
      if (key == "rank") return take(d.rank, value);
      if (key == "phase") return take(d.phase, value, kPhases);
      if (key == "ns") return take(d.ns, value);
      if (key == "first_step") return take(d.first_step, value);
      if (key == "end_step") return take(d.end_step, value);
      if (key == "every") return take(d.every, value);
      if (key == "rotating") return take(d.rotating, value);
      if (key == "form") return take(d.form, value, kForms);
      return false;
    });
    return d;
  }

  Kill kill_of_json(const Json& json) {
    Kill k;
    for_each_member(json, [&](std::string_view key, const Json& value) {
      if (key == "rank") return take(k.rank, value);
      if (key == "step") return take(k.step, value);
      if (key == "status") return take(k.status, value);
      if (key == "others") return take(k.others, value);
      if (key == "exception") return take(k.exception, value);
      if (key == "output") return take(k.output, value);
      if (key == "outlives_ns") return take(k.outlives_ns, value);
      if (key == "others_ns") return take(k.others_ns, value);
      return false;
    });
    return k;
  }

  MessageSpec message_of_json(const Json& json) {
    MessageSpec m;
    for_each_member(json, [&](std::string_view key, const Json& value) {
      if (key == "from") return take(m.from, value);
      if (key == "to") return take(m.to, value);
      if (key == "bytes") return take(m.bytes, value);
      if (key == "transfer_ns") return take(m.transfer_ns, value);
      if (key == "per_step") return take(m.per_step, value);
      if (key == "any_source") return take(m.any_source, value);
      if (key == "send_mark") return take(m.send_mark, value);
      if (key == "recv_mark") return take(m.recv_mark, value);
      return false;
    });
    return m;
  }

  LossSpec loss_of_json(const Json& json) {
    LossSpec l;
    for_each_member(json, [&](std::string_view key, const Json& value) {
      if (key == "rank") return take(l.rank, value);
      if (key == "count") return take(l.count, value);
      return false;
    });
    return l;
  }

  bool set_shape(RunSpec& s, std::string_view key, const Json& value) {
    if (key == "ranks") return take(s.ranks, value);
    if (key == "hosts") return take(s.hosts, value);
    if (key == "steps") return take(s.steps, value);
    if (key == "marks") return take(s.marks, value, kMarks);
    if (key == "input_ns") return take(s.input_ns, value);
    if (key == "forward_ns") return take(s.forward_ns, value);
    if (key == "backward_ns") return take(s.backward_ns, value);
    if (key == "optimizer_ns") return take(s.optimizer_ns, value);
    if (key == "gap_ns") return take(s.gap_ns, value);
    if (key == "bucket_bytes") return take(s.bucket_bytes, value);
    if (key == "transfer_ns") return take(s.transfer_ns, value);
    if (key == "micro_steps") return take(s.micro_steps, value);
    if (key == "sync_each") return take(s.sync_each, value);
    if (key == "messages") {
      for (const Json& message : value) s.messages.push_back(message_of_json(message));
      return true;
    }
    return false;
  }

  bool set_rest(RunSpec& s, std::string_view key, const Json& value) {
    if (key == "noise") return take(s.noise, value);
    if (key == "seed") return take(s.seed, value);
    if (key == "ops_per_phase") return take(s.ops_per_phase, value);
    if (key == "op_depth") return take(s.op_depth, value);
    if (key == "collectives") return take(s.collectives, value);
    if (key == "step_table") return take(s.step_table, value);
    if (key == "run_json") return take(s.run_json, value);
    if (key == "absent") return take(s.absent, value);
    if (key == "host_clock_offset_ns") return take(s.host_clock_offset_ns, value);
    if (key == "kill") return s.kill = kill_of_json(value), true;
    if (key == "delays") {
      for (const Json& delay : value) s.delays.push_back(delay_of_json(delay));
      return true;
    }
    if (key == "losses") {
      for (const Json& loss : value) s.losses.push_back(loss_of_json(loss));
      return true;
    }
    return false;
  }

  std::string error_;
};

}  // namespace

Result<RunSpec> spec_from_json(const nlohmann::json& json) {
  // nlohmann-json reports wrong types by exceptions; they end here.
  try {
    Parser parser;
    RunSpec spec = parser.spec(json);
    if (!parser.error().empty()) return fail(Code::kUsage, "run spec: " + parser.error());
    return spec;
  } catch (const Json::exception& error) {
    return fail(Code::kUsage, fmt::format("run spec: {}", error.what()));
  }
}

}  // namespace dprof::test_support
