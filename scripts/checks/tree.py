# SPDX-License-Identifier: Apache-2.0
"""The files of a repository, and what was found wrong with them."""
import subprocess
from pathlib import Path


class Tree:
    """`names` are what git lists, unless they are given (tests)."""

    def __init__(self, root, names=None):
        self.root = Path(root)
        self.problems = []
        self.notes = []  # what was not looked at, and why
        self._texts = {}
        if names is None:
            names = self.git("ls-files", "-co", "--exclude-standard").splitlines()
        self.names = sorted(name for name in set(names) if (self.root / name).is_file())

    def git(self, *arguments):
        """What git prints; nothing where it fails."""
        done = subprocess.run(["git", *arguments], cwd=self.root, capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else ""

    def text(self, name):
        if name not in self._texts:
            self._texts[name] = (self.root / name).read_text(errors="replace")
        return self._texts[name]

    def problem(self, where, what):
        line = f"{where}: {what}"
        if line not in self.problems:
            self.problems.append(line)

    def note(self, line):
        self.notes.append(line)


def is_cpp(name):
    return name.endswith((".h", ".cpp"))


def is_generated(name):
    """Made by a program, as it likes; scripts/check --fix makes them again, scripts/scoreboard and what-if their pages."""
    pages = ("docs/reference/schema.md", "docs/rules.md", "docs/diagnosis.md", "docs/what_if.md")
    return name.startswith("schema/generated/") or name in pages


def is_test(name):
    return "_test." in name or "/test_support/" in name or "/test_support." in name or name.startswith(("tests/", "bench/"))


def is_script(name):
    """Python or shell."""
    return name.endswith((".py", ".sh")) or name == ".ci/run" or (name.startswith("scripts/") and "." not in name)
