"""A child that is forked while threads use kwire for the first time works, and does not wait for them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
CHILD = """
    import faulthandler, os, sys, threading, time
    faulthandler.dump_traceback_later(60, exit=True)
    import kwire

    def decode():
        kwire.parse_filter("latency > 1s")
        frame = kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 4)
        return next(kwire.decode_frames([kwire.Frame(frame)])).api_name

    def ends_well(child):
        ends = time.monotonic() + 30
        while time.monotonic() < ends:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                return status == 0
            time.sleep(0.005)
        os.kill(child, 9)
        os.waitpid(child, 0)
        return False

    def fork():
        child = os.fork()
        if not child:
            os._exit(decode() != "Metadata")
        return child
"""


def run(code: str) -> str:
    program = textwrap.dedent(CHILD) + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_a_fork_waits_for_an_import_of_another_thread() -> None:
    """The import is held until the other thread is about to fork."""
    code = """
    import importlib.abc, importlib.machinery
    begun, may_go_on = threading.Event(), threading.Event()

    class Holding(importlib.abc.MetaPathFinder):
        def find_spec(self, name, path, target=None):
            spec = importlib.machinery.PathFinder.find_spec(name, path, target)
            if name == "kwire.query.display_filter":
                execute = spec.loader.exec_module

                def hold(module):
                    begun.set()
                    may_go_on.wait(20)
                    execute(module)

                spec.loader.exec_module = hold
            return spec

    import kwire.runtime.caches
    sys.meta_path.insert(0, Holding())
    thread = threading.Thread(target=decode)
    thread.start()
    begun.wait(20)
    threading.Timer(0.2, may_go_on.set).start()
    print(ends_well(fork()))
    thread.join()
    """
    assert run(code) == "True\n"


def test_after_preload_nothing_is_imported_in_a_child() -> None:
    code = """
    kwire.preload()
    before = set(sys.modules)
    decode()
    batch = kwire.build_batch([kwire.Record(0, 0, b"k", b"v")], compression="gzip")
    [list(batch.records()) for batch in kwire.parse_records(batch)]
    list(kwire.decode_frames(kwire.read_dump("fixtures/dumps/kafka-3.9-zk.pcap"), trace=True))
    try:
        kwire.codec("MetadataReqest", 1)
    except kwire.KwireError as error:
        str(error)
    print(sorted(set(sys.modules) - before))
    """
    assert run(code) == "[]\n"


@pytest.mark.ci
def test_forks_beside_threads_that_begin() -> None:
    code = """
    threads = [threading.Thread(target=decode) for _ in range(4)]
    for thread in threads:
        thread.start()
    children = []
    for _ in range(20):
        children.append(fork())
        time.sleep(0.002)
    print(all(map(ends_well, children)))
    for thread in threads:
        thread.join()
    """
    assert run(code) == "True\n"
