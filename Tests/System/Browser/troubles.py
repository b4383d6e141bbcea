#!/usr/bin/python3
"""Every state of trouble in a real browser: each one is made to happen.

    Tests/System/Browser/troubles.py FANFARE [--shots FOLDER]

FANFARE is the program. Needs what `ops/dev/browser` installs. Ends with 0 if every check held.
"""

from pages import looks
from session import CONTRAST, check, check_console, session

# The port is closed on every machine.
NOWHERE = {"games": "https://localhost:1"}
QUOTAS = {name: 6000 for name in ["shop", "news", "games", "bank", "mail"] + ["quiet-%02d" % number for number in range(35)]}


def fill(fleet):
    fleet.fault("news", 429, "RESOURCE_EXHAUSTED", retry_after=300, reason="RATE_LIMIT_EXCEEDED")
    fleet.fault("bank", 403, "PERMISSION_DENIED")
    # One job stops itself after its canary, the other waits after it.
    fleet.send("shop", "statement", 2000, "--canary", "50", "--stop-if", "unregistered>10%", bad=8)
    fleet.send("shop", "patient", 2000, "--canary", "50")
    fleet.redis("XADD", "fanfare:{shop}:jobs", "*", "id", "broken", "token", "t", "message", "no JSON")
    for project in ("shop", "news", "games", "bank"):
        fleet.send(project, project + "-campaign", 20000)
    rows = " ".join("t%d" % row for row in range(30000))
    fleet.redis("RPUSH", "{mail}:readers", *rows.split())
    fleet.run("send", "--project", "mail", "--audience", "{mail}:readers", "--title", "x", "--id", "digest")
    fleet.wait_for("the digest", lambda: int(fleet.redis("HGET", "fanfare:{mail}:job:digest", "sent") or 0) > 0)
    # A job whose audience changes is parked.
    fleet.redis("LPOP", "{mail}:readers", "10")


def states(browser, fleet, address):
    """The overview lists each trouble; the page of its project says the reason."""
    browser.open(address, 1440, 900)
    for word, project in (("held", "news"), ("blocked", "bank"), ("unreachable", "games"), ("parked", "mail")):
        browser.until("%s: %s" % (project, word), lambda: any(project in row.text and word in row.text for row in browser.all(".troubles li")), 180)
    stopped = "statement stopped itself: 12 % UNREGISTERED, 1,950 wait"
    browser.shows(".troubles", stopped)
    browser.shows(".troubles", "patient has finished its canary: 1 of 50 failed, 2 %, 1,950 wait")
    rejected = "broken is rejected: message"
    browser.shows(".troubles", rejected)
    for scheme in ("light", "dark"):
        for width, height in ((1440, 900), (800, 900), (390, 844)):
            browser.view(width, height, scheme)
            browser.shot("trouble-%d-%s" % (width, scheme))
            # Nothing that is trouble is below the fold.
            bottom = browser.script("scrollTo(0, 0); return document.querySelector('.attention').getBoundingClientRect().bottom")
            check(bottom <= height, "trouble ends at %d of %d px" % (bottom, height))
            check(browser.script(CONTRAST) == [], "hard to read: %s" % browser.script(CONTRAST))
    for project, sign in (("news", "FCM asked to wait"), ("bank", "PERMISSION_DENIED"), ("games", "connect")):
        browser.open(address + "p/" + project, 1440, 1000)
        browser.shows(".view-why", sign)
        browser.until("the charts", lambda: browser.all(".plot .grid text"))
        browser.shot("trouble-" + project)
        browser.open(address + "p/%s/jobs/%s-campaign" % (project, project), 1440, 900)
        browser.shows("#view", "have a result")
        browser.shot("trouble-%s-job" % project)
    browser.open(address + "p/shop/jobs/statement", 1440, 900)
    browser.shows("table[aria-label=Errors]", "6 of 50 (12 %)")
    browser.open(address, 1440, 900)
    browser.click("[aria-label='Resume job statement of shop']")
    browser.click("#confirm-yes")
    browser.until("the job is resumed", lambda: stopped not in browser.text(".troubles"))
    browser.click("[aria-label='Drop job broken of shop']")
    browser.click("#confirm-yes")
    browser.until("the job is dropped", lambda: rejected not in browser.text(".troubles"))
    browser.open(address + "p/mail/jobs/digest", 1440, 900)
    browser.shows(".view-why", "audience")
    browser.shot("trouble-parked-job")
    browser.open(address + "p/mail/dead")
    browser.shows(".entries", "digest")
    browser.shot("trouble-parked")


def lost_worker(browser, fleet, address):
    """A worker is killed in the middle of jobs, and another one takes its batches over."""
    fleet.end("worker")
    fleet.worker("heir")
    job = "fanfare:{shop}:job:shop-campaign"
    browser.until("possible duplicates", lambda: int(fleet.redis("HGET", job, "maybe_dup")) > 0, 180)
    browser.open(address + "p/shop", 1440, 2400)
    browser.shows(".events", "Worker lost: worker.")
    browser.shows(".events", "Batches taken over: by heir.")
    browser.shows("#view", "may have got it twice")
    browser.until("the flag", lambda: browser.all(".plot .mark.lost"))
    browser.open(address + "p/shop/jobs/shop-campaign", 1440, 900)
    browser.shows(".notice", "may have got it twice")
    browser.click(".notice button")
    browser.until("the filter", lambda: browser.find("#result-twice").is_selected())
    browser.until("flagged results only", lambda: {True} == {"(maybe twice)" in row.text for row in browser.all("#results tbody tr")})
    for path, name in (("p/shop", "lost-worker"), ("p/shop/jobs/shop-campaign", "maybe-dup")):
        looks(browser, address, path, name, "may have got it twice")


def pressure(browser, fleet, address):
    """Redis is nearly full, and then FCM is gone."""
    browser.open(address, 1440, 900)
    used = int(fleet.redis("INFO", "memory").split("used_memory:")[1].split()[0])
    fleet.redis("CONFIG", "SET", "maxmemory", str(int(used * 1.02)))
    browser.shows(".troubles", "backpressure", 120)
    browser.shot("trouble-backpressure")
    fleet.redis("CONFIG", "SET", "maxmemory", "0")
    browser.until("it is over", lambda: "backpressure" not in browser.text(".troubles"), 120)
    fleet.end("sandbox")
    browser.until("shop", lambda: any("shop" in row.text and "unreachable" in row.text for row in browser.all(".troubles li")), 180)
    browser.shot("trouble-unreachable")
    browser.open(address + "p/shop/jobs/shop-campaign", 1440, 900)
    browser.shows("#view", "have a result")
    browser.shot("trouble-unreachable-job")


def no_worker(browser, fleet, address):
    """One line says that no worker is alive, in place of a line for each project."""
    browser.open(address, 1440, 900)
    check(browser.text(".alarm") == "", "a worker is alive")
    fleet.end("worker")
    browser.shows(".alarm", "No worker is alive: nothing is sent.", 120)
    check("unserved" not in browser.text(".troubles"), "projects are unserved one by one")
    for width, scheme in ((1440, "light"), (800, "dark"), (390, "light")):
        browser.view(width, 900, scheme)
        browser.shot("trouble-no-worker-%d-%s" % (width, scheme))


def main():
    with session(fill, QUOTAS, NOWHERE, failed="failed-troubles") as (browser, fleet, address):
        states(browser, fleet, address)
        lost_worker(browser, fleet, address)
        pressure(browser, fleet, address)
        no_worker(browser, fleet, address)
        check_console(browser)


if __name__ == "__main__":
    main()
