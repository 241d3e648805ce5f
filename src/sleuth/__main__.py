"""`sleuth` and `python -m sleuth` are the command line."""

import atexit
import gc
import os
import sys


def main() -> None:
    """Run it; Ctrl-C is silent even while it is being imported."""
    try:
        start_quickly()
        from sleuth.surfaces.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


def start_quickly() -> None:
    """Turn off start-up work that a single command does not need, and that together takes over a tenth of its time."""
    # Pydantic searches every installed package for plugins.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # starting threads takes time, and no matrix is large
    gc.set_threshold(100_000)  # imports make many objects and no garbage
    atexit.register(gc.freeze)  # the objects need not be collected when the process ends


if __name__ == "__main__":
    main()
