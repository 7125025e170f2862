"""kwire: Kafka's wire protocol in Python, every message in every version, every byte explained.

    >>> import kwire
    >>> codec = kwire.codec("MetadataRequest", 4)
    >>> codec.decode(codec.encode(kwire.messages.MetadataRequest(topics=None)))
    MetadataRequest(topics=None, allow_auto_topic_creation=True, include_cluster_authorized_operations=False, \
include_topic_authorized_operations=False, unknown_tags=None)

Importing kwire loads no other module; each name loads its module on first use.
"""

from .runtime import forks as _forks  # noqa: F401 (registers what happens at a fork)
from .runtime import former_modules as _former_modules  # noqa: F401 (registers the finder of modules that have moved)
from .runtime.lazy_names import attach_stub as _attach_stub

__version__ = "0.1.0"
# The public names are in `__init__.pyi`. The packages beside them need extras.
__getattr__, __dir__ = _attach_stub(__name__, subpackages=("arrow", "spark", "testing"))
