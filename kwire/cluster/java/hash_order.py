"""Java's hash codes, and the order in which HashMap and HashSet iterate.

Implements Java's documented rules, except the tree bins of buckets with more than eight keys.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from struct import iter_unpack
from typing import Generic, TypeVar

DEFAULT_CAPACITY = 16
TREEIFY_THRESHOLD = 8  # more keys than this in a bucket make a small table grow
MIN_TREEIFY_CAPACITY = 64  # from this size on, such a bucket becomes a tree instead
_MASK = (1 << 32) - 1
K = TypeVar("K", bound=Hashable)
Keys = Callable[[K], int]  # HashMap needs only the hash code of a key here
INTEGERS: Keys[int] = int


def utf16(text: str) -> bytes:
    r"""Return the sort key by which Java compares strings: their UTF-16 units.

    >>> sorted(["\U0001f600", "\uff5e", "z"], key=utf16) == ["z", "\U0001f600", "\uff5e"]
    True
    """
    return text.encode("utf-16-be", "surrogatepass")


def int32(number: int) -> int:
    """Wrap a number as Java's int arithmetic does.

    >>> int32(2**31)
    -2147483648
    """
    return ((number + 0x80000000) & _MASK) - 0x80000000


def string_hash(text: str) -> int:
    """Return `String.hashCode`, a signed 32-bit number.

    >>> string_hash("Aa") == string_hash("BB") == 2112
    True
    """
    total = 0
    for (unit,) in iter_unpack(">H", utf16(text)):
        total = (31 * total + unit) & _MASK
    return int32(total)


def topic_partition_hash(partition: tuple[str, int]) -> int:
    """Return the hash code of Kafka's `TopicPartition`, here a pair of topic and partition index.

    >>> topic_partition_hash(("orders", 2243))
    -1008699837
    """
    topic, index = partition
    return int32(31 * (31 + index) + string_hash(topic))


def optional_hash(text: str | None) -> int:
    """Return `Optional.hashCode` of an optional string; None is the empty Optional."""
    return 0 if text is None else string_hash(text)


STRINGS: Keys[str] = string_hash


TOPIC_PARTITIONS: Keys[tuple[str, int]] = topic_partition_hash


OPTIONAL_STRINGS: Keys[str | None] = optional_hash


class HashOrder(Generic[K]):
    """The keys of a `java.util.HashMap` or `HashSet`, in Java's iteration order.

    The order depends on hash codes, table size and, within a bucket, the insertion history. It equals Java's unless a
    bucket has more than eight keys in a table of 64 or more. Java then uses a tree, whose order is arbitrary for keys
    that are not Comparable (TopicPartition); here it stays a list. Only deliberately colliding names cause this.

    Args:
        keys: the type of the keys: `STRINGS`, `INTEGERS`, `TOPIC_PARTITIONS`, `OPTIONAL_STRINGS`.
        capacity: the argument of Java's constructor.

    >>> order = HashOrder(STRINGS)
    >>> for name in ("t10", "t2", "t1"):
    ...     order.put(name)
    >>> list(order)
    ['t10', 't1', 't2']
    """

    def __init__(self, keys: Keys[K], capacity: int = DEFAULT_CAPACITY) -> None:
        self._keys = keys
        self._size = 1 << max(capacity - 1, 0).bit_length()
        self._hashes: dict[K, int] = {}
        self._table: dict[int, list[K]] = {}

    def __len__(self) -> int:
        return len(self._hashes)

    def __contains__(self, key: K) -> bool:
        return key in self._hashes

    def __iter__(self) -> Iterator[K]:
        for index in sorted(self._table):
            yield from self._table[index]

    def put(self, key: K) -> None:
        """Add a key; an existing key keeps its position."""
        if key not in self._hashes:
            self._add(key, at_front=False)
            if self._is_full:
                self._grow()

    def compute_if_absent(self, key: K) -> None:
        """Add a key as `computeIfAbsent`, `compute` and `merge` do: resize the table, then insert at the front of the
        bucket.
        """
        if self._is_full:
            self._grow()
        if key not in self._hashes:
            self._add(key, at_front=True)

    def remove(self, key: K) -> None:
        """Remove a key if it exists. The table keeps its size."""
        if key not in self._hashes:
            return
        self._table[self._hashes.pop(key) & self._size - 1].remove(key)

    def copy(self) -> HashOrder[K]:
        """Return the keys in the order of `new HashMap<>(this)`."""
        return hash_order_of(self, self._keys, len(self) * 4 // 3 + 1 if self else DEFAULT_CAPACITY)

    @property
    def _is_full(self) -> bool:
        return len(self._hashes) > self._size * 3 // 4

    def _add(self, key: K, at_front: bool) -> None:
        code = self._keys(key) & _MASK
        self._hashes[key] = spread = int32(code ^ code >> 16)
        bucket = self._table.setdefault(spread & self._size - 1, [])
        bucket.insert(0 if at_front else len(bucket), key)
        if len(bucket) > TREEIFY_THRESHOLD - at_front and self._size < MIN_TREEIFY_CAPACITY:
            self._grow()

    def _grow(self) -> None:
        table = self._table
        self._table = {}
        self._size *= 2
        for bucket in table.values():
            for key in bucket:
                self._table.setdefault(self._hashes[key] & self._size - 1, []).append(key)


def hash_order_of(items: Iterable[K], keys: Keys[K], capacity: int = DEFAULT_CAPACITY) -> HashOrder[K]:
    """Return a new HashMap with these keys, added in order."""
    order = HashOrder(keys, capacity)
    for key in items:
        order.put(key)
    return order
