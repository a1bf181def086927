# SPDX-License-Identifier: Apache-2.0
"""Foreign recordings and the options of the report, from the command line."""
import gzip
import json

from support import DPROF, EndToEnd


def kineto(rank, ranks=2, steps=6, late_ms=0):
    """A small GPU training as Kineto writes it, in microseconds: per step one compute kernel and one all-reduce."""
    events = []
    correlation = 0
    for step in range(steps):
        begin = 1_000_000 + step * 20_000
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 7, "tid": 7, "ts": begin,
                       "dur": 20_000})
        slow = 10_000 + 1000 * late_ms
        for name, start, length in (("gemm", 500, slow),
                                    ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 500 + slow, 18_500 - slow)):
            correlation += 1
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": begin + 100 +
                           correlation % 2 * 10, "dur": 5, "args": {"correlation": correlation}})
            arguments = {"correlation": correlation, "stream": 7 if name == "gemm" else 20, "device": rank}
            if name != "gemm":
                arguments |= {"Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000,
                              "Group size": ranks, "dtype": "Float", "Process Group Name": "0",
                              "Process Group Ranks": str(list(range(ranks)))}
            events.append({"ph": "X", "cat": "kernel", "name": name, "pid": rank, "tid": arguments["stream"],
                           "ts": begin + start, "dur": length, "args": arguments})
    return {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks},
            "traceEvents": events}


class Imported(EndToEnd):
    def import_files(self, *arguments):
        done = self.command(DPROF, "import", *arguments, "-o", self.run_folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    def report_of(self, *options):
        done = self.command(DPROF, "report", self.run_folder, "--format", "json", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)


class Import(Imported):
    def write(self, name, content, packed=False):
        path = self.folder / name
        data = json.dumps(content).encode() if not isinstance(content, bytes) else content
        path.write_bytes(gzip.compress(data) if packed else data)
        return path

    def test_two_ranks_are_found_by_content(self):
        files = [self.write("a.json", kineto(1)), self.write("b.bin", kineto(0), packed=True)]
        self.import_files(*files)
        report = self.report_of()
        self.assertEqual(report["run"]["ranks"], 2)
        self.assertEqual(report["run"]["steps"]["count"], 6)
        self.assertEqual([rank["rank"] for rank in report["gpu_rows"]["per_rank"]], [0, 1])
        for rank in report["gpu_rows"]["per_rank"]:
            self.assertEqual(rank["rows"], 12)
            self.assertEqual(rank["busy_ns"] + rank["idle_ns"], rank["span_ns"])
            self.assertEqual(rank["compute_ns"], 6 * 10_000_000)
            self.assertEqual(rank["communication_ns"], 6 * 8_500_000)
        for rank in report["breakdown"]["per_rank"]:
            self.assertEqual(sum(rank["category_ns"].values()), rank["wall_ns"])

    def test_a_question_is_answered_whatever_else_is_shown(self):
        self.import_files(*(self.write(f"{rank}.json", kineto(rank)) for rank in (0, 1)))
        said = self.command(DPROF, "report", self.run_folder, "--sections", "none", "--what-if", "transfer=0").stdout
        self.assertIn("WHAT IF", said)
        self.assertIn("transfer=0", said)

    def test_a_cut_file_is_read_as_far_as_it_goes(self):
        whole = json.dumps(kineto(0)).encode()
        cut = self.write("cut.json", whole[:len(whole) * 2 // 3])
        done = self.command(DPROF, "import", cut, "-o", self.run_folder)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertGreater(self.report_of()["gpu_rows"]["per_rank"][0]["rows"], 4)

    def test_what_is_no_recording_is_refused_and_leaves_nothing(self):
        done = self.command(DPROF, "import", self.write("text.json", b"not a trace"), "-o", self.run_folder)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("text.json", done.stderr)
        self.assertFalse(self.run_folder.exists())

    def test_another_run_is_not_overwritten_unasked(self):
        file = self.write("a.json", kineto(0, ranks=1))
        self.import_files(file)
        self.assertEqual(self.command(DPROF, "import", file, "-o", self.run_folder).returncode, 2)
        self.import_files(file, "--overwrite")


class ReportOptions(Imported):
    def setUp(self):
        super().setUp()
        files = []
        for rank in (0, 1):
            files.append(self.folder / f"{rank}.json")
            files[-1].write_text(json.dumps(kineto(rank)))
        self.import_files(*files)

    def test_one_rank_is_shown_and_all_are_analysed(self):
        report = self.report_of("--rank", 1)
        self.assertEqual(report["run"]["ranks"], 2)
        self.assertEqual([rank["rank"] for rank in report["breakdown"]["per_rank"]], [1])
        done = self.command(DPROF, "report", self.run_folder, "--rank", 9)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("rank 9", done.stderr)

    def test_rows_are_counted_as_asked(self):
        every, linked, steps = (self.report_of("--rows", rows)["gpu_rows"] for rows in ("all", "linked", "steps-hta"))
        self.assertEqual([rows["filter"] for rows in (every, linked, steps)], ["all", "linked", "steps-hta"])
        self.assertEqual(every["per_rank"][0]["rows"], linked["per_rank"][0]["rows"])
        self.assertEqual(steps["per_rank"][0]["rows"], 10)  # the last step is left out

    def test_markdown(self):
        text = self.command(DPROF, "report", self.run_folder, "--format", "markdown").stdout
        self.assertTrue(text.startswith("### dprof:"))
        self.assertIn("#### Where a step goes", text)

    def test_a_finding_is_explained(self):
        findings = self.report_of()["findings"]
        self.assertTrue(findings)
        for number, finding in enumerate(findings, 1):
            done = self.command(DPROF, "report", self.run_folder, "--explain", number)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"FINDING {number} OF {len(findings)}   {finding['rule']}", done.stdout)
            self.assertEqual(set(finding["explain"]), {"decided_by", "refuted_by"})
        done = self.command(DPROF, "report", self.run_folder, "--explain", 1, "--format", "markdown")
        self.assertTrue(done.stdout.startswith(f"### dprof: finding 1 of {len(findings)}"), done.stdout)
        for number in (0, len(findings) + 1):
            done = self.command(DPROF, "report", self.run_folder, "--explain", number)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("hint:", done.stderr)

    def test_sections_are_shown_as_asked(self):
        text = self.command(DPROF, "report", self.run_folder).stdout
        self.assertNotIn("\nGPU ", text)
        self.assertIn("more: ", text)
        self.assertIn("\nGPU ", self.command(DPROF, "report", self.run_folder, "--rows", "linked").stdout)
        text = self.command(DPROF, "report", self.run_folder, "--sections", "gpu,overlap").stdout
        self.assertIn("\nGPU ", text)
        self.assertIn("\nOVERLAP ", text)
        self.assertNotIn("\nCOLLECTIVES ", text)

    def test_the_second_report_is_the_same(self):
        first = self.report_of()
        self.assertTrue(list((self.run_folder / ".digest").iterdir()))
        self.assertEqual(self.report_of(), first)
        self.assertEqual(self.report_of("--no-cache"), first)
