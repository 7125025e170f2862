"""Java's `PriorityQueue`: a binary heap that takes equal elements in an order of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

E = TypeVar("E")


class PriorityQueue(Generic[E]):
    """A heap whose order of equal elements is that of `java.util.PriorityQueue`, which differs from `heapq`.

    Args:
        priority: returns the number by which elements are ordered; the lowest comes first.
        elements: the elements to add, in order.

    >>> queue = PriorityQueue(len, ["b", "a", "cc"])
    >>> queue.poll(), queue.poll(), queue.poll(), queue.poll()
    ('b', 'a', 'cc', None)
    """

    def __init__(self, priority: Callable[[E], float], elements: Iterable[E] = ()) -> None:
        self._priority = priority
        self._heap: list[E] = []
        for element in elements:
            self.add(element)

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, element: E) -> None:
        """Add an element; it rises only above greater ones."""
        heap = self._heap
        heap.append(element)
        index = len(heap) - 1
        while index:
            parent = (index - 1) // 2
            if self._priority(element) >= self._priority(heap[parent]):
                break
            heap[index] = heap[parent]
            index = parent
        heap[index] = element

    def poll(self) -> E | None:
        """Remove and return the first element; None if the queue is empty."""
        heap = self._heap
        if not heap:
            return None
        first = heap[0]
        last = heap.pop()
        index = 0
        while (child := 2 * index + 1) < len(heap):
            right = child + 1
            if right < len(heap) and self._priority(heap[child]) > self._priority(heap[right]):
                child = right
            if self._priority(last) <= self._priority(heap[child]):
                break
            heap[index] = heap[child]
            index = child
        if heap:
            heap[index] = last
        return first
