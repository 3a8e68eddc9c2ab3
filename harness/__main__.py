"""``python -m harness``: the command line under this Python."""

from harness.start import main

if __name__ == "__main__":
    main()
