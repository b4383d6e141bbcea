"""Chromium without a window, driven through Debian's chromedriver."""

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait


class Browser:
    def __init__(self, shots=None):
        options = Options()
        options.binary_location = "/usr/bin/chromium"
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-device-scale-factor=1"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.shots = shots
        self.complaints = []

    def close(self):
        self.driver.quit()

    def open(self, address, width=1400, height=1100, scheme="light"):
        self.view(width, height, scheme)
        self.driver.get(address)

    def view(self, width, height, scheme):
        # The window has a least width; what the page sees has none.
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def find(self, css):
        return self.driver.find_element(By.CSS_SELECTOR, css)

    def all(self, css):
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def until(self, what, condition, seconds=60):
        """Asks again until it holds: a page that is drawn again each second may take an element away in between."""

        def quiet(_):
            try:
                return condition()
            except Exception:  # noqa: BLE001
                return False

        return WebDriverWait(self.driver, seconds, 0.1).until(quiet, "not seen: " + what)

    def shows(self, css, text, seconds=60):
        return self.until("%s in %s" % (text, css), lambda: text in self.text(css), seconds)

    def text(self, css):
        return self.script("return [...document.querySelectorAll(arguments[0])].map(n => n.textContent).join('\\n')", css)

    def press(self, *keys):
        self.driver.switch_to.active_element.send_keys(*keys)

    def click(self, css):
        self.until(css, lambda: self.find(css).is_displayed() and (self.find(css).click() or True))

    def shot(self, name):
        if self.shots:
            self.driver.save_screenshot(str(self.shots / (name + ".png")))

    def log(self):
        """What the console has said since the last time it was asked."""
        return [entry for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


__all__ = ["Browser", "By", "Keys"]
