"""Table 2: coverage at alpha = .20, mode 1 alone and both modes.

Mode 1 alone: the largest threshold whose bound is at most alpha. Fitted.
"""

from command import run

if __name__ == "__main__":
    run("table02")
