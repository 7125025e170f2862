"""Pages run in a real browser (the fixture `chromium`), and their structure is read without one."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any, NamedTuple

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
    done = subprocess.run([chromium, *flags, "--dump-dom", url], capture_output=True, timeout=180, check=True)
    return done.stdout.decode()


class Driven(NamedTuple):
    """What a page of a site did: what the steps return, which paths were asked for, and the browser's log."""

    answer: Any
    paths: list[str]
    log: str


_DRIVER = """<!DOCTYPE html><iframe src="%s" style="width: 1100px; height: 800px"></iframe><script>
    const page = () => document.querySelector("iframe").contentWindow;
    const until = async (condition) => {
        for (let found;; await new Promise((done) => setTimeout(done, 50)))
            if ((found = condition())) return found;
    };
    const steps = async () => { %s };
    addEventListener("load", () => steps().catch((error) => `failed: ${error.stack}`)
        .then((answer) => fetch("/answer", { method: "POST", body: JSON.stringify(answer) })));
</script>"""


class _Site(SimpleHTTPRequestHandler):
    """Serves a folder as any server of static files does, and to a test its driver and the fixtures."""

    def __init__(self, *rest: Any, driver: str, fixtures: Path, paths: list[str], answers: Queue[Any], **more: Any):
        self.driver, self.fixtures, self.paths, self.answers = driver, fixtures, paths, answers
        super().__init__(*rest, **more)

    def do_GET(self) -> None:
        if self.path == "/driver.html":
            self._answer(self.driver.encode(), "text/html")
        elif self.path.startswith("/fixtures/"):
            self._answer((self.fixtures / self.path.removeprefix("/fixtures/")).read_bytes(), "text/plain")
        else:
            self.paths.append(self.path)
            super().do_GET()

    def do_POST(self) -> None:
        self.answers.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self._answer(b"", "text/plain")

    def _answer(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: Any) -> None:
        pass


@contextmanager
def _served(site: partial[_Site]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), site) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def drive(site: Path, path: str, fixtures: Path, scratch: Path, steps: str) -> Driven:
    """Open a page of a site as a server serves it, in a frame, and run steps beside it.

    Args:
        site: the folder of the site.
        path: of the page in it.
        fixtures: a folder that the steps find under `/fixtures/`.
        scratch: where the browser may write.
        steps: the body of an asynchronous JavaScript function that returns something JSON can hold; `page()` is the
            page's window, `await until(() => ...)` waits for a condition.
    """
    chromium = browser()
    assert chromium is not None
    answers, paths, log = Queue[Any](), list[str](), scratch / "browser.log"
    handler = partial(
        _Site, directory=str(site), driver=_DRIVER % (path, steps), fixtures=fixtures, paths=paths, answers=answers
    )
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={scratch}", "--enable-logging=stderr"]
    with (
        _served(handler) as origin,
        log.open("wb") as stderr,
        subprocess.Popen([chromium, *flags, f"{origin}/driver.html"], stderr=stderr) as process,
    ):
        try:
            answer = answers.get(timeout=300)
        except Empty:
            answer = "no answer within 300 s"
        finally:
            process.terminate()
    return Driven(answer, paths, log.read_text("utf-8", "replace"))


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
