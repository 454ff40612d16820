"""Figure 5: FDR control on NQ-Open."""

from command import run

if __name__ == "__main__":
    run("fig05")
