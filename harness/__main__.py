"""``python -m harness``: the command line of whichever Python this is."""

from harness.cli.main import main

if __name__ == "__main__":
    main()
