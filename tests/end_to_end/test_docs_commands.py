# SPDX-License-Identifier: Apache-2.0
"""The commands in the documents: their verbs and options exist, those that read a run do so, and the tutorial's all work."""
import functools
import json
import re
import shlex
import subprocess

from support import DPROF, GUI, ROOT, EndToEnd

SYNTH = DPROF.with_name("dprof-synth")

PROGRAM = re.compile(r"(?:build/\S+/)?(dprof|dprof-gui|dprof-synth|dprof-trainer|scripts/[a-z-]+)$")
INLINE = re.compile(r"`((?:dprof|dprof-\w+|scripts/[a-z-]+) [^`]*)`")
OPTION = re.compile(r"--[a-z][\w-]*")
INTERNAL = {"--probe-torch"}  # between our own processes, in no help
ON_TO_OTHERS = ("scripts/bench", "scripts/hosts")  # hand their options on
STANDS_FOR_A_RUN = re.compile(r"RUN|run|A|B|BEFORE|AFTER|before|after|BASELINES")
READS = ("report", "diff", "check", "export")  # verbs that need only a run
PAGES = ("docs/how_to.md", "docs/user_guide.md", "docs/report.md", "docs/export.md")  # whose commands are run


def pages():
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def commands(page):
    """(line number, words) of each command in a code block or in backquotes; a comment behind it is left out."""
    fenced = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
            continue
        texts = [line.strip().removeprefix("$ ")] if fenced or line.startswith("    ") else INLINE.findall(line)
        for text in texts:
            text = re.split(r"  +|\s#\s|[|>&;]\s", text)[0]
            try:
                words = shlex.split(text)
            except ValueError:  # a sentence with an apostrophe
                continue
            if words and PROGRAM.match(words[0]):
                yield number, words


class DocsCommands(EndToEnd):
    programs = (DPROF, SYNTH)

    @functools.cache
    def known(self, *command):
        done = self.command(*command, "--help")
        return set(OPTION.findall(done.stdout)) | {"--help", "--version"} if done.returncode == 0 else None

    def problem(self, words):
        """What is wrong with a command, or None. What follows `--` is another program's."""
        own = words[1:words.index("--")] if "--" in words else words[1:]
        name = PROGRAM.match(words[0])[1]
        if name in ON_TO_OTHERS:
            return None
        if own[:1] == ["gui"]:
            name = "dprof-gui"
        program = ROOT / name if name.startswith("scripts/") else DPROF.with_name(name)
        if not program.exists():
            return None if program.parent == DPROF.parent else "no such script"
        verb = []
        if name == "dprof" and own and re.fullmatch(r"[a-z]+", own[0]):
            verb = own[:2] if own[0] in ("ctl", "baseline") and re.fullmatch(r"[a-z]+", own[1] if own[1:] else "") else own[:1]
            while verb and self.known(program, *verb) is None:
                verb = verb[:-1]
            if not verb:
                return f"no such verb: {own[0]}"
        known = self.known(program, *verb)
        if known is None:
            return None  # it has no --help
        unknown = [option for word in own for option in OPTION.findall(word) if word.startswith(("--", "[--"))
                   if option not in known | INTERNAL]
        return f"no such option: {', '.join(unknown)}" if unknown else None

    def test_their_options_exist(self):
        wrong, count = [], 0
        for page in pages():
            for number, words in commands(page):
                count += 1
                if said := self.problem(words):
                    wrong.append(f"{page.relative_to(ROOT)}:{number}: {' '.join(words)}: {said}")
        self.assertGreater(count, 150)
        self.assertEqual(wrong, [], "\n".join(wrong))

    def test_those_that_read_a_run_do(self):
        run = self.run_folder
        self.assertEqual(self.command(SYNTH, "-o", run, "--ranks", 8, "--steps", 30).returncode, 0)
        wrong, count = [], 0
        for name in PAGES:
            for number, words in commands(ROOT / name):
                if words[0] != "dprof" or len(words) < 3 or words[1] not in READS or "[" in " ".join(words):
                    continue
                words = [str(run) if STANDS_FOR_A_RUN.fullmatch(word) else word for word in words]
                if str(run) not in words:
                    continue
                done = subprocess.run([DPROF, *words[1:]], cwd=self.folder, capture_output=True, text=True, timeout=120)
                count += 1
                if done.returncode not in (0, 1, 4):  # 1 and 4 are answers of `check`
                    wrong.append(f"{name}:{number}: {' '.join(words)}: {done.returncode}: {done.stderr}")
        self.assertGreater(count, 15)
        self.assertEqual(wrong, [], "\n".join(wrong))

    def test_the_tutorial_from_its_beginning_to_its_end(self):
        """Its script and its commands, in their order; the window only draws a picture."""
        python = self.need_python_torch()
        page = ROOT / "docs/tutorial.md"
        (self.folder / "train.py").write_text(re.search(r"```python\n(.*?)```", page.read_text(), re.S)[1])
        torchrun = [python, "-m", "torch.distributed.run", "--local-addr=127.0.0.1"]
        codes = []
        for _, (program, verb, *words) in commands(page):
            if program != "dprof" or not {"slow", "fixed"} & set(words) or (verb == "gui" and not GUI.exists()):
                continue
            words = [part for word in words for part in (torchrun if word == "torchrun" else [word])]
            more = ["--screenshot", self.folder / "slow.png"] if verb == "gui" else []
            done = self.command(DPROF, verb, *words, *more, QT_QPA_PLATFORM="offscreen")
            codes.append((verb, done.returncode))
            self.assertIn(done.returncode, (0, 1, 4) if verb == "check" else (0,), f"{verb} {words}: {done.stderr}")
        # 4, "cannot tell", is an answer where other programs use the cores.
        self.assertEqual([code for verb, code in codes if verb == "check"][0], 1, codes)
        first = json.loads(self.command(DPROF, "report", "slow", "--format", "json").stdout)["findings"][0]
        self.assertEqual((first["rule"], first["ranks"], first["cause"]), ("balance.straggler", [1], "dataloader"))
        fixed = json.loads(self.command(DPROF, "report", "fixed", "--format", "json").stdout)["findings"]
        self.assertFalse([f for f in fixed if f["rule"] == "balance.straggler" and f["cause"] == "dataloader"])
