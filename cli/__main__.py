"""`python -m barnabas.cli`: the command, where it is not on the path."""

from barnabas.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
