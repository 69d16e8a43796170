"""Linear algebra on one core.

Planning multiplies thousands of small matrices. Shared out among cores each costs several times more, and the last
digits, which decide between equals, would follow the number of cores.
"""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_core() -> Iterator[None]:
    """Inside, matrix products use one core."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield
