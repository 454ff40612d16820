"""Table 5: accuracy of both modes' verdicts before calibration, read off the traces. Fitted."""

from command import run

if __name__ == "__main__":
    run("table05")
