"""``python -m semimetric``: the command line."""

from .cli.entry_point import main

if __name__ == "__main__":
    raise SystemExit(main())
