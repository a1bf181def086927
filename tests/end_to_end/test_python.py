# SPDX-License-Identifier: Apache-2.0
"""An unmodified Python DDP script under torchrun."""
import json

from support import CONVNET_GRADIENT_BYTES, HERE, MS, EndToEnd

STEPS = 30


class Torchrun(EndToEnd):
    def record_script(self, *arguments):
        python = self.need_python_torch()
        torchrun = [python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
        return self.record(*torchrun, HERE / "train.py", "--steps", STEPS, *arguments)

    def test_ranks_steps_phases_and_collectives(self):
        """The loader's processes are forks of a rank: they record nothing."""
        self.record_script("--workers", 2)
        index = json.loads((self.run_folder / "run.json").read_text())
        self.assertEqual([(t["file"], t["rank"]) for t in index["traces"]],
                         [("rank-00000.dprof", 0), ("rank-00001.dprof", 1)])
        for rank in (0, 1):
            trace = self.trace(rank)
            self.check_whole(trace)
            self.assertEqual(trace.meta["ended"], "complete")
            self.assertEqual(trace.meta["launcher"], "torchrun")
            self.assertEqual(trace.meta["torch_source"], "on")
            self.assertEqual(len(trace.ranges_named("Optimizer.step#*")), STEPS)
            self.assertEqual(len(trace.ranges_named("DistributedDataParallel.forward")), STEPS)
            self.assertGreaterEqual(len(trace.ranges_named("enumerate(DataLoader)#*")), STEPS)
            sizes = [row[1] for row in trace.collectives("all_reduce")]
            self.assertEqual(sizes.count(CONVNET_GRADIENT_BYTES), STEPS)
        report = self.report()
        self.assertEqual(report["run"]["ranks"], 2)
        self.assertEqual(report["run"]["steps"]["source"], "optimizer")
        self.assertAlmostEqual(report["run"]["steps"]["count"], STEPS, delta=1)
        self.check_breakdown(report, ranks=2)
        for entry in report["breakdown"]["per_rank"]:
            for phase in ("forward", "backward", "optimizer"):
                self.assertGreater(entry["category_ns"][phase], 0, phase)

    def test_straggler(self):
        self.undisturbed(lambda: self.record_script("--slow-rank", 1, "--slow-ms", 40, "--batch", 16))
        report = self.report()
        self.check_culprit(report, 1, 40 * MS, ("host", "compute", "dataloader", "mixed", "unknown"))
