# SPDX-License-Identifier: Apache-2.0
"""The pages of HTML that report, diff and check write, as a browser shows them."""
import base64
import json
import re
import shutil
import sqlite3

from support import BIN, DPROF, EndToEnd

SYNTH = BIN / "dprof-synth"
EVIL = "<script>document.title='owned'</script><img src=http://127.0.0.1:9/x onerror=alert(1)>\"'&"

# Looks at each text: what colour it has on what ground. Texts over a pattern or a mask have no one ground.
LOOK = r"""
const channel = c => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
const luminance = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
const contrast = (a, b) => {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
};
const parsed = text => {
  const found = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)/.exec(text);
  return found && found[4] !== "0" ? [1, 2, 3].map(i => Number(found[i])) : null;
};
const over = (top, alpha, below) => top.map((c, i) => c * alpha + below[i] * (1 - alpha));
const behind = element => {
  for (let at = element; at; at = at.parentElement) {
    const ground = parsed(getComputedStyle(at).backgroundColor);
    if (ground) return ground;
  }
  return [255, 255, 255];
};
const ground_in_picture = text => {
  text.scrollIntoView({block: "center"});
  const box = text.getBoundingClientRect();
  const layers = document.elementsFromPoint(box.x + 2, box.y + box.height / 2)
    .filter(one => one instanceof SVGGeometryElement && text.ownerSVGElement);
  let ground = behind(text.closest("figure"));
  for (const one of layers.reverse()) {
    const style = getComputedStyle(one);
    if (one.getAttribute("mask") || style.fill.startsWith("url")) return null;
    const fill = parsed(style.fill);
    if (fill) ground = over(fill, Number(style.opacity), ground);
  }
  return ground;
};
addEventListener("load", () => {
  const texts = [];
  const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (const details of document.querySelectorAll("details")) details.open = true;
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim()) continue;
    const svg = element instanceof SVGElement;
    const colour = parsed(svg ? getComputedStyle(element).fill : getComputedStyle(element).color);
    const ground = svg ? ground_in_picture(element) : behind(element);
    if (colour && ground) texts.push([contrast(colour, ground), walk.currentNode.textContent]);
  }
  const names = document.querySelector("#names table");
  if (names) names.querySelectorAll("th button")[2].click();
  const calls = names ? [...names.tBodies[0].rows].map(row => Number(row.cells[2].textContent)) : [];
  getSelection().selectAllChildren(document.querySelector("main"));
  const said = {
    worst: texts.sort((a, b) => a[0] - b[0]).slice(0, 5), texts: texts.length,
    selected: getSelection().toString().length, title: document.title,
    pictures: document.querySelectorAll("svg.picture").length,
    wider: document.documentElement.scrollWidth > document.documentElement.clientWidth,
    calls: calls,
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
  };
  const out = document.createElement("pre");
  out.id = "looked";
  out.textContent = btoa(unescape(encodeURIComponent(JSON.stringify(said))));
  document.body.append(out);
});
"""


class HtmlReport(EndToEnd):
    programs = (DPROF, SYNTH)

    def make(self, *how, ranks=4, steps=30):
        made = self.command(SYNTH, "--shape", "gpu", "--ranks", ranks, "--steps", steps, "-o", self.run_folder, *how)
        self.assertEqual(made.returncode, 0, made.stderr)

    def page(self, *options):
        page = self.folder / "report.html"
        done = self.command(DPROF, "report", self.run_folder, "--format", "html", "-o", page, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return page

    def look(self, page, dark=False):
        """What a browser makes of the page, with what looks at it added to its end."""
        browser = shutil.which("chromium")
        if browser is None:
            self.skipTest("chromium is not installed: scripts/setup installs it")
        looked = self.folder / "looked.html"
        looked.write_text(page.read_text().replace("</body>", f"<script>{LOOK}</script></body>"))
        requests = self.folder / "requests.json"
        done = self.command(
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", f"--user-data-dir={self.folder / 'browser'}", f"--log-net-log={requests}",
            "--enable-logging=stderr", "--window-size=1200,900", *(["--force-dark-mode"] if dark else []),
            f"--screenshot={self.folder / ('dark.png' if dark else 'light.png')}", "--dump-dom", looked.as_uri())
        self.assertEqual(re.findall(r"CONSOLE.*", done.stderr), [], "nothing is said in the console")
        asked = [url for url in re.findall(r'"url":\s*"([^"]*)"', requests.read_text())
                 if not url.startswith(("file:", "data:", "chrome"))]
        self.assertEqual([url for url in asked if "127.0.0.1" in url], [], "no name of a trace is asked for")
        found = re.search(r'<pre id="looked">([^<]*)</pre>', done.stdout)
        self.assertIsNotNone(found, done.stderr[-2000:])
        return json.loads(base64.b64decode(found.group(1)))

    def check(self, said, texts=150, letters=2000):
        self.assertGreaterEqual(said["worst"][0][0], 4.5, said["worst"])
        self.assertGreater(said["texts"], texts)
        self.assertGreater(said["selected"], letters)
        self.assertFalse(said["wider"], "the page fits the window")

    def test_a_browser_shows_it_in_light_and_dark(self):
        self.make("--fault", "loader:rank=1,ms=25")
        page = self.page()
        text = page.read_text()
        self.assertIn("Rank 1 holds everyone up".lower(), text.lower())
        for dark in (False, True):
            said = self.look(page, dark)
            self.check(said)
            self.assertEqual(said["dark"], dark)
            self.assertEqual(said["title"], "dprof: run")
            self.assertEqual(said["pictures"], 6)
            self.assertGreater(said["calls"][0], said["calls"][-1])
            self.assertEqual(said["calls"], sorted(said["calls"], reverse=True))

    def test_diff_and_check_are_pages_as_well(self):
        reports = []
        for name, how in (("before", ("--seed", 1)), ("after", ("--seed", 2, "--scale", "forward=1.6"))):
            made = self.command(SYNTH, "--shape", "gpu", "--ranks", 4, "--steps", 40, "-o", self.folder / name, *how)
            self.assertEqual(made.returncode, 0, made.stderr)
            reports.append(self.folder / name)
        page = self.folder / "page.html"
        for verb in (["diff", *reports], ["check", reports[1], "--baseline", reports[0]]):
            done = self.command(DPROF, *verb, "--format", "html", "-o", page)
            self.assertEqual(done.returncode, 0 if verb[0] == "diff" else 1, done.stderr)
            said = self.command(DPROF, *verb).stdout
            text = re.sub(r"<[^>]*>", "", page.read_text())
            change = re.search(r"\+[\d.]+ % \(98 %: [^)]*\)", said)
            self.assertIsNotNone(change, said)
            self.assertIn(change.group(), text, "the words and figures are those of the text")
            for dark in (False, True):
                looked = self.look(page, dark)
                self.check(looked, texts=60, letters=700)
                self.assertEqual(looked["dark"], dark)
                self.assertTrue(looked["title"].startswith(f"dprof {verb[0]}: "))

    def test_names_of_a_trace_make_no_markup(self):
        self.make(ranks=2)
        for trace in self.run_folder.glob("rank-*.dprof"):
            with sqlite3.connect(trace) as db:
                db.execute("UPDATE string SET value = ? || id WHERE value LIKE 'aten%' OR value LIKE 'sm90%' "
                           "OR value LIKE '%vectorized%'", (EVIL,))
                db.execute("UPDATE meta SET value = ? WHERE key IN ('hostname', 'host', 'command')", (EVIL,))
        page = self.page("--no-cache")
        text = page.read_text()
        self.assertIn("&lt;script&gt;document.title=&#39;owned", text)
        self.assertNotIn("<script>document", text)
        self.assertNotIn("<img", text)
        said = self.look(page)
        self.assertEqual(said["title"], "dprof: run")
        self.check(said)

    def test_a_run_without_steps_is_a_page_as_well(self):
        done = self.command(DPROF, "record", "-o", self.run_folder, "--", BIN.parent / "test_bin/step_probe")
        if done.returncode != 0:
            self.skipTest(f"step_probe was not recorded: {done.stderr}")
        self.assertIn("<h2>Findings</h2>", self.page().read_text())
