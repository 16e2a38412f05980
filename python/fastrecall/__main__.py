"""Run the command line: ``python -m fastrecall``."""

from fastrecall.cli.app import main

if __name__ == "__main__":
    main()
