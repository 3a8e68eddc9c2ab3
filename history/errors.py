"""Errors of readers: the file, the place in it, what was expected and what was found."""


class FormatError(ValueError):
    """A recorded file does not hold what its format promises.

    ``place`` names a line ("line 17") or a byte ("byte 4711"); the message says what was expected.
    """

    def __init__(self, source: str, place: str, message: str) -> None:
        super().__init__(f"{source}: {place}: {message}")
        self.source = source
        self.place = place
        self.message = message
