"""The one family of errors: each says what is wrong, and what to type next."""

from __future__ import annotations


class AckdError(Exception):
    """Something ackd cannot do, said to a person or an agent.

    Attributes:
        code: Stable word for scripts, kebab-case.
        message: Which file or id, and what is wrong with it.
        hint: The next thing to type, or an empty string.
        exit_code: What the command line exits with (DESIGN part 8).
    """

    code = "error"
    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InvalidError(AckdError):
    """A value from outside does not have the form that its place asks for."""

    code = "invalid"


class UsageError(AckdError):
    """The command was called with words that it does not take."""

    code = "usage"
    exit_code = 2


class NoTreeError(AckdError):
    """There is no shared-context tree, or its configuration cannot be read."""

    code = "no-tree"
    exit_code = 3


class NotAllowedError(AckdError):
    """The thread, the tree or the policy does not allow this now."""

    code = "not-allowed"
    exit_code = 4


class DeliveryError(AckdError):
    """A sync or a delivery did not go through."""

    code = "delivery-failed"
    exit_code = 5


class BusyError(AckdError):
    """Somebody else holds what is needed; trying again later is right."""

    code = "busy"
    exit_code = 75
