#!/usr/bin/python3
"""Every state of trouble in a real browser: each one is made to happen.

    Tests/System/Browser/troubles.py FANFARE [--shots FOLDER]

FANFARE is the program. Needs what `ops/browser` installs. Ends with 0 if every check held.
"""

from session import check_console, session

# The port is closed on every machine.
NOWHERE = {"games": "https://localhost:1"}
QUOTAS = {"shop": 6000, "news": 6000, "games": 6000, "bank": 6000, "mail": 6000}


def fill(fleet):
    fleet.fault("news", 429, "RESOURCE_EXHAUSTED", retry_after=300, reason="RATE_LIMIT_EXCEEDED")
    fleet.fault("bank", 403, "PERMISSION_DENIED")
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
    for width, scheme in ((1440, "light"), (800, "dark"), (390, "light")):
        browser.view(width, 900, scheme)
        browser.shot("trouble-%d-%s" % (width, scheme))
    for project, sign in (("news", "FCM asked to wait"), ("bank", "PERMISSION_DENIED"), ("games", "connect")):
        browser.open(address + "p/" + project, 1440, 1000)
        browser.shows(".view-why", sign)
        browser.until("the charts", lambda: browser.all(".plot .grid text"))
        browser.shot("trouble-" + project)
        browser.open(address + "p/%s/jobs/%s-campaign" % (project, project), 1440, 900)
        browser.shows("#view", "have a result")
        browser.shot("trouble-%s-job" % project)
    browser.open(address + "p/mail/jobs/digest", 1440, 900)
    browser.shows(".view-why", "audience")
    browser.shot("trouble-parked-job")
    browser.open(address + "p/mail/dead")
    browser.shows(".entries", "digest")
    browser.shot("trouble-parked")


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


def main():
    with session(fill, QUOTAS, NOWHERE, failed="failed-troubles") as (browser, fleet, address):
        states(browser, fleet, address)
        pressure(browser, fleet, address)
        check_console(browser)


if __name__ == "__main__":
    main()
