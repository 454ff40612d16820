"""Table 13: pointwise and conservative calibration.

Conservative: delta / N^2 for each pair (Bonferroni). Its column is predicted.
"""

from command import run

if __name__ == "__main__":
    run("table13")
