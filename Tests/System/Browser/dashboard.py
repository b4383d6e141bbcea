#!/usr/bin/python3
"""The dashboard in a real browser: what it shows, what its buttons do, by mouse and by keyboard.

    Tests/System/Browser/dashboard.py FANFARE [--shots FOLDER]

FANFARE is the program. Needs what `ops/dev/browser` installs. Ends with 0 if every check held.
"""

import jobs_steps
import overview_steps as steps
from campaign_steps import campaigns
from session import check_console, session

TOKEN = "a-token-for-the-browser"


def main():
    with session(lambda fleet: fleet.fill()) as (browser, fleet, address):
        for step in (
            lambda: steps.first_data(browser, address),
            lambda: steps.weights(browser, address),
            lambda: steps.looks(browser, address),
            lambda: steps.overview(browser, address),
            lambda: steps.keeps_focus(browser, address),
            lambda: steps.dead(browser, fleet, address),
            lambda: steps.story(browser, address),
            lambda: jobs_steps.jobs(browser, fleet, address),
            lambda: jobs_steps.runbook(browser, address),
            lambda: jobs_steps.redis(browser, fleet, address),
            lambda: campaigns(browser, fleet, address),
        ):
            step()
            check_console(browser)
        steps.guards(browser, fleet, TOKEN)


if __name__ == "__main__":
    main()
