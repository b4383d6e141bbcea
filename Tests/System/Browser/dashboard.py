#!/usr/bin/python3
"""The dashboard in a real browser: what it shows, what its buttons do, by mouse and by keyboard.

    Tests/System/Browser/dashboard.py FANFARE [--shots FOLDER]

FANFARE is the program. Needs what `ops/browser` installs. Ends with 0 if every check held.
"""

import argparse
import pathlib
import sys

from browser import Browser, Keys
from fleet import HOSTILE, Fleet

TOKEN = "a-token-for-the-browser"
checks = 0


def check(holds, what):
    global checks
    if not holds:
        raise AssertionError(what)
    checks += 1


def job(browser, name):
    return ".card li[data-key='%s']" % name


def looks(browser, address):
    """Wide and narrow, light and dark: nothing sticks out, everything can be read, every control has a name."""
    for width, height in ((1400, 1100), (390, 844)):
        for scheme in ("light", "dark"):
            browser.open(address, width, height, scheme)
            browser.shows("#link", "live")
            browser.shows(".card", "spring-sale")
            browser.until("a curve", lambda: browser.all(".chart path.sent[d^='M']"))
            browser.shot("board-%d-%s" % (width, scheme))
            wide = browser.script("return document.scrollingElement.scrollWidth - window.innerWidth")
            check(wide <= 0, "the page is %d px too wide at %d" % (wide, width))
            check(browser.script(CONTRAST) == [], "text that is hard to read: %s" % browser.script(CONTRAST))
    nameless = browser.script(
        "return [...document.querySelectorAll('button, input, progress, select, svg[role=img]')].filter(n => n.checkVisibility()"
        " && !(n.textContent.trim() || n.getAttribute('aria-label') || n.labels?.length)).length"
    )
    check(nameless == 0, "%d controls have no name" % nameless)
    check("accepted by FCM" in browser.text("main"), "what `sent` means is not said")


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
  const a = light(parse(getComputedStyle(n).color)), b = light(behind(n));
  const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < 4.5) found.push(n.textContent.slice(0, 30) + ' ' + ratio.toFixed(2));
}
return found;
"""


def acts(browser, fleet, address):
    """Every button, and what Redis says afterwards."""
    browser.open(address)
    state = lambda name, project="demo": fleet.redis("HGET", "fanfare:{%s}:job:%s" % (project, name), "state")
    button = lambda word, name: "button[aria-label='%s job %s']" % (word, name)

    browser.shows(job(browser, "spring-sale"), "active")
    browser.shows("#workers", "alive")
    browser.shows("#workers tbody td:nth-child(3)", ".")
    browser.click(button("Pause", "newsletter-7"))
    browser.shows(job(browser, "newsletter-7"), "paused")
    check(state("newsletter-7") == "paused", "it is not paused")
    browser.click(button("Resume", "newsletter-7"))
    browser.shows(job(browser, "newsletter-7"), "waiting")

    browser.click(button("Cancel", "weather"))
    browser.until("a question", lambda: browser.find("#confirm").is_displayed())
    browser.shot("confirm")
    browser.click("#confirm-no")
    check(state("weather") == "waiting", "it was cancelled though nobody said so")
    browser.click(button("Cancel", "weather"))
    browser.click("#confirm-yes")
    browser.until("its end", lambda: state("weather") == "cancelled")
    browser.until("it left the list", lambda: not browser.all(job(browser, "weather")))

    browser.click("[data-key='news'] .card-head .actions button:nth-child(3)")
    browser.until("a question", lambda: browser.find("#confirm-input").is_displayed())
    browser.press(HOSTILE, Keys.ENTER)
    browser.shows("[data-key='news'] .reason", HOSTILE)
    check(fleet.redis("HGET", "fanfare:{news}:ctl", "pause") == HOSTILE, "the reason is another")
    browser.shot("paused")
    browser.click("[data-key='news'] .card-head .actions button:nth-child(4)")
    browser.until("it goes on", lambda: fleet.redis("HGET", "fanfare:{news}:ctl", "pause") == "")

    browser.click("[data-key='news'] .card-head .actions button:nth-child(2)")
    browser.shows("#panel", HOSTILE)
    check(len(browser.all("#panel li")) == 3, "not three dead jobs")
    browser.shot("dead")
    browser.click(button("Drop", "refused-1"))
    browser.click("#confirm-yes")
    browser.until("one less", lambda: fleet.redis("XLEN", "fanfare:{news}:dead") == "2")
    browser.click(button("Replay", "refused-2"))
    # Pushed again as it was, it is refused again.
    browser.shows("#panel #said", "was pushed again")
    browser.click("#panel-close")
    check(browser.script("return window.hacked") is None, "text of a job was run")


def reads(browser, fleet):
    """One job and its results, found by its id, by keyboard alone."""
    browser.find("#job-id").send_keys("morning", Keys.ENTER)
    browser.shows("#panel-title", "Job morning")
    browser.shows("#panel", "100 results on this page")
    browser.shot("job")
    browser.until("the next page", lambda: browser.find("#panel section > button").is_displayed())
    browser.find("#panel section > button").send_keys(Keys.ENTER)
    browser.until("the second page", lambda: browser.text("#panel tbody tr:first-child td:first-child") not in ("", "0"))
    browser.find("#only-failed").send_keys(Keys.SPACE)
    browser.shows("#panel", "33 results on this page")
    check("UNREGISTERED" in browser.text("#panel tbody"), "no error is named")
    browser.press(Keys.ESCAPE)
    browser.until("it is closed", lambda: not browser.find("#panel").is_displayed())
    browser.find("#job-id").clear()
    browser.find("#job-id").send_keys("nobody", Keys.ENTER)
    browser.shows("#panel", "No project has such a job")
    browser.press(Keys.ESCAPE)


def tabs(browser, address):
    """The keyboard reaches everything in order, sees where it is, and comes back from a dialog."""
    browser.open(address)
    browser.shows(job(browser, "spring-sale"), "active")
    browser.script("document.activeElement.blur()")
    seen = []
    for _ in range(14):
        browser.press(Keys.TAB)
        seen.append(browser.script("return document.activeElement.textContent || document.activeElement.id"))
        outline = browser.script("return getComputedStyle(document.activeElement).outlineStyle")
        check(outline != "none", "nothing shows that %s has the focus" % seen[-1])
    check(seen[0] == "Skip to the projects" and seen[1] == "job-id" and "Pause" in seen, "the order is %s" % seen)
    name = browser.find(job(browser, "spring-sale") + " .name")
    name.send_keys(Keys.ENTER)
    browser.shows("#panel-title", "spring-sale")
    inside = browser.script("return document.getElementById('panel').contains(document.activeElement)")
    check(inside, "the focus did not go into the dialog")
    browser.press(Keys.ESCAPE)
    back = browser.until(
        "the focus is back", lambda: browser.script("return document.activeElement.textContent") == "spring-sale"
    )
    check(back, "the focus was lost")


def guards(browser, fleet):
    """Read-only, and with a token."""
    browser.open(fleet.dashboard("read-only", "--read-only"))
    browser.shows(job(browser, "spring-sale"), "active")
    check(browser.find("#read-only").is_displayed(), "it does not say that it is read-only")
    words = {"Pause", "Resume", "Cancel", "Replay", "Drop"}
    shown = browser.script("return [...document.querySelectorAll('button')].filter(n => n.checkVisibility()).map(n => n.textContent)")
    check("Dead: 0" in shown and not words & set(shown), "there are buttons that cannot work: %s" % shown)
    browser.shot("read-only")
    check(browser.log() == [], "the console complains")

    browser.open(fleet.dashboard("token", token=TOKEN))
    browser.until("the question", lambda: browser.find("#token").is_displayed())
    browser.find("#token").send_keys("not-it-at-all-no", Keys.ENTER)
    browser.shows("#login-error", "not the token")
    browser.shot("login")
    # That one request was refused, as it should be.
    refused = [entry for entry in browser.log() if "401" not in entry["message"]]
    check(refused == [], "the console complains: %s" % refused)
    browser.find("#token").send_keys(TOKEN, Keys.ENTER)
    browser.shows(job(browser, "spring-sale"), "active")
    check(TOKEN not in browser.script("return document.cookie"), "a script can read the session")
    browser.click("#logout")
    browser.until("the question", lambda: browser.find("#token").is_displayed())
    check(not browser.find("#board").is_displayed(), "the board is still shown")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("fanfare")
    arguments.add_argument("--shots", type=pathlib.Path)
    given = arguments.parse_args()
    if given.shots:
        given.shots.mkdir(parents=True, exist_ok=True)
    with Fleet(given.fanfare) as fleet:
        fleet.fill()
        address = fleet.dashboard("dashboard")
        browser = Browser(given.shots)
        try:
            for step in (
                lambda: looks(browser, address),
                lambda: acts(browser, fleet, address),
                lambda: reads(browser, fleet),
                lambda: tabs(browser, address),
            ):
                step()
                complaints = browser.log()
                check(complaints == [], "the console complains: %s" % complaints)
            guards(browser, fleet)
        except BaseException:
            browser.shots = browser.shots or pathlib.Path(".")
            browser.shot("failed")
            raise
        finally:
            browser.close()
    print("%d checks held" % checks)


if __name__ == "__main__":
    sys.exit(main())
