"""`python -m counterrank` is the command."""

from counterrank.cli import run

if __name__ == "__main__":
    run()
