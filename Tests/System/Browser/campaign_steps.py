"""The job page of fan-outs with guards: the guards' rows, the reason of a pause, and how the job continues."""

import datetime
import re

from pages import looks
from session import check, check_console


def campaigns(browser, fleet, address):
    """Each step pushes its jobs to the project `news`, and ends them."""
    for step in (outside_window, held_by_canary, canary_with_wait, stopped_after_canary, stopped_by_sample, rate_above_quota):
        step(browser, fleet, address)
        check_console(browser)


def outside_window(browser, fleet, address):
    """A job outside of its window is waiting, with the opening time; the time has its date if it is far away."""
    for job, hours, form in (("afternoon", 2, "%H:00:00 UTC"), ("tomorrow", 14, "%Y-%m-%d %H:00:00 UTC")):
        opening = hour(hours)
        window = "%s-%s UTC" % (opening.strftime("%H:00"), hour(hours + 2).strftime("%H:00"))
        push(browser, fleet, address, job, "--send-window", window)
        browser.shows(".title .badge", "waiting")
        browser.shows(".facts", "Sends only" + window)
        check_reason(fleet, job, opening.strftime(r"send_window: opens at %Y-%m-%dT%H:00:00\.000Z"))
        browser.shows(".view-why", "It waits: send_window: opens at " + opening.strftime(form))
        cancel(browser, fleet, job)


def held_by_canary(browser, fleet, address):
    """A job with every guard shows them all. Its canary pauses it; Resume sends the rest."""
    window = "%s-%s UTC" % (hour(-2).strftime("%H:00"), hour(2).strftime("%H:00"))
    guards = ("--rate", "12000", "--canary", "100", "--stop-if", "failed>50%; unknown>1%", "--send-window", window)
    push(browser, fleet, address, "careful", *guards)
    browser.shows(".title .badge", "paused")
    check_reason(fleet, "careful", "canary")
    browser.shows(".view-why", "Its canary had its first attempts. The rest goes out when it is resumed.")
    for row in (
        "Rate12,000 first attempts a minute",
        "Canarythe first 100 recipients, then it waits for an operator",
        "Pauses iffailed>50%; unknown>1%",
        "Sends only" + window,
    ):
        browser.shows(".facts", row)
    browser.shows(".large", "100 of 3,000 have a result")
    # The list was empty when the page was opened.
    browser.shows("#results tbody", "UNREGISTERED")
    looks(browser, address, "p/news/jobs/careful", "canary", "Its canary had its first attempts.")
    browser.open(address + "p/news/jobs/careful")
    resume(browser, "careful")
    browser.shows(".title .badge", "active")
    browser.until("recipients after the canary", lambda: int(fleet.redis("HGET", "fanfare:{news}:job:careful", "sent")) > 300)
    browser.until("no canary as the reason", lambda: "canary" not in browser.text(".view-why"))
    cancel(browser, fleet, "careful")


def canary_with_wait(browser, fleet, address):
    """A job whose canary has a time continues without a click."""
    push(browser, fleet, address, "patient", "--canary", "1%", "--canary-wait", "5", count=1000)
    browser.shows(".facts", "Canarythe first 1%, continues after 5 s")
    browser.shows(".view-why", "Its canary had its first attempts. The rest goes out when the canary's time is over.")
    browser.shows(".large", "10 of 1,000 have a result")
    browser.shows(".title .badge", "done")
    browser.shows(".large", "1,000 of 1,000 have a result")


def stopped_after_canary(browser, fleet, address):
    """`stop_if` judges the canary, of which 12 of 100 are unregistered. Resume sends the rest."""
    push(browser, fleet, address, "unlucky", "--canary", "100", "--stop-if", "unregistered>10%", count=1000, bad=8)
    browser.shows(".title .badge", "paused")
    check_reason(fleet, "unlucky", "stop_if: unregistered 12% of 100, more than 10%")
    browser.shows(".view-why", "stop_if: unregistered 12% of 100, more than 10%. Nothing is sent until it is resumed.")
    browser.shows(".facts", "Pauses ifunregistered>10%")
    resume(browser, "unlucky")
    browser.shows(".title .badge", "done")
    browser.shows(".large", "1,000 of 1,000 have a result")


def stopped_by_sample(browser, fleet, address):
    """Without a canary `stop_if` judges the last 1,000 first attempts."""
    push(browser, fleet, address, "doubtful", "--stop-if", "unregistered>10%", bad=8)
    browser.shows(".title .badge", "paused")
    found = check_reason(fleet, "doubtful", r"stop_if: unregistered 1[0-9](\.\d)?% of 1000, more than 10%")
    browser.shows(".view-why", found + ". Nothing is sent until it is resumed.")
    cancel(browser, fleet, "doubtful")


def rate_above_quota(browser, fleet, address):
    """A rate above the quota is the reason of a job that sends. Its tail does not wait for the rate."""
    push(browser, fleet, address, "hasty", "--rate", "40000")
    browser.shows(".facts", "Rate40,000 first attempts a minute")
    browser.shows(".view-why", "rate: 40000 a minute, cut to the project's quota of 30000")
    browser.until("the sends a second", lambda: re.search(r"have a result \(.*\) · \d.*/s$", browser.text(".large")))
    cancel(browser, fleet, "hasty")

    push(browser, fleet, address, "tail", "--rate", "40000", count=100, bad=50, kind="unavailable-9")
    browser.shows(".title .badge", "retrying")
    browser.shows(".view-why", "The first pass is over. The rest waits for its next attempts.")
    check("rate:" not in browser.text(".facts"), "the tail seems to wait for the rate: %s" % browser.text(".facts"))
    cancel(browser, fleet, "tail")


# MARK: What the steps share


def hour(later):
    """The full hour before now, and so many hours later."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return now.replace(minute=0, second=0, microsecond=0) + datetime.timedelta(hours=later)


def push(browser, fleet, address, job, *options, count=3000, bad=3000, kind="unregistered"):
    """Pushes a job and opens its page."""
    fleet.send("news", job, count, *options, bad=bad, kind=kind)
    browser.open(address + "p/news/jobs/" + job)


def check_reason(fleet, job, pattern):
    """The job's hash gives a reason of this form. Returns the reason."""
    reason = fleet.redis("HGET", "fanfare:{news}:job:" + job, "reason")
    check(re.fullmatch(pattern, reason), "the reason of %s is %s" % (job, reason))
    return reason


def resume(browser, job):
    browser.click("button[aria-label='Resume job %s']" % job)
    browser.click("#confirm-yes")


def cancel(browser, fleet, job):
    fleet.run("job", "cancel", job, "--project", "news")
    browser.shows(".title .badge", "cancelled")
