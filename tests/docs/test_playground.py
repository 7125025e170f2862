"""The page "Decode in the browser": the same pages and texts as the commands', and nothing leaves the browser."""

from __future__ import annotations

import base64
import re
import shutil
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import kwire
from kwire.cli.main import main
from tests.browser import Driven, drive
from tests.conftest import ROOT, lacking
from tests.render.html.test_explain_page import hostile_frames
from tests.tools import site as tool
from tests.tools.wheel import Unfit

PAGE = "/how-to/decode-in-the-browser.html"
CAPTURE = "dumps/kafka-3.9-zk.pcap"
LOG = "logs/__consumer_offsets-1/00000000000000000000.log"
METADATA = (ROOT / "fixtures/dumps/kafka-4.4-metadata.bin").read_bytes().hex(" ")
SECRET = "hunter2hunter2"
STEPS = """
    const all = (what) => [...page().document.querySelectorAll(`#playground ${what}`)];
    const status = () => all(".status")[0]?.textContent ?? "";
    const violations = [];
    page().document.addEventListener("securitypolicyviolation", (event) => violations.push(event.blockedURI));
    const results = async () => {
        await until(() => all(".command").length === 2 && /(explained|read) in /.test(status()));
        const found = { status: status(),
            page: all("iframe")[0]?.srcdoc ?? "", sandbox: all("iframe")[0]?.sandbox.value,
            text: all(".view:nth-of-type(2) .output")[0]?.textContent,
            explained: all(".view:nth-of-type(1) .output")[0]?.textContent,
            remarks: all(".remarks").map((one) => one.textContent),
            commands: all(".command").map((one) => one.textContent) };
        for (const command of all(".command")) command.remove();
        return found;
    };
    const pasted = async (text) => {
        all("textarea")[0].value = text;
        all("textarea")[0].dispatchEvent(new (page().Event)("paste"));
        return results();
    };
    const dropped = async (name, content) => {
        const files = new (page().DataTransfer)();
        files.items.add(new (page().File)([content], name));
        const how = { dataTransfer: files, bubbles: true, cancelable: true };
        all("textarea")[0].dispatchEvent(new (page().DragEvent)("drop", how));
        return results();
    };
    const zipped = (size) => {
        const pieces = new Blob([new Uint8Array([0, 0, 0, 16]), new Uint8Array(size)]);
        return new Response(pieces.stream().pipeThrough(new CompressionStream("gzip"))).blob();
    };
    const refused = (where) => page().fetch(where, { mode: "no-cors" }).then(() => "reached", () => "refused");
    const refusedToWorkers = (where) => new Promise((done) => {
        const source = `fetch("${where}", { mode: "no-cors" }).catch(() => "refused").then(String).then(postMessage)`;
        const url = page().URL.createObjectURL(new (page().Blob)([source], { type: "text/javascript" }));
        new (page().Worker)(url).onmessage = ({ data }) => done(data);
    });
"""


class Elsewhere:
    """Another server, which counts who asks it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_error(404)

            def log_message(self, *words: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"


def as_file(name: str, content: bytes, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (folder / name).write_bytes(content)
    monkeypatch.chdir(folder)
    return name


def commands_of(name: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Return what the commands write about a file of the working directory, as the page has it."""
    capsys.readouterr()
    main(["decode", "--first=10000", name])
    text = capsys.readouterr()
    main(["explain", "--html", "-o", "page.html.out", name])
    page = Path("page.html.out")
    found = page.read_text("utf-8") if page.exists() else ""
    page.unlink(missing_ok=True)
    return {"text": text.out, "page": found, "remarks": [capsys.readouterr().err, text.err]}


@pytest.fixture(scope="module")
def whole(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site with what the page runs on."""
    try:
        tool.fetch(tool.CACHE)
    except Unfit as error:
        lacking(f"network to fetch Pyodide, msgspec and cramjam: {error}", "KWIRE_BROWSER")
    folder = tmp_path_factory.mktemp("whole") / "site"
    shutil.copytree(site, folder)
    assert tool.add_runtime(tool.CACHE, folder) < 20_000_000
    return folder


def secret_frame() -> bytes:
    cls: Any = kwire.messages.SaslAuthenticateRequest
    plain = b"\0alice\0" + SECRET.encode()
    return kwire.encode_request(cls(auth_bytes=plain), 2, correlation_id=7, client_id="app")


def hostile() -> bytes:
    return b"".join(frame.data for frame in hostile_frames())


@pytest.fixture(scope="module")
def driven(whole: Path, chromium: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Driven, Elsewhere]:
    """What the page does with some inputs, and another server that it may not ask."""
    other = Elsewhere()
    thread = Thread(target=other.server.serve_forever)
    thread.start()
    steps = f"""{STEPS}
        await until(() => status().startsWith("Ready"));
        const capture = await (await fetch("/fixtures/{CAPTURE}")).blob();
        const answer = {{ ready: status(), bad: await pasted("zz"), hex: await pasted("{METADATA}"),
            hostile: await pasted("{base64.b64encode(hostile()).decode()}"),
            markup: all(":is(img, svg, script)").length,
            secret: await pasted("{secret_frame().hex()}"), capture: await dropped("kafka-3.9-zk.pcap", capture),
            log: await dropped("00000000000000000000.log", await (await fetch("/fixtures/{LOG}")).blob()),
            big: await dropped("big.bin", new Uint8Array(17 << 20)),
            bomb: await dropped("bomb.gz", await zipped(56 << 20)), title: page().document.title,
            violations: [...violations] }};
        answer.origins = page().performance.getEntriesByType("resource").map((one) => one.name);
        answer.foreign = [await refused("{other.url}page"), await refusedToWorkers("{other.url}worker")];
        return answer;"""
    try:
        found = drive(whole, PAGE, ROOT / "fixtures", tmp_path_factory.mktemp("chromium"), steps)
    finally:
        other.server.shutdown()
        thread.join()
        other.server.server_close()
    assert isinstance(found.answer, dict), (found.answer, found.log[-3000:])
    return found, other


@pytest.mark.parametrize("case", ["hex", "bad", "hostile", "secret", "capture"])
def test_pages_texts_and_errors_are_those_of_the_commands(
    case: str,
    driven: tuple[Driven, Elsewhere],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = driven[0].answer[case]
    inputs = {
        "hex": ("paste", METADATA.encode()),
        "bad": ("paste", b"zz"),
        "hostile": ("paste", base64.b64encode(hostile())),
        "secret": ("paste", secret_frame().hex().encode()),
        "capture": ("kafka-3.9-zk.pcap", (ROOT / "fixtures" / CAPTURE).read_bytes()),
    }
    name = as_file(*inputs[case], tmp_path, monkeypatch)
    expected = commands_of(name, capsys)
    assert {key: found[key] for key in expected} == expected
    assert found["commands"] == [f"$ kwire explain --html -o page.html {name}", f"$ kwire decode --first=10000 {name}"]


def test_what_is_explained(driven: tuple[Driven, Elsewhere]) -> None:
    answer = driven[0].answer
    assert answer["ready"].startswith(f"Ready: kwire {kwire.__version__} on Pyodide {tool.PYODIDE}, loaded in ")
    assert "Metadata v13 request" in answer["hex"]["page"] and "<- Metadata:13 " in answer["hex"]["text"]
    assert "not recognised as hex or base64" in answer["bad"]["remarks"][0] and not answer["bad"]["page"]
    assert answer["capture"]["page"].count('<details class="frame') == 114
    assert answer["log"]["commands"][0] == "$ kwire explain 00000000000000000000.log"
    assert answer["log"]["explained"].startswith("# batch at 0") and "base_offset = 0 " in answer["log"]["explained"]
    assert answer["big"]["status"].startswith("big.bin has 17 MiB: only the first 16 MiB are read here")


def test_a_page_that_is_too_large_is_not_shown(driven: tuple[Driven, Elsewhere]) -> None:
    found = driven[0].answer["bomb"]
    status = re.match(
        r"the page would have (\d+)\.?\d* MiB, too much for a browser: kwire browse shows all; read in", found["status"]
    )
    assert status and int(status[1]) >= 64 and not found["page"]
    assert "ProduceRequest v0: topic_data: 4 bytes needed" in found["text"]


def test_nothing_hostile_is_run_and_secrets_are_masked(driven: tuple[Driven, Elsewhere]) -> None:
    answer = driven[0].answer
    assert answer["title"].startswith("Decode in the browser") and answer["markup"] == 0
    assert answer["hostile"]["sandbox"] == "allow-scripts"
    assert "SaslAuthenticate v2" in answer["secret"]["page"]
    for shown in (answer["secret"]["text"], answer["secret"]["page"]):
        assert SECRET not in shown and base64.b64encode(SECRET.encode()).decode()[:8] not in shown


def test_nothing_leaves_the_origin(driven: tuple[Driven, Elsewhere]) -> None:
    found, other = driven
    assert found.answer["foreign"] == ["refused", "refused"] and other.asked == []
    assert found.answer["violations"] == []
    refusals = [line for line in found.log.splitlines() if "Content Security Policy" in line]
    assert refusals and all(other.url in line for line in refusals), "the page's policy refuses what the page needs"
    (origin,) = {re.sub(r"(?<=\d)/.*", "", name.removeprefix("blob:")) for name in found.answer["origins"]}
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", origin)
    assert {path.rpartition("/")[2] for path in found.paths if "/runtime/" in path} == {
        *tool.RUNTIME,
        "packages.zip",
        "runtime.json",
    }


def test_a_page_without_anything_to_run_on_says_so(site: Path, chromium: str, tmp_path: Path) -> None:
    steps = f"""{STEPS}
        await until(() => status());
        const shown = all("button").filter((one) => one.offsetParent).map((one) => one.textContent);
        return [status(), all("button").every((one) => one.disabled), shown];"""
    found = drive(site, PAGE, ROOT / "fixtures", tmp_path, steps)
    message = "This site was built without Python for this page: python3 dev.py docs --playground adds it."
    assert found.answer == [message, True, ["Explain", "Choose a file", "Example"]]


def test_what_is_fetched_has_the_pinned_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def other(*command: str, **_: str) -> str:
        folder = Path(command[command.index("--pack-destination") + 1] if "pack" in command else command[-3])
        for name in tool.PINNED:
            (folder / name).write_bytes(b"something else")
        return ""

    monkeypatch.setattr(tool, "run", other)
    with pytest.raises(Unfit, match="was not fetched with the digest"):
        tool.fetch(tmp_path / "cache")
    assert [path.name for path in (tmp_path / "cache").rglob("*") if path.is_file()] in ([], [".kwire-lock"])
