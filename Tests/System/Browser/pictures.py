#!/usr/bin/python3
"""Makes the pictures of the dashboard for README and the page Dashboard, of a fleet that works for four minutes.

    Tests/System/Browser/pictures.py FANFARE FOLDER

FANFARE is the program. Needs what `ops/dev/browser` installs.
"""

import argparse
import pathlib
import subprocess
import sys
import time

from browser import Browser
from fleet import Fleet

# By project, a minute.
QUOTAS = {"shop": 15000, "news": 9000, "games": 6000, "bank": 6000, "weather": 3000, "travel": 3000, "chat": 6000, "fitness": 3000}
MOST_BYTES = 150000


def work(fleet):
    """Campaigns of several projects, one that stops itself, a pause, a hold, and a project whose credentials FCM refuses."""
    fleet.fault("bank", 403, "PERMISSION_DENIED")
    fleet.send("bank", "statement-november", 1800)
    fleet.send("shop", "autumn-sale", 18000, bad=40)
    fleet.send("news", "morning-edition", 50000, bad=90)
    fleet.send("games", "weekend-event", 30000, bad=60)
    fleet.send("weather", "storm-warning", 1200)
    fleet.send("chat", "group-invites", 3000)
    fleet.send("travel", "late-deals", 2500)
    fleet.send("fitness", "spring-challenge", 20000, "--canary", "500", "--stop-if", "unregistered>10%", bad=8)
    time.sleep(60)
    fleet.run("project", "pause", "shop", "--reason", "wrong link in the banner")
    time.sleep(15)
    fleet.run("project", "resume", "shop")
    time.sleep(25)
    fleet.fault("shop", 429, "RESOURCE_EXHAUSTED", times=4, retry_after=15, reason="RATE_LIMIT_EXCEEDED")
    time.sleep(30)
    fleet.send("shop", "black-friday-2026", 60000, bad=40)
    fleet.send("shop", "vip-early-access", 2400, "--priority", "8")
    fleet.send("weather", "frost-tonight", 8000)
    fleet.send("chat", "missed-calls", 5000)
    time.sleep(60)


def shoot(browser, address, folder):
    for name, path, last in (
        ("dashboard-overview", "", ".workers tbody tr"),
        ("dashboard-project", "p/shop", ".joblist li"),
        ("dashboard-job", "p/shop/jobs/black-friday-2026", "#results tbody tr:nth-child(3)"),
    ):
        browser.open(address + path, 1440)
        browser.until(last, lambda: browser.all(last), 300)
        browser.shows("#link", "live")
        # Rates are means of five seconds.
        time.sleep(6)
        browser.script("document.documentElement.style.overflow = 'hidden'")
        bottom = browser.script("return document.querySelector(arguments[0]).getBoundingClientRect().bottom + scrollY", last)
        browser.view(1440, int(bottom) + 16, "light")
        time.sleep(1)
        browser.shot(name)
        picture = folder / (name + ".png")
        subprocess.run(["pngquant", "--force", "--strip", "--speed", "1", "--output", str(picture), "64", str(picture)], check=True)
        if picture.stat().st_size > MOST_BYTES:
            raise AssertionError("%s has %d bytes" % (picture, picture.stat().st_size))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("fanfare")
    arguments.add_argument("folder", type=pathlib.Path)
    given = arguments.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with Fleet(given.fanfare, QUOTAS) as fleet:
        address = fleet.dashboard("dashboard").rstrip("/") + "/"
        work(fleet)
        browser = Browser(given.folder)
        try:
            shoot(browser, address, given.folder)
        finally:
            browser.close()


if __name__ == "__main__":
    sys.exit(main())
