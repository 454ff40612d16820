"""Write the synthetic demo trace, ``data/demo/triviaqa_qwen3_8b_synthetic.csv``.

python experiments/paper/demo_trace.py
"""

from pathlib import Path

from riskjudge.paper.demo import FILE, demo_trace_text

PATH = Path(__file__).resolve().parents[2] / "data" / "demo" / FILE

if __name__ == "__main__":
    part = PATH.with_suffix(".part")
    part.write_text(demo_trace_text(), encoding="utf-8")
    part.replace(PATH)
    print(f"wrote {PATH}")
