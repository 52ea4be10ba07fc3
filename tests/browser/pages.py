"""pages.py GPUHIST FOLDER: makes reports, opens them in Chromium without a network, and uses them as a person does.

Screenshots are left in FOLDER/shots, for people to look at.
"""
import base64
import csv
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import axe_playwright_python
import numpy as np
from PIL import Image, ImageFilter
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

program, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
work, shots = folder / "work", folder / "shots"
hostile = "a<img src=x onerror=alert(1)>&\"'‮gpj.png"
many = 50_000


def gpuhist(*arguments):
    done = subprocess.run([program, *map(str, arguments)], cwd=work, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def make_images():
    """A small set with classes, flags, duplicates, an error and a hostile name."""
    random = np.random.default_rng(1)
    y, x = np.mgrid[0:240, 0:320]
    for number in range(60):
        kind = ("waves", "rings", "noise")[number % 3]
        phase, scale = number * 0.7, 6 + number % 7
        shape = np.sin(x / scale + phase) + np.cos(y / (scale + 3)) if kind == "waves" else (
            np.sin(np.hypot(x - 160, y - 120) / scale + phase) * 2 if kind == "rings" else random.normal(0, 1, x.shape))
        color = np.stack([shape * 30 + 90 + 40 * channel + number for channel in range(3)], -1)
        picture = Image.fromarray(np.clip(color, 0, 255).astype(np.uint8))
        if number % 20 == 7:
            picture = picture.filter(ImageFilter.GaussianBlur(5))
        if number % 20 == 9:
            picture = picture.point(lambda value: value // 6)
        path = work / "set" / kind / f"{number:03d}.{'png' if number % 2 else 'jpg'}"
        path.parent.mkdir(parents=True, exist_ok=True)
        picture.save(path)
    shutil.copy(work / "set/waves/003.png", work / "set/rings/copy.png")
    Image.new("RGB", (200, 90), (40, 90, 140)).save(work / "set/rings/blank.png")
    Image.new("L", (64, 64), 128).save(work / "set" / hostile)
    (work / "set/noise/broken.jpg").write_bytes((work / "set/waves/000.jpg").read_bytes()[:2000])


def make_many():
    """Results of 50,000 images, from the rows of one."""
    gpuhist(work / "set/waves/001.png", work / "set/waves/003.png", "--quality", "-q", "--write", "stats", "-o", "one")
    random = np.random.default_rng(2)
    (work / "many").mkdir()
    for table in ("stats", "quality"):
        with open(work / f"one/{table}.csv", newline="") as file:
            head, *rows = list(csv.reader(file))
        rows = [row for row in rows if row[0] == rows[0][0]]
        with open(work / f"many/{table}.csv", "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(head)
            for image in range(many):
                for row in rows:
                    row = [f"photos/2026-{image % 12 + 1:02d}/IMG_{image:06d}.jpg", *row[1:]]
                    if table == "quality":
                        for place, name in enumerate(head):
                            if place > 0 and "hash" not in name and row[place]:
                                row[place] = repr(float(row[place]) * random.lognormal(0, 0.2))
                        row[head.index("pixels_hash")] = f"{image:032x}"
                        row[head.index("dhash")] = f"{int(random.integers(1, 2**63)):016x}"
                    writer.writerow(row)
    with open(work / "many/flags.csv", "w") as file:
        file.write("path,flag,value,threshold\n")
        for image in range(0, many, 100):
            file.write(f"photos/2026-{image % 12 + 1:02d}/IMG_{image:06d}.jpg,blurry,1.5,1\n")


class Browser:
    def __init__(self):
        options = webdriver.ChromeOptions()
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
                         "--host-resolver-rules=MAP * ~NOTFOUND"):
            options.add_argument(argument)
        options.binary_location = shutil.which("chromium")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.driver.set_script_timeout(300)

    def open(self, page, width=1280, height=900, dark=False):
        self.size(width, height)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        begin = time.monotonic()
        self.driver.get((work / page).as_uri())
        WebDriverWait(self.driver, 60).until(lambda driver: driver.execute_script(
            "return document.documentElement.dataset.ready === 'yes'"))
        return time.monotonic() - begin

    def size(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})

    def shot(self, name, whole=True):
        data = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": whole, **(
            {"clip": {**self.driver.execute_script(
                "return {x: 0, y: 0, width: innerWidth, height: document.documentElement.scrollHeight, scale: 1}")}}
            if whole else {})})
        (shots / f"{name}.png").write_bytes(base64.b64decode(data["data"]))

    def messages(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def paths(self):
        return self.driver.execute_script(
            "return [...document.querySelectorAll('#table tbody th')].map((cell) => cell.textContent)")

    def cells(self, heading):
        return self.driver.execute_script("""
            const place = [...document.querySelectorAll('#table thead th')].findIndex(
                (head) => head.textContent === arguments[0]);
            return [...document.querySelectorAll('#table tbody tr:not(.space)')].map(
                (row) => row.children[place].textContent)""", heading)

    def click_heading(self, heading):
        self.driver.execute_script("""
            [...document.querySelectorAll('#table thead th')].find((head) => head.textContent === arguments[0])
                .querySelector('button').click()""", heading)

    def filter(self, text, expected):
        find = self.driver.find_element(By.ID, "find")
        find.clear()
        find.send_keys(text)
        WebDriverWait(self.driver, 20).until(lambda driver: expected in self.count(), f"{text}: {self.count()}")

    def count(self):
        return self.driver.find_element(By.ID, "count").text

    def faults(self):
        """What axe-core finds: rules of WCAG 2.1, levels A and AA."""
        script = Path(axe_playwright_python.__file__).parent / "axe.min.js"
        self.driver.execute_script(script.read_text())
        found = self.driver.execute_async_script("""
            const done = arguments[arguments.length - 1];
            axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']})
                .then((result) => done(result.violations), (error) => done([{id: String(error), nodes: []}]))""")
        return [f"{one['id']}: {one['nodes'][0]['html'][:200] if one['nodes'] else ''}" for one in found]


def numbers(texts):
    return [float(text.replace(",", "")) for text in texts if text]


def check_small(browser):
    browser.open("set.html")
    images = int(browser.count().split()[0])
    with open(work / "results/quality.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert images == len(rows) == len(browser.paths()), (images, len(rows))

    # Sorting: by a number, in both directions; what has no value comes last.
    for column in ("noise", "width", "colorfulness"):
        browser.click_heading(column)
        texts = browser.cells(column)
        values = numbers(texts)
        assert values == sorted(values, reverse=True) and len(values) > 0, (column, values)
        assert all(texts[: len(values)]), column
        browser.click_heading(column)
        values = numbers(browser.cells(column))
        assert values == sorted(values), (column, values)
    assert browser.driver.find_elements(By.CSS_SELECTOR, "#table th[aria-sort=ascending]")
    browser.click_heading("path")
    assert browser.paths() == sorted(browser.paths(), key=str.lower)

    # Filters: parts of paths, conditions, and flags.
    wide = sum("waves" in row["path"] for row in rows)
    browser.filter("waves", f"{wide} of")
    assert all("waves" in path for path in browser.paths())
    some = sum(float(row["noise"] or 0) > 5 for row in rows)
    browser.filter("noise>5", f"{some} of")
    browser.filter("", f"{images} rows")
    with open(work / "results/flags.csv", newline="") as file:
        blurry = {row["path"] for row in csv.DictReader(file) if row["flag"] == "blurry"}
    browser.driver.execute_script("document.querySelector('.jump[data-flag=blurry]').click()")
    assert set(browser.paths()) == blurry and blurry, browser.paths()

    # Keys: / reaches the filter.
    browser.driver.find_element(By.ID, "table").send_keys("/")
    assert browser.driver.switch_to.active_element.get_attribute("id") == "find"
    browser.driver.switch_to.active_element.send_keys(Keys.TAB)
    assert browser.driver.switch_to.active_element.get_attribute("id") == "flag"

    # The hostile name is text, and nothing was loaded or run because of it.
    browser.open("set.html")
    assert any("<img src=x onerror" in path for path in browser.paths())
    assert browser.driver.execute_script("return document.querySelectorAll('img[src=x]').length") == 0
    sources = browser.driver.execute_script("return [...document.images].map((image) => [image.src.slice(0, 22), image.naturalWidth])")
    assert sources and all(source == "data:image/jpeg;base64" and width > 0 for source, width in sources), sources
    assert browser.messages() == [], browser.messages()
    assert browser.driver.execute_script(
        "return performance.getEntriesByType('resource').filter((one) => !one.name.startsWith('data:')).length") == 0


def check_looks(browser):
    for name, width, dark in (("light", 1280, False), ("dark", 1280, True), ("narrow", 390, False)):
        browser.open("set.html", width, 900, dark)
        browser.shot(name)
        assert browser.driver.execute_script("return document.documentElement.scrollWidth") <= width, name
        assert browser.faults() == [], (name, browser.faults())
    browser.open("set.html")
    page = browser.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True})
    (shots / "print.pdf").write_bytes(base64.b64decode(page["data"]))
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    browser.size(820, 1160)
    browser.shot("print")
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def check_many(browser):
    assert (work / "many.html").stat().st_size <= 5_000_000
    seconds = browser.open("many.html")
    print(f"50,000 rows open in {seconds:.2f} s, in {(work / 'many.html').stat().st_size / 1e6:.2f} MB")
    assert browser.count() == "50,000 rows", browser.count()
    rows = browser.driver.execute_script("return document.querySelectorAll('#table tbody tr').length")
    assert rows < 500, rows
    browser.driver.execute_script("const table = document.getElementById('table'); table.scrollTop = table.scrollHeight")
    WebDriverWait(browser.driver, 20).until(lambda driver: driver.execute_script(
        "return [...document.querySelectorAll('#table tbody tr')].some((row) => row.ariaRowIndex === '50001')"))
    browser.click_heading("noise")
    values = numbers(browser.cells("noise"))
    assert values == sorted(values, reverse=True)
    browser.filter("IMG_0499", "100 of 50,000")
    browser.shot("many", whole=False)
    assert browser.messages() == [], browser.messages()


def main():
    shutil.rmtree(work, ignore_errors=True)
    shots.mkdir(parents=True, exist_ok=True)
    (work / "set").mkdir(parents=True)
    make_images()
    gpuhist("set", "--group-by", "dir", "--keep-counts", "-q", "-o", "results", "--report", "first.html")
    shutil.copytree(work / "results", work / "earlier")
    gpuhist("report", "results", "-o", "set.html", "--against", "earlier", "--title", "Waves, rings and noise")
    make_many()
    gpuhist("report", "many", "-o", "many.html")
    browser = Browser()
    try:
        check_small(browser)
        check_looks(browser)
        check_many(browser)
    finally:
        browser.driver.quit()


main()
