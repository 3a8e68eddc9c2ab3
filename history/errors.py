"""The error that readers raise: it names the file, the place in it, and what was expected and found."""


class FormatError(ValueError):
    """A recorded file violates its format.

    ``place`` names a line ("line 17") or a byte ("byte 4711"); the message says what was expected.
    """

    def __init__(self, source: str, place: str, message: str) -> None:
        super().__init__(f"{source}: {place}: {message}")
        self.source = source
        self.place = place
        self.message = message
