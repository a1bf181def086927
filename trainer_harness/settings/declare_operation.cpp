// SPDX-License-Identifier: Apache-2.0
// Options for starting ranks, for their output, and for injected faults.
#include "trainer_harness/common/usage_error.h"
#include "trainer_harness/settings/catalogue.h"
#include "trainer_harness/settings/declare.h"

namespace dprof::trainer_harness {
namespace {

void declare_marks(CLI::App& app, Group& group, OutputOptions& to) {
  CLI::Option* marks = group.choice<MarkKind>(
      "--marks", to.marks,
      {{"user", MarkKind::kUserScope}, {"nvtx", MarkKind::kNvtx}, {"none", MarkKind::kNone}},
      "how steps and phases are marked: record_function ranges, NVTX, not at all");
  CLI::Option* nvtx =
      group.text("--nvtx", "on|off", "on: --marks nvtx; off: --marks none", [](const auto&) {});
  app.callback([marks, nvtx, &to] {
    if (nvtx->count() == 0) return;
    const std::string word = nvtx->as<std::string>();
    const MarkKind wanted = is_on("--nvtx", word) ? MarkKind::kNvtx : MarkKind::kNone;
    if (marks->count() > 0 && to.marks != wanted) {
      throw UsageError("--nvtx " + word + " contradicts --marks " + marks->as<std::string>() +
                       "\nhint: give one of them");
    }
    to.marks = wanted;
  });
}

void declare_watching(Group& group, OutputOptions& to) {
  group.value("--log-every", to.log_every, "K", "steps between two lines about the loss")
      ->check(above_zero())
      ->capture_default_str();
  group.choice<bool>("--log-rank", to.log_every_rank, {{"0", false}, {"all", true}},
                     "rank-0-only logging; all: each rank writes lines (mistake M19)");
  group
      .value("--memory-every", to.memory_every, "K",
             "memory monitoring: a line with allocated, reserved and resident bytes every K steps")
      ->check(above_zero());
  group
      .value("--empty-cache-every", to.empty_cache_every, "K",
             "give the allocator's cache back every K steps; 1: mistake M16 (gpu)")
      ->check(above_zero());
  group
      .value("--monitor-every", to.monitor_every, "K",
             "performance monitoring: a line with the throughput every K steps")
      ->check(above_zero());
}

}  // namespace

void declare_output(CLI::App& app, Options& options) {
  OutputOptions& to = options.output;
  Group group(app, "Output");
  group.value("--checkpoint", to.checkpoint, "DIR",
              "save to DIR/model.pt and DIR/optimizer.pt at the end");
  group.value("--checkpoint-every", to.checkpoint_every, "K", "and every K steps")
      ->check(above_zero());
  group.choice<SaveBy>(
      "--save-by", to.save_by,
      {{"rank0", SaveBy::kRank0}, {"local0", SaveBy::kLocal0}, {"all", SaveBy::kAll}},
      "who saves: rank 0, the first rank of each host, all (mistake M19)");
  group.on_off("--module-prefix", to.module_prefix,
               "save names that begin with \"module.\", as a DDP wrapper has them");
  group.on_off("--resume", to.resume, "go on from what --checkpoint's folder holds");
  declare_watching(group, to);
  declare_marks(app, group, to);
}

void declare_launch(CLI::App& app, Options& options) {
  LaunchOptions& to = options.launch;
  Group group(app, "Launch");
  group
      .value("--spawn", to.spawn, "N",
             "start N ranks of this program on this host, as mp.spawn does; 0: mistake M23")
      ->check(not_negative());
  group.value("--local_rank,--local-rank", to.local_rank, "N",
              "what torch.distributed.launch passes; LOCAL_RANK where the environment has none");
  group.value("--nnodes", to.nodes, "M", "with --spawn: hosts, each with N ranks")
      ->check(above_zero());
  group.value("--node-rank", to.node_rank, "I", "with --nnodes: which of the hosts this is")
      ->check(not_negative());
  group.on_off("--elastic", to.elastic,
               "with --spawn: when a rank is lost, go on from the checkpoint with one fewer");
  group.value("--nice", to.nice, "N", "resource scheduling: run with this niceness, 0 to 19")
      ->check(CLI::Range(0, 19));
  group.value("--affinity", to.affinity, "CORES",
              "resource scheduling: cores of each local rank, as in \"0;1\" or \"0-1,4;2,3\"");
  group.value("--matrix", to.matrix, "FILE",
              "one run after another: lines of [name:] [ranks=N] [expect=fail] OPTIONS");
  group.value(
      "--matrix-command", to.matrix_command, "WORDS",
      "with --matrix: what starts each run, as in \"dprof record -n {ranks} -o {dir}/run --\"; default: --spawn");
  app.add_flag("--list", to.list, "name strategies, models, techniques, faults and mistakes")
      ->group("Launch");
  app.add_flag("--check-env", to.check_env, "environment check: versions, devices, ranks, clock")
      ->group("Launch");
}

void declare_faults(CLI::App& app, Options& options) {
  Group group(app, "Faults");
  app.add_option_function<std::vector<std::string>>(
         "--inject",
         [&options](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) options.faults.push_back(parse_fault(text));
         },
         "something goes wrong on purpose: KIND:key=value,... as in loader:rank=1,ms=12; KIND is " +
             fault_kind_names() + ". May be given several times")
      ->type_name("FAULT")
      ->allow_extra_args(false)
      ->group("Faults");
  std::vector<std::pair<std::string, Mistake>> mistakes;
  for (const MistakeRow& row : mistake_rows()) {
    if (!row.word.empty()) mistakes.emplace_back(row.word, row.mistake);
  }
  group.choice<Mistake>("--mistake", options.mistake, mistakes,
                        "an error that people make; --list explains them");
  group.value("--truth", options.output.truth, "FILE",
              "write what was really done, and when, as JSON; with --matrix a folder");
}

}  // namespace dprof::trainer_harness
