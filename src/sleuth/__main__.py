"""`sleuth` and `python -m sleuth` are the command line."""

import sys


def main() -> None:
    """Run it; Ctrl-C is silent even while it is being imported."""
    try:
        from sleuth.surfaces.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
