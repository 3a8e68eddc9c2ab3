"""Entry point of ``python -m harness``: runs the command line with this Python."""

from harness.start import main

if __name__ == "__main__":
    main()
