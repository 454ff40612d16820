"""Figure 1: test FDR against alpha, all 32 configurations, mean and standard deviation over splits.

The mean is over the splits that accepted something: an FDR of nothing is undefined, not 0.
"""

from command import run

if __name__ == "__main__":
    run("fig01")
