"""kwire's loggers, which print nothing unless a program sets up `logging`.

What they log has no secrets: no passwords, no tokens, no bytes of messages.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

# A library leaves output to the program: https://docs.python.org/3/howto/logging.html#configuring-logging-for-a-library
logging.getLogger("kwire").addHandler(logging.NullHandler())
BROKER = logging.getLogger("kwire.broker")
CLIENT = logging.getLogger("kwire.client")
PROXY = logging.getLogger("kwire.proxy")


def log_notes(logger: logging.Logger, note: Callable[[str], None]) -> Callable[[str], None]:
    """Return a function that logs a line for the operator as a warning, and passes it on.

    Args:
        logger: one of this module.
        note: what is called with each line, such as a function that prints it.

    >>> note = log_notes(PROXY, print)
    >>> note("10.0.0.7: not Kafka's protocol; closed")
    10.0.0.7: not Kafka's protocol; closed
    """

    def log_note(line: str) -> None:
        logger.warning("%s", line)
        note(line)

    return log_note
