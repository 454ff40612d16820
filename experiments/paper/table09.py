"""Table 9: delta = .05 and .01.

The row at .01 is predicted.
"""

from command import run

if __name__ == "__main__":
    run("table09")
