"""``python -m harness``: the command line under this Python."""

from harness.cli.main import main

if __name__ == "__main__":
    main()
