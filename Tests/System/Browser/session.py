"""What the scripts of this folder share: the check of contrast, their arguments, a fleet with a browser before it, and checks that are counted."""

import argparse
import contextlib
import pathlib

from browser import Browser
from fleet import Fleet

# Every visible text against the colour behind it, at least 4.5 to 1.
CONTRAST = """
const parse = (c) => (c.match(/[\\d.]+/g) ?? []).map(Number);
const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
const behind = (n) => { for (; n; n = n.parentElement) { const c = parse(getComputedStyle(n).backgroundColor);
  if (c.length === 3 || c[3] > 0) return c; } return [255, 255, 255]; };
const found = [];
for (const n of document.querySelectorAll('body *')) {
  if (![...n.childNodes].some(c => c.nodeType === 3 && c.textContent.trim()) || !n.checkVisibility() || n.disabled) continue;
  const style = getComputedStyle(n);
  const a = light(parse(n instanceof SVGElement ? style.fill : style.color)), b = light(behind(n));
  const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < 4.5) found.push(n.textContent.slice(0, 30) + ' ' + ratio.toFixed(2));
}
return found;
"""

checks = 0


def check(holds, what):
    global checks
    if not holds:
        raise AssertionError(what)
    checks += 1


def check_console(browser, *expected):
    """The console has complained about nothing since the last call, apart from lines that hold one of these texts."""
    complaints = [entry for entry in browser.log() if not any(text in entry["message"] for text in expected)]
    check(complaints == [], "the console complains: %s" % complaints)


@contextlib.contextmanager
def session(fill, *settings, failed="failed"):
    """Gives a browser, a fleet that `fill` has filled, and the dashboard's address. Afterwards it prints the count of checks.

    After a failure it leaves a picture named `failed`.
    """
    arguments = argparse.ArgumentParser()
    arguments.add_argument("fanfare")
    arguments.add_argument("--shots", type=pathlib.Path)
    given = arguments.parse_args()
    if given.shots:
        given.shots.mkdir(parents=True, exist_ok=True)
    with Fleet(given.fanfare, *settings) as fleet:
        fill(fleet)
        address = fleet.dashboard("dashboard").rstrip("/") + "/"
        browser = Browser(given.shots)
        try:
            yield browser, fleet, address
        except BaseException:
            browser.shots = browser.shots or pathlib.Path(".")
            browser.shot(failed)
            raise
        finally:
            browser.close()
    print("%d checks held" % checks)
