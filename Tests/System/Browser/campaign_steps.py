"""The job page of fan-outs that guard themselves: what holds them, and how they go on."""

import datetime

from session import check_console


def hours(first, last):
    """A send window from so many to so many hours after now."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return "-".join((now + datetime.timedelta(hours=later)).strftime("%H:00") for later in (first, last)) + " UTC"


def campaigns(browser, fleet, address):
    """A fan-out outside of its window, one that its canary holds, and one that its stop condition holds."""

    def push(job, bad, *options):
        fleet.send("news", job, 3000, *options, bad=bad)
        browser.open(address + "p/news/jobs/" + job)

    later = hours(2, 4)
    push("tomorrow", 3000, "--send-window", later)
    browser.shows(".title", "waiting")
    browser.shows(".view-why", "It waits: send_window: opens at %s:00" % later[:5])
    browser.shows(".facts", "Sends only" + later)
    check_console(browser)

    window = hours(-2, 2)
    guards = ("--rate", "12000", "--canary", "100", "--stop-if", "failed>50%; unknown>1%", "--send-window", window)
    push("careful", 3000, *guards)
    browser.shows(".title", "paused")
    browser.shows(".view-why", "Its canary had its first attempts. The rest goes out when it is resumed.")
    for row in (
        "Rate12,000 first attempts a minute",
        "Canarythe first 100 recipients, then it waits for a person",
        "Pauses iffailed>50%; unknown>1%",
        "Sends only" + window,
    ):
        browser.shows(".facts", row)
    browser.shows(".large", "100 of 3,000 have a result")
    # The list was empty when the page was opened.
    browser.shows("#results tbody", "UNREGISTERED")
    browser.shot("canary")
    browser.click("button[aria-label='Resume job careful']")
    browser.click("#confirm-yes")
    browser.shows(".title", "active")
    browser.until("recipients behind the canary", lambda: int(fleet.redis("HGET", "fanfare:{news}:job:careful", "sent")) > 300)
    fleet.run("job", "cancel", "careful", "--project", "news")
    browser.shows(".title", "cancelled")
    check_console(browser)

    push("doubtful", 8, "--stop-if", "unregistered>10%")
    browser.shows(".title", "paused")
    browser.shows(".view-why", "stop_if: unregistered ")
    browser.shows(".view-why", ", more than 10%. Nothing is sent until it is resumed.")
    browser.shows(".facts", "Pauses ifunregistered>10%")
    check_console(browser)
    for job in ("tomorrow", "doubtful"):
        fleet.run("job", "cancel", job, "--project", "news")
