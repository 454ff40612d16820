"""Figure 4: FDR control on TriviaQA."""

from command import run

if __name__ == "__main__":
    run("fig04")
