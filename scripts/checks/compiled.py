# SPDX-License-Identifier: Apache-2.0
"""What a compiler says of sources: clang-tidy, and whether each of them includes what it uses.

Both look at what changed last, and keep their results by content, so that a second call is quick. Which files these are
depends on the tree alone, never on what is kept, so that a commit passes here if it passes elsewhere. What changed is counted
from the last release: the newest tag v* before HEAD, else the commit that set the version in CMakeLists.txt.
"""
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from checks.tree import is_cpp, is_generated

# The newest of what changed: a minute and a half on two cores when nothing is known from before.
MOST_TIDIED = 16
MOST_COMPILED = 24
# These include LibTorch: a compilation counts for six (13 s of CPU time instead of 2 s), and clang-tidy leaves them out.
WITH_TORCH = ("trainer_harness/", "collector/inject/torch/")
TORCH_COUNTS = 6
# Read by clang-tidy as one, so that headers are parsed once: 5 s of CPU time a file instead of 14 s (analyzer/digest).
TIDIED_TOGETHER = 10
TIDY = ["clang-tidy-14", "--quiet"]
# The analyser's quick mode: a fifth of the time.
TIDY_ARGUMENTS = ["-Xclang", "-analyzer-config", "-Xclang", "mode=shallow"]
COMPILE = ["g++", "-fsyntax-only", "-w"]
KEPT_DAYS = 60
JOBS = min(2, os.cpu_count() or 1)
DIAGNOSTIC = re.compile(r"(?P<path>[^:\s][^:]*):(?P<line>\d+):\d+: (?:warning|(?:fatal )?error): (?P<what>.*)")


class Release:
    """What changed since the last one, the newest first."""

    def __init__(self, tree):
        self.commit = tree.git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*").strip()
        self.said = self.commit
        if not self.commit:
            self.commit = tree.git("log", "-1", "--format=%H", r"-G^project\(dprof VERSION", "--", "CMakeLists.txt").strip()
            self.said = f"{self.commit[:7]}, which set the version"
        if tree.git("rev-parse", "--is-shallow-repository").strip() == "true" and not tree.git("rev-parse", f"{self.commit}^"):
            self.commit = ""  # where the history was cut off
        if self.commit:
            committed = tree.git("log", "--format=", "--name-only", f"{self.commit}..HEAD")
        else:
            self.said = "the commit before (the last release is not in this clone)"
            committed = tree.git("show", "--format=", "--name-only", "HEAD")
        names = [tree.git("diff", "--name-only", "HEAD"), tree.git("ls-files", "-o", "--exclude-standard"), committed]
        present = set(tree.names)
        self.changed = [name for name in dict.fromkeys("".join(names).splitlines()) if name in present and is_cpp(name)]


class Commands:
    """How each source is compiled, by build/dev or build/release, and build/asan, which has the tests that release lacks there.
    Sources that are built as one are distinguished."""

    def __init__(self, tree):
        self.tree = tree
        self.of_source = {}
        self.by_folder = {}
        dev, release, asan = (tree.root / "build" / preset / "compile_commands.json" for preset in ("dev", "release", "asan"))
        for path in (dev if dev.exists() else release, asan):
            for entry in json.loads(path.read_text()) if path.exists() else []:
                arguments, target = self.arguments(entry)
                for source in self.sources(entry["file"]):
                    name = os.path.relpath(source, tree.root)
                    self.of_source.setdefault(name, (target, arguments))
                    self.by_folder.setdefault(os.path.dirname(name), arguments)

    @staticmethod
    def arguments(entry):
        """Without the compiler, what is compiled, and its warnings; and the target."""
        words = shlex.split(entry["command"])
        target = re.search(r"CMakeFiles/([^/]+)\.dir", entry["command"])
        kept, at = [], next(i for i, word in enumerate(words) if word.startswith("-"))
        while at < len(words):
            if words[at] in ("-o", "-c", "-MF", "-MT", "-MQ") or (words[at] == "-include" and "cmake_pch" in words[at + 1]):
                at += 2
                continue
            if not words[at].startswith(("-W", "-M", "-fsanitize", "-fno-sanitize")):
                kept.append(words[at])
            at += 1
        return tuple(kept), target.group(1) if target else ""

    @staticmethod
    def sources(path):
        if "/Unity/unity_" not in path:
            return [path]
        return re.findall(r'#include "([^"]+)"', Path(path).read_text()) if os.path.exists(path) else []

    def of(self, name):
        """(target, arguments), or None where it is not built here."""
        if name.endswith(".cpp"):
            return self.of_source.get(name)
        same = self.of_source.get(name[:-2] + ".cpp") or self.of_source.get(name[:-2] + "_test.cpp") or self.includer(name)
        folder = os.path.dirname(name)
        while same is None and folder:
            same = ("", self.by_folder[folder]) if folder in self.by_folder else None
            folder = os.path.dirname(folder)
        return same

    def includer(self, header):
        """How the first source that includes it is compiled."""
        line = f'#include "{header}"'
        present = (name for name in sorted(self.of_source) if (self.tree.root / name).is_file())
        return next((self.of_source[name] for name in present if line in self.tree.text(name)), None)


class Kept:
    """Results by what they were made of: the tool, its settings, the source and all headers of ours that it includes."""

    def __init__(self, tree, tool, settings):
        caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        self.folder = Path(os.environ.get("DPROF_CACHE") or Path(caches) / "dprof") / "check" / tool
        self.folder.mkdir(parents=True, exist_ok=True)
        self.tree = tree
        self.settings = settings
        self.digests = {}
        self.included = {}

    def headers(self, name):
        """All that `name` includes, and itself."""
        if name not in self.included:
            self.included[name] = found = {name}
            for header in re.findall(r'^\s*#\s*include\s*"([^"]+)"', self.tree.text(name), re.M):
                if (self.tree.root / header).is_file() and header not in found:
                    found |= self.headers(header)
        return self.included[name]

    def path(self, name, arguments):
        made_of = hashlib.sha256()
        root = str(self.tree.root)
        for text in (self.settings, name, *(argument.replace(root, ".") for argument in arguments)):
            made_of.update(text.encode() + b"\0")
        for header in sorted(self.headers(name)):
            if header not in self.digests:
                self.digests[header] = hashlib.sha256(self.tree.text(header).encode()).digest()
            made_of.update(self.digests[header])
        return self.folder / made_of.hexdigest()

    def get(self, name, arguments):
        path = self.path(name, arguments)
        if not path.exists():
            return None
        os.utime(path)
        return json.loads(path.read_text())

    def put(self, name, arguments, found):
        path = self.path(name, arguments)
        new = path.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps(found))
        new.rename(path)

    def forget_old(self):
        for path in self.folder.iterdir():
            if path.stat().st_mtime < time.time() - KEPT_DAYS * 86400:
                path.unlink(missing_ok=True)


def check_tidy(tree, release, names=None, most=MOST_TIDIED):
    """`names`: all of these; else the newest `most` of what changed (None = all)."""
    if not shutil.which(TIDY[0]):
        tree.note("clang-tidy: not looked at: clang-tidy-14 is not here (scripts/setup)")
        return
    settings = (tree.root / ".clang-tidy").read_text() + " ".join(TIDY_ARGUMENTS)
    wanted, present = [], set(tree.names)
    for name in release.changed if names is None else names:
        if name.endswith(".h"):  # is looked at with its source
            name = next((n for n in (name[:-2] + ".cpp", name[:-2] + "_test.cpp") if n in present), name)
        if not name.startswith(WITH_TORCH) and name.endswith(".cpp") and name not in wanted:
            wanted.append(name)
    most = None if names else most
    look(tree, "clang-tidy", wanted, since(release, names), most, Kept(tree, "tidy", settings), tidy_groups)


def check_alone(tree, release, names=None, most=MOST_COMPILED):
    """Each source and header compiles by itself: it includes what it uses, whatever precedes it elsewhere."""
    version = subprocess.run([COMPILE[0], "-dumpfullversion"], capture_output=True, text=True).stdout
    wanted = [name for name in (release.changed if names is None else names) if is_cpp(name) and not is_generated(name)]
    most = None if names else most
    look(tree, "compiled alone", wanted, since(release, names), most, Kept(tree, "alone", version), singles)


def since(release, names):
    return "" if names else f" changed since {release.said}"


def affordable(names, most):
    """The first of `names`."""
    count, taken = 0, []
    for name in names:
        count += TORCH_COUNTS if name.startswith(WITH_TORCH) else 1
        if count > most:
            break
        taken.append(name)
    return taken


def look(tree, what, wanted, since_when, most, kept, grouped):
    """Looks at the first `most` of `wanted`. `grouped` yields (names, how to look at them) of what is not known from before; a
    look gives {name: [[where, what], …]}."""
    commands = Commands(tree)
    if not commands.of_source:
        tree.note(f"{what}: not looked at: there is no build/dev or build/release (scripts/build)")
        return
    built = [name for name in wanted if commands.of(name)]
    chosen = affordable(built, most) if most else built
    found, now = {}, []
    for name in chosen:
        known = kept.get(name, commands.of(name)[1])
        if known is None:
            now.append(name)
        else:
            found[name] = known
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(JOBS) as pool:
        jobs = [pool.submit(job, names) for names, job in grouped(tree, commands, kept, now, Path(folder))]
        for number, job in enumerate(jobs, 1):
            for name, lines in job.result().items():
                found[name] = lines
                kept.put(name, commands.of(name)[1], lines)
            if sys.stderr.isatty():
                print(f"\r{what}: {number} of {len(jobs)} ", end="\n" if number == len(jobs) else "", file=sys.stderr)
    kept.forget_old()
    for name in chosen:
        for where, said in found.get(name, []):
            tree.problem(where, said)
    parts = [f"{what}: {len(wanted)} files{since_when}", f"{len(now)} looked at now"]
    if left := len(built) - len(chosen):
        parts.append(f"{left} older files not (scripts/check {'--tidy' if 'tidy' in what else '--alone'} looks at all)")
    if missing := len(wanted) - len(built):
        parts.append(f"{missing} are not built here")
    tree.note(", ".join(parts))


def tidy_groups(tree, commands, kept, names, folder):
    together = {}
    for name in names:
        target, arguments = commands.of(name)
        together.setdefault((target, arguments, os.path.dirname(name)), []).append(name)
    for (_, arguments, _), members in together.items():
        for at in range(0, len(members), TIDIED_TOGETHER):
            group = members[at:at + TIDIED_TOGETHER]
            yield group, lambda group, arguments=arguments: tidied(tree, kept, group, arguments, folder)


def tidied(tree, kept, names, arguments, folder):
    """clang-tidy on one text of all, which names that are unique in a folder allow; each alone where they are not."""
    path = folder / (hashlib.sha256(" ".join(names).encode()).hexdigest() + ".cpp")
    first, text = [], ""
    for name in names:
        first.append((text.count("\n"), name))
        text += tree.text(name) + "\n"
    path.write_text(text)
    command = [*TIDY, f"--config-file={tree.root / '.clang-tidy'}", str(path), "--", *arguments, *TIDY_ARGUMENTS]
    done = subprocess.run(command, cwd=tree.root, capture_output=True, text=True)
    # Names that are not unique are errors, and a using declaration of two sources is unused in the second.
    if len(names) > 1 and re.search(r"\[(clang-diagnostic-error|misc-unused-using-decls)", done.stdout):
        return {name: lines for one in names for name, lines in tidied(tree, kept, [one], arguments, folder).items()}
    found = {name: [] for name in names}
    for line in done.stdout.splitlines():
        if not (said := DIAGNOSTIC.fullmatch(line)):
            continue
        number = int(said["line"])
        if said["path"] == str(path):
            begin, name = max(one for one in first if one[0] < number)
            found[name].append([f"{name}:{number - begin}", said["what"]])
        else:
            header = os.path.relpath(said["path"], tree.root)
            for name in names:
                if header in kept.headers(name):
                    found[name].append([f"{header}:{number}", said["what"]])
    if done.returncode != 0 and not any(found.values()):
        found[names[0]].append([names[0], f"clang-tidy: {(done.stderr.strip().splitlines() or ['failed'])[-1]}"])
    return found


def singles(tree, commands, kept, names, folder):
    for name in names:
        yield [name], lambda group: {group[0]: compiled(tree, group[0], commands.of(group[0])[1])}


def compiled(tree, name, arguments):
    command = [*COMPILE, *arguments, "-x", "c++", str(tree.root / name)]
    done = subprocess.run(command, cwd=tree.root, capture_output=True, text=True)
    if done.returncode == 0:
        return []
    said = next((m for m in map(DIAGNOSTIC.fullmatch, done.stderr.splitlines()) if m), None)
    what = f"{os.path.relpath(said['path'], tree.root)}:{said['line']}: {said['what']}" if said else done.stderr.strip()[:200]
    return [[name, f"does not compile alone: {what}"]]
