"""The page of the jobs of all projects, the Runbook, and the page of Redis."""

from browser import Keys
from session import check, check_console


def rows(browser):
    return [row.text for row in browser.all(".jobs tbody tr")]


def jobs(browser, fleet, address):
    """The tiles lead to the list; the address keeps it; several jobs are paused and resumed with one question."""
    state = lambda job: fleet.redis("HGET", "fanfare:{demo}:job:" + job, "state")
    browser.open(address)
    browser.until("the tiles", lambda: browser.all(".figures a[href='jobs']"))
    browser.click(".figures a[href='jobs']")
    browser.until("the jobs", lambda: any("newsletter-7" in row for row in rows(browser)))
    browser.find("#find").send_keys("NEWSLETTER")
    browser.until("one job", lambda: len(rows(browser)) == 1)
    check("find=NEWSLETTER" in browser.driver.current_url, "the address does not keep the search")
    browser.driver.refresh()
    browser.until("one job after a reload", lambda: len(rows(browser)) == 1)
    browser.find("#find").clear()
    browser.find("#find").send_keys("w")
    browser.until("more jobs", lambda: len(rows(browser)) > 1)

    browser.click("#all")
    browser.shows(".bulk", "Pause 2")
    browser.click(".bulk button")
    browser.until("a question", lambda: browser.find("#confirm").is_displayed())
    check("Pause 2 jobs of project demo?" == browser.text("#confirm-title"), "the question is: %s" % browser.text("#confirm-title"))
    browser.shot("jobs-question")
    browser.press("wrong link", Keys.ENTER)
    browser.shows("#said", "2 jobs paused")
    check(state("newsletter-7") == state("weather") == "paused", "they run")
    browser.open(address + "jobs?tab=paused")
    browser.until("two paused jobs", lambda: len(rows(browser)) == 2)
    browser.shows(".jobs", "paused by an operator: wrong link")
    browser.click("#all")
    browser.click(".bulk button:nth-of-type(2)")
    browser.until("a question", lambda: browser.find("#confirm").is_displayed())
    browser.press(Keys.ENTER)
    browser.until("no paused job", lambda: rows(browser) == [] or not browser.find(".sheet").is_displayed())
    check("paused" not in (state("newsletter-7"), state("weather")), "they are paused")

    browser.open(address + "jobs?tab=needing")
    browser.shows(".notice", "news {:,}".format(int(fleet.redis("XLEN", "fanfare:{news}:dead"))))
    browser.find("#job-id").send_keys("newsl", Keys.ENTER)
    browser.until("the job of that part", lambda: len(rows(browser)) == 1 and "newsletter-7" in rows(browser)[0])
    browser.find("#job-id").clear()
    browser.find("#job-id").send_keys("newsletter-7", Keys.ENTER)
    browser.shows("h1", "newsletter-7")


def runbook(browser, address):
    """The pages of the Runbook lead to each other."""
    browser.open(address + "runbook")
    browser.click(".page a[href='runbook/FanfareJobStopped']")
    browser.shows("h1", "FanfareJobStopped")
    browser.shows(".page li", "The reason begins with stop_if")
    check("`" not in browser.text(".page") and "](" not in browser.text(".page"), "the text has marks of Markdown")
    browser.click(".page a[href='runbook/FanfareMaybeDuplicates']")
    browser.shows("h1", "FanfareMaybeDuplicates")
    browser.open(address + "runbook/FanfareNothing")
    browser.shows("#view", "The Runbook has no page FanfareNothing")
    check_console(browser, "api/runbook/FanfareNothing")


def redis(browser, fleet, address):
    """Redis without an append-only file is named with the remedy; with one, the check is ok."""
    browser.open(address + "redis")
    browser.shows(".checks", "appendonly yes")
    browser.shows(".figures", "noeviction")
    fleet.redis("CONFIG", "SET", "appendonly", "yes")
    browser.shows(".checks", "append-only file, appendfsync everysec")
    browser.open(address)
    browser.shows(".chart", "accepted")
