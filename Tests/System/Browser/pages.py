#!/usr/bin/python3
"""The project page and the job page in a real browser, with a million-recipient job.

    Tests/System/Browser/pages.py FANFARE [--shots FOLDER]

FANFARE is the program. Needs what `ops/dev/browser` installs. Ends with 0 if every check held.
"""

import time

from browser import Keys
from session import CONTRAST, check, check_console, session

MILLION = "everyone-2026-spring-campaign"


# Scales, ticks, gaps and empty data, computed by the page's own module.
CHARTS = """
const done = arguments[arguments.length - 1];
import(new URL('charts.js', document.baseURI)).then((c) => {
  const wrong = [];
  const same = (what, got, wanted) => { if (JSON.stringify(got) !== JSON.stringify(wanted)) wrong.push(`${what}: ${JSON.stringify(got)}`); };
  same('empty scale', c.valueTicks(0), [0, 0.5, 1]);
  same('whole scale', c.valueTicks(0, { isWhole: true }), [0, 1]);
  same('scale', c.valueTicks(480), [0, 200, 400, 600]);
  same('no number', c.valueTicks(NaN), [0, 0.5, 1]);
  same('times', c.timeTicks(0, 3600000, 4), [0, 900000, 1800000, 2700000, 3600000]);
  same('no time', c.timeTicks(5, 5), []);
  same('gaps', c.runs([0, 10, 20, 60, 70], [1, null, 2, 3, 4], 25), [[0], [2], [3, 4]]);
  same('empty runs', c.runs([], [], 1), []);
  same('nearest', [c.nearest([], 1), c.nearest([0, 10, 20], 14), c.nearest([0, 10, 20], 99)], [-1, 1, 2]);
  const bar = (values) => ({ kind: 'bar', values });
  same('stack', c.bases([bar([1, null]), bar([2, 3])], 2), [[0, 0], [1, 0]]);
  same('top of a stack', c.highest([bar([1, 2]), bar([2, 3])], 2), 5);
  const limit = { kind: 'limit', values: [1000, 1000] };
  same('a far limit', c.highest([{ kind: 'line', values: [10, 20] }, limit], 2), 20);
  same('a near limit', c.highest([{ kind: 'line', values: [10, 400] }, limit], 2), 1000);
  same('empty words', c.summary({ times: [], series: [] }, c.UNITS.second), 'No data in this time.');
  const data = { from: 0, to: 60000, times: [0, 1, 2], series: [{ label: 'sent', kind: 'line', values: [5, null, 7] }] };
  same('words', c.summary(data, c.UNITS.second), 'From 00:00:00 to 00:01:00 UTC. sent: lowest 5/s, highest 7/s, last 7/s.');
  done(wrong);
}, (error) => done([String(error)]));
"""

NAMES = """
const names = [...document.querySelectorAll('#view button, #view a.button, #view select, #view .plot')].filter(n => n.checkVisibility())
  .map(n => n.getAttribute('aria-label') ?? n.labels?.[0]?.textContent ?? n.textContent.trim());
return names.filter((name, index) => !name || names.indexOf(name) !== index);
"""

SMALL = """
return [...document.querySelectorAll('#view button, #view a.button, #view select, #view summary')]
  .filter(n => n.checkVisibility() && n.getBoundingClientRect().height < 43.5).map(n => n.textContent.slice(0, 20));
"""


def looks(browser, address, path, name, wait):
    """Wide, middle and narrow, light and dark: nothing sticks out, everything can be read and touched."""
    for width, height in ((1440, 1100), (800, 1000), (390, 844)):
        for scheme in ("light", "dark"):
            browser.open(address + path, width, height, scheme)
            browser.shows("#view", wait)
            browser.until("the charts", lambda: not browser.all(".plot") or browser.all(".plot .grid text"))
            wide = browser.script("return document.scrollingElement.scrollWidth - document.documentElement.clientWidth")
            check(wide <= 0, "%s is %d px too wide at %d" % (path, wide, width))
            for script, what in ((CONTRAST, "text that is hard to read"), (NAMES, "names that are not unique")):
                found = browser.script(script)
                check(found == [], "%s of %s at %d: %s" % (what, path, width, found))
            if width == 390:
                small = browser.script(SMALL)
                check(small == [], "controls below 44 px: %s" % small)
            browser.shot("%s-%d-%s" % (name, width, scheme))


def project(browser, fleet, address):
    """Charts with values by keyboard, the span in the address, and jobs that are over."""
    browser.open(address + "p/nowhere")
    browser.shows("#view", "Redis holds nothing about project nowhere")
    check(not [one for one in browser.all("#view section.card") if one.is_displayed()], "an unknown project has charts")
    browser.open(address + "p/demo")
    browser.shows("#view", "spring-sale")
    browser.driver.set_script_timeout(30)
    wrong = browser.driver.execute_async_script(CHARTS)
    check(wrong == [], "the charts compute something else: %s" % wrong)
    browser.until("a curve", lambda: browser.all(".plot path.line.sent[d^='M']"))
    plot = browser.find(".plot")
    plot.send_keys(Keys.END)
    first = plot.get_attribute("aria-valuetext")
    plot.send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    second = plot.get_attribute("aria-valuetext")
    check("UTC: sent" in first and first != second, "the arrow keys do not move: %s, %s" % (first, second))
    check("quota 500/s" in browser.text(".legend"), "the quota is not shown")
    check("lowest" in browser.text("#chart-throughput"), "the chart has no text for people who do not see it")
    browser.click(".choice[aria-label='Time shown'] button:nth-child(2)")
    check("span=1h" in browser.driver.current_url, "the span is not in the address")
    browser.click(".choice[aria-label='Jobs shown'] button:last-child")
    check("jobs=over" in browser.driver.current_url, "the list is not in the address")
    browser.driver.refresh()
    browser.until("the chosen span", lambda: browser.find(".choice [aria-pressed=true]").text == "1 h")
    # Newer than the rejected jobs, of which the list holds the last 1,000.
    fleet.run("send", "--project", "news", "--token", "one", "--title", "x", "--id", "evening", "--wait")
    browser.open(address + "p/news?jobs=over")
    browser.shows("table[aria-label='Jobs that are over']", "evening")
    browser.shot("project-over")

    browser.open(address + "p/news")
    browser.click("button[aria-label='Pause project news']")
    browser.until("a question", lambda: browser.find("#confirm-input").is_displayed())
    browser.press("ticket 4711", Keys.ENTER)
    browser.shows("#view .title", "paused")
    browser.shows("#view", "ticket 4711")
    browser.click("button[aria-label='Resume project news']")
    browser.click("#confirm-yes")
    browser.until("it continues", lambda: fleet.redis("HGET", "fanfare:{news}:ctl", "pause") == "")


def job(browser, fleet, address):
    """A small job and one to a million recipients: equally quick, results by filter, page and download, actions."""
    took = {}
    for name, count in (("morning", "230"), (MILLION, "1,000,000")):
        start = time.monotonic()
        browser.open(address + "p/news/jobs/" + name)
        browser.shows("#view", "of %s have a result" % count)
        browser.shows("#results", "on this page")
        took[name] = time.monotonic() - start
    check(took[MILLION] < took["morning"] + 1, "the large job is slow: %s" % took)
    browser.until("live figures", lambda: browser.script("return window.seen !== (window.seen ??= document.querySelector('.large').textContent)") or
                  browser.script("return window.seen !== document.querySelector('.large').textContent"))

    browser.open(address + "p/news/jobs/morning")
    browser.shows("#view", "done")
    check("Taken by a worker" not in browser.find("#view").text, "the time of the push is shown as that of intake")
    browser.shows("#view", "Pushed")
    browser.shows("#results", "100 on this page")
    browser.click("#results .actions:last-child button:last-child")
    browser.shows("#results tbody tr:first-child", "100")
    browser.script("const s = document.getElementById('result-status'); s.value = 'failed'; s.dispatchEvent(new Event('change'))")
    browser.shows("#results", "33 on this page")
    browser.shows("#results tbody", "Remove the token")
    for kind, lines in (("ndjson", 33), ("csv", 34)):
        link = browser.find("#results a[href*='results.%s']" % kind).get_attribute("href")
        text = browser.driver.execute_async_script("fetch(arguments[0]).then(r => r.text()).then(arguments[1])", link)
        check(len(text.split("\n")) == lines + 1, "%s has %d lines" % (kind, len(text.split("\n"))))

    browser.open(address + "p/news/jobs/" + MILLION)
    for word, state in (("Pause", "paused"), ("Resume", "active"), ("Cancel", "cancelled")):
        browser.click("button[aria-label='%s job %s']" % (word, MILLION))
        browser.until("a question", lambda: browser.find("#confirm-input").is_displayed())
        browser.find("#confirm-input").send_keys("because of 4711")
        browser.click("#confirm-yes")
        # A worker ends a million recipients a thousand at a time.
        browser.shows("#view .title", state, seconds=300)
        check(fleet.redis("HGET", "fanfare:{news}:job:" + MILLION, "state") in (state, "waiting"), "it is not " + state)


def audit(browser, address):
    """Each change of the steps before is listed with its target and its reason."""
    browser.open(address + "p/news/audit")
    rows = lambda: [row.text.replace("\n", " ") for row in browser.all(".audit tbody tr")]
    wanted = [("Paused project", "news", "ticket 4711"), ("Resumed project", "news", "–")]
    wanted += [(word + " job", MILLION, "because of 4711") for word in ("Paused", "Resumed", "Cancelled")]
    for words in wanted:
        browser.until(" ".join(words), lambda: any(all(word in row for word in words) for row in rows()))
    browser.shot("audit-filled")


def others(browser, fleet, address):
    """A job that is rejected, unknown, or pushed to a project without a worker says so, and what to do."""
    browser.open(address + "p/news/jobs/refused-1")
    browser.shows("#view", "Nothing was sent.")
    check(browser.find("#view a[href='p/news/dead']").is_displayed(), "no link to the dead jobs")
    check(browser.script("return window.hacked") is None, "text of a job was run")
    browser.open(address + "p/news/jobs/nobody")
    browser.shows("#view", "Nothing is known about a job nobody")
    fleet.redis("SADD", "fanfare:projects", "quiet")
    fleet.redis("XADD", "fanfare:{quiet}:jobs", "*", "token", "t", "id", "early", "message", "{}")
    browser.open(address + "p/quiet/jobs/early")
    browser.shows("#view", "no worker has taken it yet")
    browser.shows("#view", "fanfare worker")
    # The browser logs each 404 by itself.
    check_console(browser, "404")


def fill(fleet):
    fleet.fill()
    tokens = fleet.folder / "million"
    tokens.write_text("\n".join("sbx-unregistered-%d" % row if row % 50 == 0 else "everyone-%d" % row for row in range(1000000)))
    fleet.run("send", "--project", "news", "--tokens-file", str(tokens), "--title", "x", "--id", MILLION)
    fleet.wait_for("its results", lambda: int(fleet.redis("HGET", "fanfare:{news}:job:" + MILLION, "failed") or 0) > 0)


def main():
    with session(fill) as (browser, fleet, address):
        for step in (
            lambda: looks(browser, address, "p/demo", "project", "spring-sale"),
            lambda: looks(browser, address, "p/news/jobs/" + MILLION, "job", "on this page"),
            lambda: project(browser, fleet, address),
            lambda: job(browser, fleet, address),
            lambda: audit(browser, address),
        ):
            step()
            check_console(browser)
        others(browser, fleet, address)


if __name__ == "__main__":
    main()
