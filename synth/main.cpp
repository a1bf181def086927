// SPDX-License-Identifier: Apache-2.0
// dprof-synth: generates runs whose truth is known.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <span>

#include "base/exit_code.h"
#include "base/format.h"
#include "synth/faults/catalogue.h"
#include "synth/generate.h"

namespace dprof::synth {
namespace {

std::string_view word_of(Family family) {
  constexpr std::string_view kWords[] = {"faults", "hangs", "losses", "memory",
                                         "healthy, but awkward"};
  return kWords[static_cast<size_t>(family)];
}

struct Known {
  std::string_view name;
  std::string_view sentence;
};
constexpr Known kShapeWords[] = {{"cpu", "Gloo on threads."},
                                 {"gpu", "NCCL on streams, with CUPTI's rows."}};
constexpr Known kTechniqueWords[] = {
    {"ddp", "Buckets are reduced while backward goes on."},
    {"zero1", "ZeRO 1: the optimizer's state is shared out."},
    {"zero2", "ZeRO 2: the gradients too (reduce-scatter)."},
    {"zero3", "ZeRO 3, FSDP: the parameters too (all-gather per layer)."},
    {"pipeline", "One stage per rank, 1F1B, send and receive."},
    {"parameter-server", "Rank 0 holds the parameters."},
    {"tensor-data", "Tensor and data parallel: two communicators per rank."}};

void list() {
  fmt::print("shapes (--shape)\n");
  for (const Known& shape : kShapeWords) fmt::print("  {:<20}{}\n", shape.name, shape.sentence);
  fmt::print("\ntechniques (--technique)\n");
  for (const Known& one : kTechniqueWords) fmt::print("  {:<20}{}\n", one.name, one.sentence);
  for (const Family family :
       {Family::kFault, Family::kHang, Family::kLoss, Family::kMemory, Family::kHealthy}) {
    fmt::print("\n{} ({})\n", word_of(family),
               family == Family::kHealthy ? "--healthy" : "--fault NAME:KEY=VALUE,...");
    for (const FaultKind& kind : catalogue()) {
      if (kind.family == family) fmt::print("  {:<20}{}\n", kind.name, kind.sentence);
    }
  }
}

int describe(const std::string& name) {
  for (const auto& known :
       {std::span<const Known>(kShapeWords), std::span<const Known>(kTechniqueWords)}) {
    for (const Known& one : known) {
      if (one.name == name) return fmt::print("{}: {}\n", one.name, one.sentence), 0;
    }
  }
  const FaultKind* kind = find_fault(name);
  if (kind == nullptr) {
    fmt::print(stderr, "dprof-synth: {}: not known\nhint: dprof-synth --list names all\n", name);
    return static_cast<int>(ExitCode::kUsage);
  }
  fmt::print("{}: {}\n", kind->name, kind->sentence);
  if (!kind->cause.empty()) fmt::print("expected cause   {}\n", kind->cause);
  if (kind->ms > 0) fmt::print("ms               {} unless said otherwise\n", kind->ms);
  if (kind->factor != 1) fmt::print("factor           {} unless said otherwise\n", kind->factor);
  if (kind->gpu_only) fmt::print("shape            gpu only\n");
  if (kind->family != Family::kHealthy) {
    fmt::print(
        "parameters       rank, other, host, ms, factor, count; "
        "of (all ranks of a group with `rank`: host, tensor, data, stage, replica); "
        "at (0 to 1, in backward: after that share of its computation); when: "
        "from, to (steps, half-open), every, probability, shape (persistent, transient, periodic, rotating, growing)\n");
  }
  return 0;
}

int refuse(const Error& error) {
  fmt::print(stderr, "dprof-synth: {}\n", error.what);
  if (!error.hint.empty()) fmt::print(stderr, "hint: {}\n", error.hint);
  return static_cast<int>(exit_code_of(error.code));
}

struct Words {
  std::string out, shape = "cpu", technique = "ddp", marks = "marker", format = "dprof";
  std::vector<std::string> faults, clocks, scales;
};

Result<Spec> spec_from(Spec spec, const Words& words) {
  const auto shape = parse_shape(words.shape);
  if (!shape.ok()) return fail(shape.error());
  const auto technique = parse_technique(words.technique);
  if (!technique.ok()) return fail(technique.error());
  const auto marks = parse_marks(words.marks);
  if (!marks.ok()) return fail(marks.error());
  spec.shape = *shape;
  spec.technique = *technique;
  spec.marks = *marks;
  spec.format = words.format == "kineto" ? Format::kKineto : Format::kDprof;
  for (const std::string& text : words.faults) {
    Result<FaultSpec> fault = parse_fault(text);
    if (!fault.ok()) return fail(fault.error());
    spec.faults.push_back(*std::move(fault));
  }
  for (const std::string& text : words.clocks) {
    Result<ClockSpec> clock = parse_clock(text);
    if (!clock.ok()) return fail(clock.error());
    spec.clocks.push_back(*clock);
  }
  for (const std::string& text : words.scales) {
    Result<ScaleSpec> scale = parse_scale(text);
    if (!scale.ok()) return fail(scale.error());
    spec.scales.push_back(*std::move(scale));
  }
  return spec;
}

void add_options(CLI::App& app, Spec& spec, Words& words) {
  app.add_option("-o,--output", words.out, "folder of the run");
  app.add_option("--ranks", spec.ranks, "number of ranks")->capture_default_str();
  app.add_option("--hosts", spec.hosts, "hosts, among which ranks are dealt out in blocks")
      ->capture_default_str();
  app.add_option("--steps", spec.steps, "training steps")->capture_default_str();
  app.add_option("--shape", words.shape, "cpu or gpu")->capture_default_str();
  app.add_option("--technique", words.technique, "how it is distributed, see --list")
      ->capture_default_str();
  app.add_option("--fault", words.faults, "NAME:rank=3,ms=20, see --list; may be repeated");
  app.add_option(
      "--clock", words.clocks,
      "host1:offset_ms=3000,ppm=20,wander_ppm=0.3,wander_period_s=300,at_s=1,step_ms=5,jump_ms=0,set_ms=0");
  app.add_option("--healthy", spec.healthy, "an awkward kind of healthy run, see --list");
  app.add_option("--marks", words.marks, "marker, optimizer or none")->capture_default_str();
  app.add_option("--seed", spec.seed, "the same seed gives the same run")->capture_default_str();
  app.add_option("--step-ms", spec.step_ms, "computation of a step")->capture_default_str();
  app.add_option("--rows-per-step", spec.rows_per_step, "about, per rank")->capture_default_str();
  app.add_option("--buckets", spec.buckets, "collectives of a step, or layers")
      ->capture_default_str();
  app.add_option("--bytes-per-step", spec.bytes_per_step, "of all buckets together");
  app.add_option("--micro-steps", spec.micro_steps, "gradient accumulation, or micro-batches")
      ->capture_default_str();
  app.add_option("--tensor-ranks", spec.tensor_ranks, "size of the tensor-parallel groups")
      ->capture_default_str();
  app.add_option("--replicas", spec.replicas, "of each pipeline stage")->capture_default_str();
  app.add_option("--bucket-cap", spec.bucket_cap_mb,
                 "DDP: MiB, up to which `buckets` are gathered into one; 0 = each is one");
  app.add_flag("!--no-overlap", spec.overlap, "DDP: gradients are reduced after backward");
  app.add_option("--accumulate", spec.accumulate,
                 "DDP: batches per update; gradients are reduced with the last one")
      ->capture_default_str();
  app.add_option("--dispatch-us", spec.dispatch_us,
                 "GPU: the host's time for an operator, before its launch and after it")
      ->capture_default_str();
  app.add_option("--gap-us", spec.gap_us, "Python between phases")->capture_default_str();
  app.add_flag("--free-input", spec.free_input, "batches are always ready");
  app.add_option("--scale", words.scales,
                 "NAME=F: a phase, an operator or a kernel takes F times as long; may be repeated");
  app.add_option("--noise", spec.noise, "of an operator's length, relative")->capture_default_str();
  app.add_option("--rank-noise", spec.rank_noise, "of a rank's speed, relative")
      ->capture_default_str();
  app.add_option("--step-noise", spec.step_noise, "of all operators of a rank in one step")
      ->capture_default_str();
  app.add_option("--noise-tail", spec.noise_tail,
                 "noise is Student's t with so many degrees of freedom (2: long tails); 0 = normal")
      ->capture_default_str();
  app.add_option("--noise-memory", spec.noise_memory,
                 "correlation of --step-noise between neighbouring steps, below 1")
      ->capture_default_str();
  app.add_option("--noise-decades", spec.noise_decades,
                 "noise of hosts differs by up to this many powers of ten")
      ->capture_default_str();
  app.add_option("--drift", spec.drift,
                 "the load of all ranks changes evenly, to this factor in the last step")
      ->capture_default_str();
  app.add_option("--contention", spec.contention,
                 "operators, kernels take that many times as long while a collective runs")
      ->capture_default_str();
  app.add_option("--transfer-contention", spec.transfer_contention,
                 "GPU: transfers take that many times as long while most members compute")
      ->capture_default_str();
  app.add_option("--sync-every", spec.sync_every, "GPU: loss.item() in each such step; 0 = never")
      ->capture_default_str();
  app.add_option("--format", words.format, "dprof or kineto")
      ->check(CLI::IsMember({"dprof", "kineto"}))
      ->capture_default_str();
  app.add_option("--threads", spec.threads, "that write traces")->capture_default_str();
  app.add_option("--bandwidth", spec.network.bandwidth_gb_s, "of a host's interface, GB/s");
  app.add_option("--latency-us", spec.network.latency_us, "between hosts");
  app.add_option("--inside-bandwidth", spec.network.inside_bandwidth_gb_s, "within a host, GB/s");
  app.add_option("--inside-latency-us", spec.network.inside_latency_us, "within a host");
  app.add_option("--spread-us", spec.network.spread_us, "of the ends of one collective")
      ->capture_default_str();
  app.add_option("--probe-interval", spec.probes.interval_s, "seconds between bursts of probes")
      ->capture_default_str();
  app.add_option("--probe-queue-us", spec.probes.queue_us, "mean queueing delay of a probe")
      ->capture_default_str();
  app.add_option("--probe-clean", spec.probes.clean_share, "share of probes that do not queue")
      ->capture_default_str();
  app.add_option("--probe-asymmetry-us", spec.probes.asymmetry_us, "the way back is longer by");
  app.add_flag("!--no-probes", spec.probes.enabled, "hosts do not probe each other's clocks");
}

int run(int argc, char** argv) {
  CLI::App app("Makes distributed training runs whose truth is known: traces, and truth.json.",
               "dprof-synth");
  Spec spec;
  Words words;
  bool lists = false;
  bool only_length = false;
  std::string described;
  app.add_flag("--list", lists, "shapes, techniques, faults, hangs, losses, healthy kinds");
  app.add_option("--describe", described, "one of them");
  app.add_flag("--step-length", only_length, "prints only the length of a step, ns");
  add_options(app, spec, words);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::kUsage);
  }
  if (lists) return list(), 0;
  if (!described.empty()) return describe(described);
  if (words.out.empty() && !only_length)
    return refuse({Code::kUsage, "-o RUN is missing", "see --help"});
  const Result<Spec> wanted = spec_from(spec, words);
  if (!wanted.ok()) return refuse(wanted.error());
  if (only_length) {
    const Result<int64_t> length = step_length(*wanted);
    if (!length.ok()) return refuse(length.error());
    fmt::print("{}\n", *length);
    return 0;
  }
  const Result<Truth> truth = generate(*wanted, words.out);
  if (!truth.ok()) return refuse(truth.error());
  fmt::print("{}: {} ranks, {} rows, {} per step\n", words.out, truth->ranks.size(),
             format_count(truth->rows), format_duration({truth->step_ns}));
  return 0;
}

}  // namespace
}  // namespace dprof::synth

int main(int argc, char** argv) { return dprof::synth::run(argc, argv); }
