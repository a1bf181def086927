# SPDX-License-Identifier: Apache-2.0
"""The cuda source from CUPTI's buffers to the rows of a trace, on a FAKE CUPTI: what a GPU does is made up."""
from support import BIN, EndToEnd, Trace

TEST_BIN = BIN.parent / "test_bin"


class Fake(EndToEnd):
    programs = EndToEnd.programs + (TEST_BIN / "cuda_probe", TEST_BIN / "libfake_cupti.so")

    def record_probe(self, what, library="libfake_cupti.so", options=(), want=0, **environment):
        # The probe waits for a line where a test that drives it would act.
        self.done = self.record("sh", "-c", f"yes go | {TEST_BIN / 'cuda_probe'} {what}",
                                options=("--detail", "full", *options), want=want,
                                DPROF_CUPTI_LIBRARY=str(TEST_BIN / library), **environment)
        traces = sorted(self.run_folder.glob("*.dprof"))
        self.assertEqual(len(traces), 1, traces)
        trace = Trace(traces[0])
        self.traces.append(trace)
        return trace

    def check_rows(self, library):
        trace = self.record_probe("everything", library, want=5)  # the fake says that records were dropped
        self.check_whole(trace)
        self.assertEqual(trace.meta["cuda_source"], "on")
        found = {name: (kind, size) for name, kind, size in
                 trace.rows("SELECT value, kind, bytes FROM gpu_activity JOIN string ON string.id = name_id")}
        self.assertEqual(found["gemm"][0], 0)
        self.assertEqual(found["memcpy HtoD"], (1, 4096))
        self.assertEqual(found["memset"], (4, 256))
        self.assertIn("no times", found)
        self.assertIn("CUDA graph", found)
        self.assertEqual(trace.value("SELECT duration_ns FROM gpu_activity JOIN string ON string.id = name_id "
                                     "WHERE value = 'gemm'"), 1000)
        launches = trace.rows("SELECT value, host_range.correlation FROM host_range JOIN string ON string.id = name_id "
                              "WHERE value IN ('cudaLaunchKernel', 'cuLaunchKernelEx')")
        self.assertEqual(sorted(launches), [("cuLaunchKernelEx", 102), ("cudaLaunchKernel", 101)])
        self.assertGreaterEqual(trace.value("SELECT count(*) FROM gpu_dependency"), 1)
        self.assertGreaterEqual(trace.value("SELECT count(*) FROM kernel_shape"), 1)
        self.assertEqual(trace.value("SELECT memory_bytes FROM device WHERE id = 1"), 80 << 30)
        self.assertIn(("cuda", "cupti_dropped", 17), trace.losses())

    def test_one_client(self):
        self.check_rows("libfake_cupti.so")

    def test_several_clients(self):
        self.check_rows("libfake_cupti_v2.so")

    def test_refused(self):
        # A rank's trace is kept even where it holds no event.
        trace = self.record_probe("door", FAKE_CUPTI_ALL="999", RANK="0", WORLD_SIZE="1")
        self.assertEqual(trace.meta["cuda_source"], "off: cuptiSubscribe answered 999")
        self.assertEqual(trace.value("SELECT count(*) FROM diagnostic WHERE code = 'cupti_refused'"), 1)
        self.assertEqual(trace.value("SELECT count(*) FROM gpu_activity"), 0)
        self.assertIn("dprof: cupti_refused: rank 0: off: cuptiSubscribe answered 999\nhint: ", self.done.stderr)
        self.assertEqual(self.done.stderr.count("cupti_refused"), 1)

    def test_taken(self):
        self.record_probe("door", FAKE_CUPTI_ALL="39", RANK="0", WORLD_SIZE="1")
        self.assertIn("dprof: cupti_taken: rank 0: off: CUPTI belongs to ", self.done.stderr)

    def test_what_was_not_asked_for_is_not_reported(self):
        # Nothing is recorded then, so there is no trace either.
        done = self.record("sh", "-c", f"yes go | {TEST_BIN / 'cuda_probe'} door", options=("--cuda", "off"),
                           FAKE_CUPTI_ALL="39", DPROF_CUPTI_LIBRARY=str(TEST_BIN / "libfake_cupti.so"), RANK="0",
                           WORLD_SIZE="1", want=5)
        self.assertNotIn("cupti", done.stderr)


class FromTheStart(EndToEnd):
    """On a FAKE driver that calls the collector, as the real one does."""
    programs = EndToEnd.programs + (TEST_BIN / "launch_probe", TEST_BIN / "fake_cuda/libcuda.so.1")

    def test_kernels_are_joined_to_their_launches(self):
        self.record(TEST_BIN / "launch_probe", "loop", "--seconds", "3", RANK="0", WORLD_SIZE="1",
                    DPROF_CUPTI_LIBRARY=str(TEST_BIN / "libfake_cupti.so"), LD_LIBRARY_PATH=str(TEST_BIN / "fake_cuda"))
        trace = Trace(self.run_folder / "rank-00000.dprof")
        self.traces.append(trace)
        kernels, joined = trace.rows("SELECT count(*), sum(correlation IN (SELECT correlation FROM host_range)) "
                                     "FROM gpu_activity WHERE kind = 0")[0]
        self.assertEqual(trace.meta["cuda_source"], "on")
        self.assertTrue(kernels == joined > 100, (kernels, joined))
        self.assertGreater(trace.value("SELECT count(*) FROM gpu_activity WHERE kind = 6"), 0, "graphs as a whole")
