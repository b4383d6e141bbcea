"""The overview, the dead jobs, the token and the audit list in a browser, with 200 projects and 5,000 dead jobs."""

import statistics

from browser import Keys
from fleet import DEAD, HOSTILE, PROJECTS
from session import CONTRAST, check, check_console

NAMES = """
const name = (n) => n.getAttribute('aria-label') || [...(n.labels ?? [])].map(l => l.textContent).join(' ') || n.textContent.trim();
const seen = new Map();
for (const n of document.querySelectorAll('button, input, select, textarea, progress, svg[role=img]')) {
  if (n.checkVisibility() && n.tagName !== 'svg') seen.set(name(n), (seen.get(name(n)) ?? 0) + 1);
}
return [...seen].filter(([name, count]) => !name || count > 1).map(([name, count]) => `${name}: ${count}`);
"""
SMALL = """
return [...document.querySelectorAll('button, main a, nav a, select, input:not([type=checkbox])')].filter(n => n.checkVisibility())
  .filter(n => n.getBoundingClientRect().height < 43.5 && !n.classList.contains('skip')).map(n => n.outerHTML.slice(0, 90));
"""
BROKEN = """
return [...document.querySelectorAll('.badge')].filter(n => n.checkVisibility() && n.getClientRects().length > 1).length;
"""
# When the first row of a project is in the page, in milliseconds since the address was opened.
WATCH = """
new MutationObserver((_, observer) => {
  if (!document.querySelector('.projects tbody tr')) return;
  window.firstRow = performance.now();
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });
"""


def looks(browser, address):
    """Wide and narrow, light and dark: nothing sticks out, everything can be read, every control has a name."""
    pages = {"overview": ("", ".projects tbody tr"), "jobs": ("jobs", ".jobs tbody tr"), "redis": ("redis", ".checks tbody tr"), "runbook": ("runbook/FanfareJobStopped", ".page li"), "dead": ("p/news/dead", ".entry"), "token": ("token", "#story-token"), "audit": ("audit", "h1")}
    for width in (1440, 800, 390):
        for scheme in ("light", "dark"):
            for page, (path, sign) in pages.items():
                browser.open(address + path, width, 1000, scheme)
                browser.shows("#link", "live")
                browser.until(sign, lambda: browser.all(sign))
                browser.shot("%s-%d-%s" % (page, width, scheme))
                where = "%s at %d, %s" % (page, width, scheme)
                wide = browser.script("return document.scrollingElement.scrollWidth - window.innerWidth")
                check(wide <= 0, "%s is %d px too wide" % (where, wide))
                sheets = browser.script("return [...document.querySelectorAll('.sheet')].filter(n => n.scrollWidth > n.clientWidth).length")
                check(sheets == 0, "%s: a table is cut" % where)
                check(browser.script(CONTRAST) == [], "%s: hard to read: %s" % (where, browser.script(CONTRAST)))
                check(browser.script(NAMES) == [], "%s: names: %s" % (where, browser.script(NAMES)[:5]))
                check(browser.script(BROKEN) == 0, "%s: a badge is broken" % where)
                if width == 390:
                    check(browser.script(SMALL) == [], "%s: small targets: %s" % (where, browser.script(SMALL)[:3]))
    check("accepted by FCM" in browser.text("footer"), "what `sent` means is not said")


def first_data(browser, address):
    """The time until the first project of 200 is shown."""
    browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    times = []
    for _ in range(9):
        browser.open(address, 1440, 1000)
        browser.until("the rows", lambda: len(browser.all(".projects tbody tr")) == PROJECTS)
        times.append(browser.script("return window.firstRow"))
    print("first data of %d projects: median %.0f ms, %s" % (PROJECTS, statistics.median(times), sorted(round(time) for time in times)))
    # The goal is 300 ms on a quiet machine; a debug build on a busy one takes longer.
    check(min(times) < 1000, "the first data comes after %s ms" % times)


def weights(browser, address):
    """Each address loads less than 100 kB of page."""
    for path in ("", "jobs", "redis", "runbook", "p/news", "p/news/jobs/morning", "p/news/dead", "token", "audit"):
        browser.open(address + path, 1440, 1000)
        browser.shows("#link", "live")
        browser.until("the view", lambda: browser.all("#view *"))
        size = weight(browser)
        print("/%s: %d bytes" % (path, size))
        check(0 < size < 100000, "/%s has %d bytes" % (path, size))


def weight(browser):
    return browser.script("return performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))"
                          ".filter(e => !e.name.includes('/api/')).reduce((sum, e) => sum + e.decodedBodySize, 0)")


def overview(browser, address):
    """Trouble stands on top; the address keeps order and search; Back and reload come back to them."""
    browser.open(address)
    browser.shows(".troubles", "no worker serves")
    browser.shows(".figures", "Jobs pushed, not taken")
    browser.click(".projects th:nth-child(8) .sort")
    check("sort=dead" in browser.driver.current_url, "the address does not keep the order")
    browser.until("the order", lambda: browser.text(".projects tbody tr:first-child th") == "news")
    browser.find("#find").send_keys("new")
    browser.until("one row", lambda: len(browser.all(".projects tbody tr")) == 1)
    focus = browser.script("return document.activeElement.id")
    browser.driver.refresh()
    browser.until("one row after a reload", lambda: len(browser.all(".projects tbody tr")) == 1 and browser.find("#find").get_attribute("value") == "new")
    check(focus == "find", "the field lost the focus")
    browser.click(".projects tbody td:last-child a")
    browser.shows("h1", "Dead jobs of news")
    check(browser.driver.current_url.endswith("/p/news/dead"), "the address is %s" % browser.driver.current_url)
    browser.driver.back()
    browser.until("the search after Back", lambda: len(browser.all(".projects tbody tr")) == 1)
    browser.driver.forward()
    browser.shows("h1", "Dead jobs of news")
    browser.driver.get(address + "p/news/nothing")
    browser.shows("h1", "Nothing here")


def keeps_focus(browser, address):
    """A link keeps the focus while rows are updated and sorted."""
    browser.open(address + "?sort=rate")
    browser.until("the rows", lambda: len(browser.all(".projects tbody tr")) == PROJECTS)
    browser.script("[...document.querySelectorAll('.projects th a')].find(n => n.textContent === 'demo').focus()")
    moment = browser.text(".projects tbody tr:has(:focus) td:nth-child(5)")
    browser.until("an update", lambda: browser.text(".projects tbody tr:has(:focus) td:nth-child(5)") != moment)
    check(browser.script("return document.activeElement.textContent") == "demo", "the focus was lost")


def dead(browser, fleet, address):
    """Pages of 5,000 entries, the fields, the edited push, and dropping."""
    count = lambda: int(fleet.redis("XLEN", "fanfare:{news}:dead"))
    browser.open(address + "p/news/dead")
    browser.shows("main", "{:,} dead jobs in all".format(DEAD))
    check(HOSTILE in browser.text(".entries"), "the name of a field is not shown")
    browser.click("main > #view > .actions a:last-child")
    browser.until("older entries", lambda: "before=" in browser.driver.current_url and browser.all(".entry"))
    browser.driver.back()
    browser.until("the newest", lambda: "refused-0" in browser.text(".entries h2"))
    browser.click(".choices a:nth-child(3)")
    browser.shows("main", "parked")
    browser.driver.back()

    browser.click("button[aria-label='Edit and push again job refused-0']")
    browser.until("the form", lambda: browser.find(".editor").is_displayed())
    fault = browser.find(".editor > :first-child")
    check("faulty" in fault.get_attribute("class") and HOSTILE in fault.text, "the faulty field is not first: " + fault.text)
    check("unknown field" in fault.text, "the reason does not stand at its field: " + fault.text)
    message = browser.find(".editor textarea[id$='-message']").get_attribute("value")
    check(message.startswith("{\n  "), "the message is not formatted: " + message)
    browser.shot("edit")
    browser.find(".editor .primary").send_keys(Keys.ENTER)
    browser.shows(".editor > .wrong", "Nothing was changed")
    browser.script("[...document.querySelectorAll('.editor .edit')].find(n => n.textContent.includes('<img')).querySelector('[type=checkbox]').click()")
    browser.find(".editor .primary").send_keys(Keys.ENTER)
    browser.until("a question", lambda: browser.find("#confirm-input").is_displayed())
    browser.press("typo", Keys.ENTER)
    browser.shows("#said", "was pushed again")
    fleet.wait_for("its end", lambda: fleet.redis("HGET", "fanfare:{news}:job:refused-0", "state") == "done")
    check(count() == DEAD - 1, "the edited entry did not leave")

    browser.click("button[aria-label='Drop job refused-1']")
    browser.until("a question", lambda: browser.find("#confirm").is_displayed())
    browser.shot("confirm")
    browser.click("#confirm-no")
    check(count() == DEAD - 1, "it was dropped though the user declined")
    browser.click("button[aria-label='Drop job refused-1']")
    browser.find("#confirm-input").send_keys("ticket 7")
    browser.click("#confirm-yes")
    browser.until("one less", lambda: count() == DEAD - 2)
    browser.until("it left the list", lambda: "refused-1" not in browser.text(".entries h2").split("\n"))
    check(browser.script("return window.hacked") is None, "text of a job was run")
    browser.open(address + "audit")
    browser.shows(".audit", "ticket 7")
    browser.shows(".audit", "Edited and pushed again")
    browser.shot("audit")


def story(browser, address):
    """What happened to a token; the address never holds it."""
    browser.open(address + "token")
    browser.until("the form", lambda: browser.find("#story-token").is_displayed())
    browser.find("#story-token").send_keys("sbx-unregistered-0", Keys.ENTER)
    browser.shows(".stories", "UNREGISTERED")
    browser.shows(".stories", "morning")
    check("`" not in browser.text(".stories"), "backticks of a note are shown")
    check("sbx-unregistered-0" not in browser.driver.current_url + browser.text(".stories"), "the token is shown")
    browser.shot("story")


def guards(browser, fleet, token):
    """Read-only; and with a token, below the prefix of a proxy."""
    browser.open(fleet.dashboard("read-only", "--read-only") + "/p/news/dead")
    browser.until("the entries", lambda: browser.all(".entry"))
    check(browser.find("#read-only").is_displayed(), "it does not say that it is read-only")
    check(browser.all(".entry button") == [], "there are buttons that cannot work")
    check_console(browser)

    address = fleet.proxy(fleet.dashboard("token", "--allow-host", "board.example", token=token))
    browser.open(address + "p/news/dead")
    browser.until("the question", lambda: browser.find("#token").is_displayed())
    browser.find("#token").send_keys("not-it-at-all-no", Keys.ENTER)
    browser.shows("#login-error", "not the token")
    browser.shot("login")
    # That one request was refused, as it should be.
    check_console(browser, "401")
    browser.find("#token").send_keys(token, Keys.ENTER)
    browser.shows("h1", "Dead jobs of news")
    cookies = browser.driver.get_cookies()
    check([cookie["path"] for cookie in cookies] == ["/fanfare"], "the cookie is sent elsewhere: %s" % cookies)
    check(token not in browser.script("return document.cookie"), "a script can read the session")
    browser.click(".brand")
    browser.until("the rows", lambda: len(browser.all(".projects tbody tr")) == PROJECTS)
    check(browser.driver.current_url == address, "the overview is at %s" % browser.driver.current_url)
    browser.click("#logout")
    browser.until("the question", lambda: browser.find("#token").is_displayed())
    check(not browser.find("#view").is_displayed(), "the view is still shown")
