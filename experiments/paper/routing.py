"""The two routing shares that stand in the text: mode 1 on TriviaQA at alpha = .20. Predicted."""

from command import run

if __name__ == "__main__":
    run("routing")
