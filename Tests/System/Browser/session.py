"""What the scripts of this folder share: their arguments, a fleet with a browser before it, and checks that are counted."""

import argparse
import contextlib
import pathlib

from browser import Browser
from fleet import Fleet

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
