"""Figure 7: FDR control on HotpotQA."""

from command import run

if __name__ == "__main__":
    run("fig07")
