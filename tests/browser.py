"""Pages run in a real browser (the fixture `chromium`), and their structure is read without one."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@cache
def browser() -> str | None:
    """Return a Chromium that starts here; None if there is none."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    try:
        starts = found is not None and "<p>hello</p>" in _dom(found, "data:text/html,<p>hello</p>")
    except (OSError, subprocess.SubprocessError):
        starts = False
    return found if starts else None


def run_page(page: str, folder: Path, steps: str) -> Any:
    """Open a page, run steps in it, and return what they return.

    The page's own policy would refuse the steps as it refuses any script of data, so it is taken out: what holds
    without it holds with it.

    Args:
        page: the HTML.
        folder: where it may be written.
        steps: the body of a JavaScript function that returns something JSON can hold.
    """
    chromium = browser()
    assert chromium is not None
    plain = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    assert plain != page
    driver = f"""<script>(() => {{
        let answer;
        try {{ answer = (() => {{ {steps} }})(); }} catch (error) {{ answer = `failed: ${{error.stack}}`; }}
        const element = document.createElement("pre");
        element.id = "answer";
        element.textContent = JSON.stringify(answer);
        document.body.append(element);
    }})();</script>"""
    before, end, after = plain.rpartition("</body>")
    file = folder / "page.html"
    file.write_text(before + driver + end + after, "utf-8")
    dom = _dom(chromium, file.as_uri())
    match = re.search(r'<pre id="answer">(.*?)</pre>', dom, re.DOTALL)
    assert match, dom[-2000:]
    return json.loads(html.unescape(match[1]))


def loaded(page: str, folder: Path) -> str:
    """Open a page as it is, and return its document after its scripts ran."""
    chromium = browser()
    assert chromium is not None
    file = folder / "page.html"
    file.write_text(page, "utf-8")
    return _dom(chromium, file.as_uri())


def _dom(chromium: str, url: str) -> str:
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,900", "--virtual-time-budget=2000"]
    done = subprocess.run([chromium, *flags, "--dump-dom", url], capture_output=True, timeout=60, check=True)
    return done.stdout.decode()


class Structure(HTMLParser):
    """What is in a page, told without a browser: tags, attributes, text, and the data that scripts hold."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.data: list[Any] = []
        self.scripts: list[str] = []
        self._inside: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "input", "link", "br"):
            self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._inside:
            assert self._inside.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._inside[-1:] != ["script"]:
            self.text.append(data)
        elif self.tags[-1][1].get("type") == "application/json":
            self.data.append(json.loads(data))
        else:
            self.scripts.append(data)

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of all elements of a kind."""
        return [attributes for name, attributes in self.tags if name == tag]
