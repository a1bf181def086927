# SPDX-License-Identifier: Apache-2.0
"""The wheel, made of what is built, in fresh virtual environments, without network."""
import base64
import csv
import hashlib
import json
import os
import pathlib
import re
import shutil
import sys
import zipfile

from support import BIN, GUI, ROOT, EndToEnd

MARKED = """
import dprof
for step in range(40):
    with dprof.mark(f"step {step}"):
        with dprof.mark("load_batch"):
            sum(range(20000))
"""


class Wheel(EndToEnd):
    programs = ()

    def setUp(self):
        super().setUp()
        if os.environ.get("DPROF_HAVE_PORTABLE") == "OFF":
            self.skipTest("this build has no portable programs (DPROF_HAVE_PORTABLE=OFF)")

    def make(self, folder="dist"):
        done = self.command(sys.executable, ROOT / "scripts/wheel", "--no-build", "--build", BIN.parent, "-o",
                            self.folder / folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        (wheel,) = (self.folder / folder).glob("dprof-*.whl")
        return wheel

    def installed(self, wheel, python=sys.executable, paths=()):
        """A virtual environment with the wheel; `paths` are where it also finds modules."""
        self.venv = self.folder / "venv"
        self.run_good(python, "-m", "venv", self.venv)
        (site,) = self.venv.glob("lib/python3*/site-packages")
        if paths:
            (site / "more.pth").write_text("".join(f"{path}\n" for path in paths))
        self.before = self.files()
        self.run_good(self.venv / "bin/python", "-m", "pip", "install", "-q", "--no-index", "--no-deps", wheel)

    def files(self):
        return sorted(str(path.relative_to(self.venv)) for path in self.venv.rglob("*"))

    def run_good(self, *words):
        done = self.command(*words)
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def test_of_the_same_programs_the_same_bytes(self):
        first, second = self.make("first"), self.make("second")
        self.assertEqual(first.name, second.name)
        self.assertEqual(first.read_bytes(), second.read_bytes())
        self.assertRegex(first.name, r"^dprof-[\d.]+-py3-none-manylinux_2_(1\d|2[0-8])_\w+\.whl$")
        self.assertLess(first.stat().st_size, 10_000_000)
        with zipfile.ZipFile(first) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        (record,) = (name for name in files if name.endswith("/RECORD"))
        rows = list(csv.reader(files[record].decode().splitlines()))
        self.assertEqual({name for name, _, _ in rows}, set(files))
        for name, digest, size in rows:
            if name != record:
                expected = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).rstrip(b"=").decode()
                self.assertEqual((digest, int(size)), (expected, len(files[name])), name)

    def test_needs_no_newer_glibc_than_its_tag_says(self):
        wheel = self.make()
        newest = int(wheel.name.split("manylinux_2_")[1].split("_")[0])
        with zipfile.ZipFile(wheel) as archive:
            programs = [name for name in archive.namelist() if "/_native/bin/" in name or "/_native/lib/" in name]
            archive.extractall(self.folder / "unpacked")
        self.assertGreaterEqual(len(programs), 2)
        for name in programs:
            symbols = self.run_good("objdump", "-T", self.folder / "unpacked" / name)
            versions = {int(word.split(".")[1].rstrip(")")) for word in symbols.split() if word.startswith("(GLIBC_2.")}
            self.assertTrue(versions, name)
            self.assertLessEqual(max(versions), newest, name)

    def test_installs_records_and_leaves_nothing(self):
        self.installed(self.make())
        dprof, python = self.venv / "bin/dprof", self.venv / "bin/python"
        version = self.run_good(dprof, "--version")
        self.assertRegex(version, r"^dprof \d+\.\d+\.\d+\n$")
        self.assertEqual(self.run_good(python, "-m", "dprof", "--version"), version)
        self.assertTrue(list(self.venv.glob("lib/*/site-packages/dprof/_native/share/man/man1/dprof-record.1")))
        script = self.folder / "marked.py"
        script.write_text(MARKED)
        self.run_good(python, script)  # nobody records: marks cost nothing and harm nothing
        self.run_good(dprof, "record", "-n", 2, "-o", self.run_folder, "--", python, script)
        printed = json.loads(self.run_good(python, "-c", (
            "import dprof, json, sqlite3, sys\n"
            "trace = dprof.open(sys.argv[1] + '/rank-00001.dprof')\n"
            "count = trace.execute(\"SELECT count(*) FROM host_range JOIN string ON string.id = name_id "
            "WHERE value = 'load_batch'\").fetchone()[0]\n"
            "try: trace.execute('DELETE FROM host_range'); written = True\n"
            "except sqlite3.OperationalError: written = False\n"
            "try: dprof.report('/nowhere'); error = ''\n"
            "except RuntimeError as why: error = str(why)\n"
            "try: dprof.open(__import__('os').__file__); other = ''\n"
            "except ValueError as why: other = str(why)\n"
            "report = dprof.report(sys.argv[1])\n"
            "print(json.dumps([report['run']['ranks'], count, written, error, other]))\n"), self.run_folder))
        self.assertEqual(printed[:3], [2, 40, False])
        self.assertIn("/nowhere", printed[3])
        self.assertIn("not a trace", printed[4])
        gui = self.command(dprof, "gui", self.run_folder)
        self.assertEqual(gui.returncode, 125)
        self.assertIn("the window is not installed: pip install 'dprof[gui]'", gui.stderr)
        demo = self.command(dprof, "demo")
        self.assertEqual(demo.returncode, 2)
        self.assertIn(f"{python} -m pip install torch", demo.stderr)
        self.run_good(python, "-m", "pip", "uninstall", "-q", "-y", "dprof")
        self.assertEqual([name for name in self.files() if name not in self.before], [])

    def test_the_window_on_the_qt_of_pyside(self):
        """`dprof[gui]`; this machine's Qt in its folders replaces PySide6-Essentials, whose 80 MB are not fetched here."""
        wheel = self.make()
        windows = list(wheel.parent.glob("dprof_gui-*.whl"))
        if not windows and os.environ.get("DPROF_HAVE_QT") == "OFF":
            self.skipTest("this build has no window (DPROF_HAVE_QT=OFF)")
        self.installed(wheel)
        python, (site,) = self.venv / "bin/python", self.venv.glob("lib/python3*/site-packages")
        self.run_good(python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", windows[0])
        self.run_good(python, "-c", "import importlib.metadata as data\n"
                      "assert 'dprof-gui==' in str(data.requires('dprof')), data.requires('dprof')\n"
                      "assert 'PySide6-Essentials>=6.4.2,<7' in data.requires('dprof-gui'), data.requires('dprof-gui')")
        libraries = re.search(r"=> (.*)/libQt6Core", self.run_good("ldd", GUI)).group(1)
        qt = site / "PySide6/Qt"
        qt.mkdir(parents=True)
        (qt / "lib").symlink_to(libraries)
        shutil.copytree(pathlib.Path(libraries) / "qt6/plugins/platforms", qt / "plugins/platforms")
        script = self.folder / "marked.py"
        script.write_text(MARKED)
        self.run_good(self.venv / "bin/dprof", "record", "-n", 2, "-o", self.run_folder, "--", python, script)
        shown = self.command(self.venv / "bin/dprof", "gui", self.run_folder, "--screenshot", self.folder / "run.png",
                             LD_DEBUG="libs")
        self.assertEqual(shown.returncode, 0, shown.stderr[-2000:])
        for part in ("dprof_gui/_native/bin/../../../PySide6/Qt/lib/libQt6Widgets.so.6",
                     f"{qt}/plugins/platforms/libqoffscreen.so"):
            self.assertRegex(shown.stderr, f"calling init: .*{re.escape(part)}")
        self.assertGreater((self.folder / "run.png").stat().st_size, 10_000)
        self.assertRegex(self.run_good(self.venv / "bin/dprof-gui", "--version"),
                         r"^dprof-gui \d+\.\d+\.\d+ \(Qt 6\.\d+\.\d+\)\n$")
        shutil.rmtree(site / "PySide6")
        self.run_good(python, "-m", "pip", "uninstall", "-q", "-y", "dprof", "dprof-gui")
        self.assertEqual([name for name in self.files() if name not in self.before], [])

    def test_demo_with_torch(self):
        python = self.need_python_torch()
        torch = pathlib.Path(self.run_good(python, "-c", "import torch; print(torch.__file__)").strip())
        self.installed(self.make(), python=python, paths=[torch.parent.parent])
        done = self.command(self.venv / "bin/dprof", "demo")
        self.assertEqual(done.returncode, 0, f"{done.stdout}\n{done.stderr}")
        self.assertIn("2 ranks on 1 host", done.stdout)
        for rank in (0, 1):
            trace = self.trace(rank, self.folder / "dprof-demo")
            self.assertEqual(trace.meta["torch_source"], "on")
            self.assertEqual(trace.meta["launcher"], "torchrun")
            self.assertGreaterEqual(len(trace.collectives("all_reduce")), 60)
