"""Table 14: how retrieval moves the judge's uncertainty. Read off the traces; fitted."""

from command import run

if __name__ == "__main__":
    run("table14")
