"""Table 6: FDR and coverage at twelve levels, candidate Qwen3-8B, 16 configurations.

The runs of Table 1 with seven more levels. A split that accepts nothing counts as FDR 0, as in the
paper's means; the CSV says how many did. Fitted.
"""

from command import run

if __name__ == "__main__":
    run("table06")
