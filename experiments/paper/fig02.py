"""Figure 2: who decides at alpha = .20 (mode 1, mode 2, nobody), all 32 configurations."""

from command import run

if __name__ == "__main__":
    run("fig02")
