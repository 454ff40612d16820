"""Table 11: entropy, a probe and a LoRA adapter as scores.

The verdicts stay, the scores change. Fitted.
"""

from command import run

if __name__ == "__main__":
    run("table11")
