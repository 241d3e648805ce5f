"""`sleuth` and `python -m sleuth` are the command line."""

import atexit
import gc
import os
import signal
import sys


def main() -> None:
    """Run it; Ctrl-C is silent even while it is being imported, and SIGTERM ends as it does: temporary files go."""
    try:
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        # Start-up work that a single command does not need, and that together takes over a tenth of its time.
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # it searches every installed package
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads take time to start; no matrix is large
        gc.set_threshold(100_000)  # imports make many objects and no garbage
        atexit.register(gc.freeze)  # the objects need not be collected when the process ends
        from sleuth.surfaces.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
