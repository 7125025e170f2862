"""A broker for tests: a thread that answers on a socket of this machine as it is told."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from kwire.protocol import Frame, FrameReader

Answer = Callable[[Frame], bytes]


@contextmanager
def serving(answer: Answer, host: str = "127.0.0.1") -> Iterator[str]:
    """Answer every frame of every connection; yield the address. No bytes close the connection."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listener:
        listener.bind((host, 0))
        listener.listen()
        threading.Thread(target=_accept, args=(listener, answer), daemon=True).start()
        port = listener.getsockname()[1]
        yield f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket, answer: Answer) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_serve, args=(connection, answer), daemon=True).start()


def _serve(connection: socket.socket, answer: Answer) -> None:
    reader = FrameReader()
    with connection, suppress(OSError):  # the other side may be gone
        while portion := connection.recv(1 << 16):
            for frame in reader.feed(portion):
                data = answer(frame)
                if not data:
                    return
                for byte in range(0, len(data), 7):  # in small portions
                    connection.sendall(data[byte : byte + 7])
