// SPDX-License-Identifier: Apache-2.0
#include "synth/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <span>

#include "synth/model/names.h"

namespace dprof::synth {
namespace {

constexpr double kMostMemory = 0.99;
constexpr std::array<std::string_view, 2> kShapes = {"cpu", "gpu"};
constexpr std::array<std::string_view, 7> kTechniques = {
    "ddp", "zero1", "zero2", "zero3", "pipeline", "parameter-server", "tensor-data"};
constexpr std::array<std::string_view, 3> kMarks = {"marker", "optimizer", "none"};

template <typename Enum, size_t N>
Result<Enum> parse_word(const std::array<std::string_view, N>& words, std::string_view word,
                        std::string_view what) {
  for (size_t i = 0; i < N; ++i) {
    if (words[i] == word) return static_cast<Enum>(i);
  }
  return fail(Code::kUsage, fmt::format("{}: no {}", word, what),
              fmt::format("one of {}", fmt::join(words, ", ")));
}

Result<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return fail(Code::kUsage, fmt::format("{}: not a number", text));
  return value;
}

// Splits "a=1,b=2"; a final part without `=` is refused.
using Setter = std::function<Status(std::string_view value)>;
Status apply(std::string_view text, const std::map<std::string_view, Setter>& known) {
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const size_t equals = part.find('=');
    const auto setter = known.find(part.substr(0, equals));
    if (equals == std::string_view::npos || setter == known.end()) {
      std::vector<std::string_view> keys;
      for (const auto& [key, set] : known) keys.push_back(key);
      return fail(Code::kUsage, fmt::format("{}: no such setting", part),
                  fmt::format("KEY=VALUE with one of {}", fmt::join(keys, ", ")));
    }
    const Status set = setter->second(part.substr(equals + 1));
    if (!set.ok()) return fail(set.error());
  }
  return Done{};
}

template <typename Target>
Setter into(Target& target) {
  return [&target](std::string_view text) -> Status {
    const Result<double> value = number(text);
    if (!value.ok()) return fail(value.error());
    if constexpr (requires { target.has_value(); }) {
      target = static_cast<typename Target::value_type>(*value);
    } else {
      target = static_cast<Target>(*value);
    }
    return Done{};
  };
}

}  // namespace

std::string_view word_of(Shape shape) { return kShapes[static_cast<size_t>(shape)]; }
std::string_view word_of(Technique t) { return kTechniques[static_cast<size_t>(t)]; }
std::string_view word_of(Marks marks) { return kMarks[static_cast<size_t>(marks)]; }

Result<Shape> parse_shape(std::string_view word) {
  return parse_word<Shape>(kShapes, word, "shape");
}
Result<Technique> parse_technique(std::string_view word) {
  return parse_word<Technique>(kTechniques, word, "technique");
}
Result<Marks> parse_marks(std::string_view word) {
  return parse_word<Marks>(kMarks, word, "kind of marks");
}

Result<FaultSpec> parse_fault(std::string_view text) {
  FaultSpec fault;
  const size_t colon = text.find(':');
  fault.name = std::string(text.substr(0, colon));
  if (colon == std::string_view::npos) return fault;
  const std::map<std::string_view, Setter> known = {{"rank", into(fault.rank)},
                                                    {"host", into(fault.host)},
                                                    {"ms", into(fault.ms)},
                                                    {"factor", into(fault.factor)},
                                                    {"probability", into(fault.probability)},
                                                    {"p", into(fault.probability)},
                                                    {"share", into(fault.probability)},
                                                    {"from", into(fault.from)},
                                                    {"to", into(fault.to)},
                                                    {"every", into(fault.every)},
                                                    {"count", into(fault.count)},
                                                    {"other", into(fault.other)},
                                                    {"at", into(fault.at)},
                                                    {"of",
                                                     [&](std::string_view word) -> Status {
                                                       fault.of = std::string(word);
                                                       return Done{};
                                                     }},
                                                    {"shape", [&](std::string_view word) -> Status {
                                                       fault.shape = std::string(word);
                                                       return Done{};
                                                     }}};
  const Status read = apply(text.substr(colon + 1), known);
  if (!read.ok()) return fail(read.error());
  return fault;
}

Result<ClockSpec> parse_clock(std::string_view text) {
  ClockSpec clock;
  const size_t colon = text.find(':');
  std::string_view host = text.substr(0, colon);
  if (host.starts_with("host")) host.remove_prefix(4);
  const Status numbered = into(clock.host)(host);
  if (!numbered.ok() || colon == std::string_view::npos)
    return fail(Code::kUsage, fmt::format("{}: no clock", text), "host1:offset_ms=3000,ppm=20");
  const std::map<std::string_view, Setter> known = {
      {"offset_ms", into(clock.offset_ms)},
      {"ppm", into(clock.ppm)},
      {"wander_ppm", into(clock.wander_ppm)},
      {"wander_period_s", into(clock.wander_period_s)},
      {"at_s", into(clock.at_s)},
      {"step_ms", into(clock.step_ms)},
      {"jump_ms", into(clock.jump_ms)},
      {"set_ms", into(clock.set_ms)}};
  const Status read = apply(text.substr(colon + 1), known);
  if (!read.ok()) return fail(read.error());
  return clock;
}

Result<ScaleSpec> parse_scale(std::string_view text) {
  const size_t equals = text.rfind('=');
  ScaleSpec scale{.name = std::string(text.substr(0, equals))};
  const Result<double> factor =
      number(equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1));
  if (!factor.ok() || !(*factor >= 0))
    return fail(Code::kUsage, fmt::format("{}: no factor", text), "forward=0.9, aten::mm=0.5");
  const std::span<const std::string_view> phases = kPhaseWords;
  if (std::ranges::find(phases, scale.name) == phases.end() && find_name(scale.name) < 0)
    return fail(Code::kUsage, fmt::format("{}: no phase, operator or kernel", scale.name));
  scale.factor = *factor;
  return scale;
}

Status check(const Spec& spec) {
  const auto refuse = [](std::string what) { return fail(Code::kUsage, std::move(what)); };
  if (spec.ranks < 1 || spec.ranks > 100'000) return refuse("ranks: 1 to 100,000");
  if (spec.hosts < 1 || spec.hosts > spec.ranks) return refuse("hosts: 1 to the number of ranks");
  if (spec.steps < 0) return refuse("steps: 0 or more");
  if (spec.buckets < 1 || spec.micro_steps < 1) return refuse("buckets, micro-steps: 1 or more");
  if (!(spec.step_ms > 0) || !(spec.noise >= 0)) return refuse("step-ms, noise: positive");
  if (!(spec.noise_tail >= 0) || !(spec.noise_decades >= 0) || !(spec.drift > 0))
    return refuse("noise-tail, noise-decades: 0 or more; drift: positive");
  if (!(spec.noise_memory >= 0) || !(spec.noise_memory <= kMostMemory))
    return refuse(fmt::format("noise-memory: 0 to {}", kMostMemory));
  if (!(spec.dispatch_us >= 0) || !(spec.gap_us >= 0)) return refuse("dispatch, gap: 0 or more");
  const bool ddp_only = spec.bucket_cap_mb != 0 || !spec.overlap || spec.accumulate != 1;
  if (ddp_only && spec.technique != Technique::kDdp)
    return refuse("bucket-cap, no-overlap, accumulate: only with --technique ddp");
  if (!(spec.bucket_cap_mb >= 0) || spec.accumulate < 1)
    return refuse("bucket-cap, accumulate: positive");
  if (spec.replicas < 1 || spec.ranks % spec.replicas != 0)
    return refuse("replicas: 1 or more, a divisor of the number of ranks");
  if (spec.replicas > 1 && spec.technique != Technique::kPipeline)
    return refuse("replicas: only with --technique pipeline");
  if (spec.technique == Technique::kPipeline && spec.ranks / spec.replicas < 2)
    return refuse("a pipeline needs 2 stages or more");
  const bool tensor = spec.technique == Technique::kTensorData;
  if (tensor && (spec.tensor_ranks < 2 || spec.ranks % spec.tensor_ranks != 0))
    return refuse("tensor-ranks: 2 or more, a divisor of the number of ranks");
  if (spec.technique == Technique::kParameterServer && spec.ranks < 2)
    return refuse("this technique needs 2 ranks or more");
  for (const ClockSpec& clock : spec.clocks) {
    if (clock.host < 0 || clock.host >= spec.hosts)
      return refuse(fmt::format("clock: no host {}", clock.host));
    if (!(clock.wander_period_s > 0)) return refuse("wander_period_s: positive");
  }
  return Done{};
}

}  // namespace dprof::synth
