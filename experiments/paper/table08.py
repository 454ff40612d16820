"""Table 8: k = 3, 6, 9 search results at alpha = .20, candidate Llama-3.1-70B, judge Qwen3-8B.

Other verdicts and scores of mode 2. Fitted.
"""

from command import run

if __name__ == "__main__":
    run("table08")
