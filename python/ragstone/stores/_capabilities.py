"""Wrappers of stores that have the methods of what they wrap, no more and no fewer."""

from __future__ import annotations

from functools import cache

__all__ = ["with_capabilities"]


def with_capabilities(wrapper: type, capabilities: tuple[type, ...]) -> type:
    """The class of a wrapper with these capabilities, each a subclass that forwards the methods of one protocol.

    A protocol is recognised by the methods of the class, so what an instance can do must show in its class. It keeps
    the wrapper's name, and is made once.
    """
    return _composed(wrapper, capabilities) if capabilities else wrapper


@cache
def _composed(wrapper: type, capabilities: tuple[type, ...]) -> type:
    bases = capabilities if wrapper in capabilities[0].__mro__ else (*capabilities, wrapper)
    about = {"__module__": wrapper.__module__, "__qualname__": wrapper.__qualname__, "__doc__": wrapper.__doc__}
    return type(wrapper.__name__, bases, about)
