# SPDX-License-Identifier: Apache-2.0
"""What shells complete, typed on a terminal: bash, zsh and fish, each where it is installed."""
import os
import pty
import re
import select
import shutil
import time

from support import BIN, EndToEnd

SHARE = BIN.parent / "share"
CLEAR_LINE = "\x15"
READY = "completion is ready"
ESCAPES = re.compile(r"\x1b(\[[0-9;?>=]*[A-Za-z]|[\]P^_][^\x07\x1b]*(\x07|\x1b\\)|[=>78]|[()][AB0])")


class Terminal:
    """A shell on a terminal of its own; `text` is what it showed so far."""

    def __init__(self, environment, folder, *command):
        self.pid, self.screen = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)
        self.text = ""

    def type(self, keys):
        os.write(self.screen, keys.encode())

    def wait_for(self, pattern, seconds=20):
        """Waits until all that has come since the last call matches, and gives it."""
        end = time.monotonic() + seconds
        while not re.search(pattern, self.text):
            ready, _, _ = select.select([self.screen], [], [], max(0, end - time.monotonic()))
            try:
                more = os.read(self.screen, 65536).decode(errors="replace") if ready else ""
            except OSError:  # the shell has ended
                more = ""
            if not more:
                raise AssertionError(f"{pattern!r} does not come; on the terminal: {self.text!r}")
            if "\x1b[c" in more:
                self.type("\x1b[?6c")  # what terminal is this?
            if "\x1b[6n" in more:
                self.type("\x1b[1;1R")  # where is the cursor?
            self.text = ESCAPES.sub("", self.text + more)
        seen, self.text = self.text, ""
        return seen

    def close(self):
        os.close(self.screen)  # hangs up
        os.waitpid(self.pid, 0)


class Completions(EndToEnd):
    def terminal(self, *command):
        if not shutil.which(command[0]):
            self.skipTest(f"{command[0]} is not installed")
        environment = self.environment(PATH=f"{BIN}:{os.environ['PATH']}", TERM="xterm", HOME=str(self.folder), PS1="> ",
                                       XDG_CONFIG_HOME=str(self.folder), XDG_DATA_HOME=str(self.folder))
        terminal = Terminal(environment, self.folder, *command)
        self.addCleanup(terminal.close)
        return terminal

    def check(self, terminal):
        """A verb that is begun is finished; words of an option are shown; an option is finished."""
        for begun, shown in (("dprof repo", "dprof report "),
                             ("dprof reco", r"(?s)record.*recover|recover.*record"),
                             ("dprof record --detail st", "--detail standard "),
                             ("dprof record --max-o", "--max-overhead[ =]")):
            terminal.type(CLEAR_LINE + begun)
            terminal.wait_for(re.escape(begun[-4:]))
            time.sleep(0.2)  # zsh takes a Tab that comes with other keys for pasted text
            terminal.type("\t")
            time.sleep(0.2)
            terminal.type("\t")
            terminal.text = begun
            terminal.wait_for(shown)

    def test_bash(self):
        terminal = self.terminal("bash", "--norc", "--noprofile", "-i")
        terminal.type(f". '{SHARE}/bash-completion/completions/dprof'; echo completion is'' ready\n")
        terminal.wait_for(READY)
        self.check(terminal)

    def test_zsh(self):
        terminal = self.terminal("zsh", "-f", "-i")
        terminal.type(f"fpath=('{SHARE}/zsh/site-functions' $fpath); autoload -Uz compinit; compinit -u -D; "
                      "echo completion is'' ready\n")
        terminal.wait_for(READY)
        self.check(terminal)

    def test_fish(self):
        terminal = self.terminal("fish", "--no-config", "-i")
        terminal.type(f"set fish_complete_path '{SHARE}/fish/vendor_completions.d'; echo completion is'' ready\n")
        terminal.wait_for(READY)
        self.check(terminal)
