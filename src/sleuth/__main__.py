"""`python -m sleuth` is the command line."""

from sleuth.surfaces.cli.app import main

main()
