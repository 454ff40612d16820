"""Figure 3: coverage against alpha, all 32 configurations, mean and std over splits."""

from command import run

if __name__ == "__main__":
    run("fig03")
