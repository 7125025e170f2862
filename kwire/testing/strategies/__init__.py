"""Hypothesis strategies of what Kafka's protocol carries: messages, frames, records, batches and captures.

    >>> import kwire
    >>> from hypothesis import given
    >>> from kwire.testing import strategies
    >>> @given(strategies.requests("Metadata"))
    ... def test_a_request_is_read(request):
    ...     assert kwire.decode_request(request.frame.data).message == request.message

hypothesis is imported on first use.
"""

from ...runtime.lazy_names import attach_stub
from .required_hypothesis import load_with_hypothesis

__getattr__, __dir__ = attach_stub(__name__, load=load_with_hypothesis)  # the names are in `__init__.pyi`
