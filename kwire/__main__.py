"""`python -m kwire` is the command `kwire`."""

from .cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
