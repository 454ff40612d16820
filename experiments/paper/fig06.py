"""Figure 6: FDR control on PopQA."""

from command import run

if __name__ == "__main__":
    run("fig06")
