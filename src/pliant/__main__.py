"""`python -m pliant` is `pliant`."""

from pliant.cli import main

if __name__ == "__main__":
    main()
