"""Table 12: direct (mode 1 alone), self-eval, empty (mode 2 without evidence), joint.

The direct row is predicted, but for alpha = .20, which stands in Table 2.
"""

from command import run

if __name__ == "__main__":
    run("table12")
