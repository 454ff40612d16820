"""Table 10: 10, 25, 50 and 75 % of the items for calibration.

All rows but the one at 50 % are predicted.
"""

from command import run

if __name__ == "__main__":
    run("table10")
