# SPDX-License-Identifier: Apache-2.0
"""`dprof doctor` as a user calls it: what it says of this machine, and of machines that are not well."""
import json
import pathlib
import resource
import shutil
import subprocess

from support import BIN, DPROF, EndToEnd

STATES = {"ok", "limited", "no"}


class Doctor(EndToEnd):
    def doctor(self, *arguments, **environment):
        done = self.command(DPROF, "doctor", *arguments, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def checks(self, **environment):
        report = json.loads(self.doctor("--format", "json", **environment))
        self.assertEqual(report["schema"], "dprof.doctor/1")
        self.recordable = {entry["what"]: entry for entry in report["recordable"]}
        return {check["name"]: check for check in report["checks"]}

    def test_recording_works_here(self):
        checks = self.checks()
        for check in checks.values():
            self.assertIn(check["state"], STATES)
            self.assertTrue(check["found"], check)
            self.assertEqual(check["state"] == "ok", check["meaning"] is None, check)
        for name in ("self-test", "libdprof.so", "shared memory", "process handles", "limits", "thread times"):
            self.assertEqual(checks[name]["state"], "ok", checks[name])
        self.assertTrue(self.recordable["ranges, steps and phases marked by NVTX"]["can"])
        for entry in self.recordable.values():
            self.assertEqual(entry["can"], entry["why_not"] is None, entry)
        self.assertEqual(list(self.folder.iterdir()), [])  # nothing is left behind

    def test_says_why_there_is_no_gpu(self):
        if pathlib.Path("/dev/nvidiactl").exists():
            self.skipTest("this machine has a GPU")
        checks = self.checks()
        self.assertEqual(checks["CUDA driver"]["state"], "no")
        self.assertEqual(checks["NVML"]["state"], "no")
        kernels = self.recordable["GPU kernels, copies and CUDA calls"]
        self.assertFalse(kernels["can"])
        self.assertIn("CUDA driver", kernels["why_not"])

    def test_text_is_for_people(self):
        text = self.doctor()
        self.assertNotIn("\x1b", text)  # colour is for terminals
        for line in text.splitlines():
            self.assertTrue(len(line) <= 100 or " " not in line[30:].strip(), line)
        for part in ("Recording\n", "PyTorch\n", "GPU\n", "System\n", "Job\n", "Can record:\n"):
            self.assertIn("\n" + part, text)

    def test_a_limit_on_file_sizes_is_named(self):
        done = subprocess.run([DPROF, "doctor", "--format", "json"], capture_output=True, text=True, timeout=100,
                              cwd=self.folder, env=self.environment(),
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000_000, 10_000_000)))
        self.assertEqual(done.returncode, 0, done.stderr)
        checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
        self.assertEqual(checks["limits"]["state"], "no")
        self.assertIn("ulimit", checks["limits"]["hint"])
        self.assertEqual(checks["self-test"]["state"], "no")

    def test_a_library_that_is_none(self):
        broken = self.folder / "broken.so"
        broken.write_bytes(b"\x7fELF" + b"\0" * 60)
        self.assertEqual(self.checks(DPROF_NVML_LIBRARY=str(broken))["NVML"]["state"], "no")
        fake = BIN.parent / "test_bin/libdprof_test_fake_nvml.so"
        if fake.exists():
            self.assertEqual(self.checks(DPROF_NVML_LIBRARY=str(fake))["NVML"]["found"], "2 devices")

    def test_other_tools_are_named(self):
        checks = self.checks(CUDA_INJECTION64_PATH="/opt/nsight/libinject.so")
        self.assertEqual(checks["other tools"]["state"], "limited")
        self.assertIn("/opt/nsight/libinject.so", checks["other tools"]["found"])

    def test_a_python_that_fails_or_is_not_there(self):
        shims = self.folder / "bin"
        shims.mkdir()
        (shims / "python3").write_text("#!/bin/sh\nexit 3\n")
        (shims / "python3").chmod(0o755)
        check = self.checks(PATH=f"{shims}:/usr/bin:/bin")["Python's torch"]
        self.assertEqual(check["state"], "limited")
        self.assertIn("ended with 3", check["found"])
        self.assertIn("no python3", self.checks(PATH=str(self.folder))["Python's torch"]["found"])

    def torch_in(self, name, version, whole):
        """A folder of packages with a torch, as far as its files show."""
        package = self.folder / name / "torch"
        (package / "lib").mkdir(parents=True)
        (package / "__init__.py").write_text("raise ImportError('nobody imports it')\n")
        (package / "version.py").write_text(f"__version__ = '{version}'\n")
        if whole:
            (package / "lib/libtorch_cpu.so").write_bytes(b"no program")
        return package.parent

    def test_a_torch_of_which_a_part_is_gone(self):
        check = self.checks(PYTHONPATH=str(self.torch_in("half", "2.9.1", whole=False)))["Python's torch"]
        self.assertEqual(check["state"], "no")
        self.assertIn("a part of torch is gone (lib/libtorch_cpu.so)", check["meaning"])
        self.assertIn("--force-reinstall", check["hint"])

    def test_two_torches_of_one_python(self):
        first, second = (self.torch_in(name, version, whole=True) for name, version in (("a", "2.9.1"), ("b", "2.8.0")))
        check = self.checks(PYTHONPATH=f"{first}:{second}")["Python's torch"]
        self.assertEqual(check["state"], "limited")
        self.assertEqual(check["found"], f"2.9.1 in {first}/torch; a second one in {second}/torch")

    def test_the_torch_of_this_build_is_known(self):
        python = self.need_python_torch()
        checks = self.checks(PATH=f"{python.parent}:/usr/bin:/bin")
        self.assertEqual(checks["Python's torch"]["state"], "ok", checks["Python's torch"])

    def test_a_path_with_a_blank_and_a_colon(self):
        """LD_PRELOAD cannot hold such a path; it is recorded nevertheless, and ld.so says nothing to the user."""
        install = self.folder / "my tools: new"
        (install / "bin").mkdir(parents=True)
        (install / "lib").mkdir()
        program = shutil.copy(DPROF, install / "bin")
        shutil.copy(BIN.parent / "lib/libdprof.so", install / "lib")
        done = self.command(program, "doctor", "--format", "json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
        self.assertEqual(checks["self-test"]["state"], "ok", checks["self-test"])
        done = self.command(program, "record", "-o", self.folder / "run", "--", program, "doctor", "--emit-range")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("LD_PRELOAD", done.stderr)
        self.assertIn("recorded 1 rank", done.stderr)

    def test_without_its_library(self):
        """A program that was copied alone."""
        program = self.folder / "alone" / "dprof"
        program.parent.mkdir()
        program.write_bytes(DPROF.read_bytes())
        program.chmod(0o755)
        done = self.command(program, "doctor", "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        states = {check["name"]: check["state"] for check in report["checks"]}
        self.assertEqual(states["libdprof.so"], "no")
        self.assertFalse(report["recordable"][0]["can"])

    def test_usage(self):
        self.assertEqual(self.command(DPROF, "doctor", "--format", "xml").returncode, 2)
