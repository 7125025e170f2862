"""Models and algorithms for whole clusters: state and history, placement, assignors, the ZooKeeper-era controller.

`events` converts messages, records of the metadata log and znodes to events; `model` derives the
current state and the tables of the history. Other packages read bytes, frames and files.
"""

from ..runtime.lazy_names import attach_stub

__getattr__, __dir__ = attach_stub(__name__)  # the names are in `__init__.pyi`
