"""The project's errors: each says what went wrong, where, and what to do about it."""

from __future__ import annotations

from typing import ClassVar


class FedragError(Exception):
    """Base of every error that the project raises on purpose.

    Parameters
    ----------
    what
        One sentence on what went wrong. Never holds document text.
    where
        The key, file name, device or message that it concerns.
    fix
        What the reader can do about it.
    """

    place_is_private: ClassVar[bool] = False

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        self.what = what
        self.where = where
        self.fix = fix
        super().__init__(": ".join(part for part in (where, what) if part) + (f" ({fix})" if fix else ""))

    @property
    def abroad(self) -> str:
        """The error as it may leave the device: without its place where that may be a document's name."""
        place = "" if self.place_is_private else self.where
        return ": ".join(part for part in (place, self.what) if part) + (f" ({self.fix})" if self.fix else "")

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.what, self.where, self.fix)


def _rebuild(kind: type[FedragError], what: str, where: str, fix: str) -> FedragError:
    return kind(what, where=where, fix=fix)


class SettingError(FedragError, ValueError):
    """A setting is unknown, of the wrong type or out of range."""


class SourceError(FedragError):
    """A document source cannot be read, or holds nothing."""

    place_is_private = True


class EmptySourceError(SourceError, FileNotFoundError):
    """A source has no documents at all.

    `bare` tells that it was read to its end and nothing in it failed: it may be meant to be empty.
    """

    def __init__(self, what: str, *, where: str = "", fix: str = "", bare: bool = False) -> None:
        super().__init__(what, where=where, fix=fix)
        self.bare = bare


class DocumentError(SourceError, ValueError):
    """One document cannot be read or yields no text."""


class ModelError(FedragError):
    """A model cannot be found, verified, loaded or run."""

    place_is_private = True  # a file's name


class PromptError(ModelError, ValueError):
    """A prompt cannot be split into tokens, or does not fit into the model's context."""


class ModelMissingError(ModelError, FileNotFoundError):
    """A model file is on no path that was tried."""


class ModelHashError(ModelError, ValueError):
    """A model file's SHA-256 differs from the expected one."""


class StoreError(FedragError):
    """A device's store cannot be used."""

    place_is_private = True


class StoreMismatchError(StoreError, ValueError):
    """A store was written with other models, another dimension or another schema."""


class StoreCorruptError(StoreError, OSError):
    """A store's file is torn or is not a store."""


class StoreLockedError(StoreError, BlockingIOError):
    """Another process is writing to the store."""


class StoreFullError(StoreError, OSError):
    """The disk that holds the store is full."""


class NotFoundError(StoreError, KeyError):
    """An id is not in the store."""

    __str__ = Exception.__str__


class WireError(FedragError, ValueError):
    """A message from another party does not decode, or breaks a bound."""


class SchemaVersionError(WireError):
    """A message was written by another version of the protocol."""


class StaleMessageError(WireError):
    """A message is older than what its receiver has already handled."""


class PrivacyError(FedragError, PermissionError):
    """Something may not leave the device."""


class BudgetError(PrivacyError):
    """A privacy budget is spent."""


class ProcessError(FedragError, RuntimeError):
    """A process of our own that works apart from this one died or did not answer."""


class CipherError(FedragError, ValueError):
    """A ciphertext, key or sealed message of another party is not what it must be."""


class FederationError(FedragError, RuntimeError):
    """A federated run cannot go on, for instance because too few devices answered."""


class ServiceError(FedragError, RuntimeError):
    """A device's service refused a request, or the connection to it broke."""


class ServiceAbsentError(ServiceError):
    """No service listens."""


class ServiceRunningError(ServiceError):
    """Another service already has the device or the socket."""


class ServiceBusyError(ServiceError):
    """A service has too much to do; asks to be tried again after so many seconds."""

    def __init__(self, what: str, *, where: str = "", fix: str = "", seconds: float = 1.0) -> None:
        super().__init__(what, where=where, fix=fix)
        self.seconds = seconds
