"""Table 1: coverage of the joint router, 32 configurations at five risk levels.

Algorithm 1 (pointwise, most accepted items) on 100 random halves of each trace, delta = .05; the
mean share of accepted test items. Fitted.
"""

from command import run

if __name__ == "__main__":
    run("table01")
