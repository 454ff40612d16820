"""Table 3: thresholds of the first snapshot, applied to one queried three months later.

Calibrated on the first half of the original trace, tested on the other half's items as the later
snapshot has them. Fitted (three drift parameters for twenty figures a data set).
"""

from command import run

if __name__ == "__main__":
    run("table03")
