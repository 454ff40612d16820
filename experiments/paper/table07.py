"""Table 7: three admission functions, candidate Qwen3-8B, judge Qwen3-14B.

Other labels for the same verdicts and scores. Fitted.
"""

from command import run

if __name__ == "__main__":
    run("table07")
