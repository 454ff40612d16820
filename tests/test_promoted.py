"""A gate may ask that its judges are promoted: agreement with humans comes first."""

import json

import numpy as np
import pandas as pd
import pytest

from riskjudge.agreement import PromotionRecord, promote, rater_agreement, read_promotion
from riskjudge.agreement.promotion import Floors
from riskjudge.errors import InputError


def run(*arguments):
    from riskjudge.cli import main

    with pytest.raises(SystemExit) as done:
        main([str(a) for a in arguments])
    return done.value.code


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 800)
    u = rng.uniform(0, 0.4, (800, 2))
    frame = pd.DataFrame({"item_id": [f"i{k}" for k in range(800)], "label": label})
    for k in (0, 1):
        frame[f"mode{k + 1}"] = ("plain", "search")[k]
        frame[f"v{k + 1}"] = label ^ (rng.random(800) < 0.5 * u[:, k])
        frame[f"u{k + 1}"] = u[:, k]
        frame[f"source{k + 1}"] = json.dumps({"model": f"m{k + 1}"})
    frame.to_csv(tmp_path / "t.csv", index=False)
    for name, floor in (("good", 0.5), ("held", 0.99)):
        code = run(
            *("agreement", tmp_path / "t.csv", "--judge", "v1", "--human", "label"),
            *("--floor-agreement", floor, "-o", tmp_path / f"{name}.json", "--replicates", 50),
        )
        assert code == int(name == "held")
    return tmp_path


@pytest.mark.parametrize("fuse", [[], ["--fuse"]], ids=["plain", "fused"])
def test_a_gate_asks_again_wherever_it_decides(files, capsys, fuse):
    trace, gate = files / "t.csv", files / "gates" / "gate.json"
    gate.parent.mkdir()
    base = ["calibrate", trace, *fuse, "--alpha", 0.2, "--no-registry", "-o", gate]
    assert run(*base, "--require-promoted", files / "held.json") == 1
    assert "'v1' is not promoted (held): alpha needs 0.99" in capsys.readouterr().err
    assert not gate.exists()
    assert run(*base, "--require-promoted", files / "good.json") == 0
    decide = ["decide", gate, trace, "-o", files / "o.csv"]
    assert run(*decide) == 0
    (files / "good.json").write_text((files / "held.json").read_text())
    assert run(*decide) == 1  # the judge has been measured again since
    (files / "good.json").unlink()
    capsys.readouterr()
    assert run(*decide) == 2
    assert "asks that the judge of mode 'plain' is promoted" in capsys.readouterr().err
    assert run(*decide, "--require-promoted", f"plain={files / 'held.json'}") == 1


def test_the_file_must_be_about_the_mode(files, capsys):
    base = ["calibrate", files / "t.csv", "--no-registry", "--require-promoted"]
    assert run(*base, f"search={files / 'good.json'}") == 2
    assert "model: 'm2' in these scores, 'm1' in the promotion" in capsys.readouterr().err
    record = read_promotion(files / "good.json")
    PromotionRecord("v9", record.promotion).save(files / "other.json")
    assert run(*base, files / "other.json") == 2
    assert "none of the modes plain, search" in capsys.readouterr().err


def test_the_file_is_checked(files):
    path = files / "good.json"
    data = json.loads(path.read_text())

    def refused(words, **change):
        from riskjudge.gate.document import checksum

        changed = {**data, **change}
        changed["checksum"] = checksum(changed)
        path.write_text(json.dumps(changed))
        with pytest.raises(InputError, match=words):
            read_promotion(path)

    path.write_text(json.dumps({**data, "judge": "v2"}))
    with pytest.raises(InputError, match="changed by hand"):
        read_promotion(path)
    low = {**data["floors"][1], "have": 0.1}
    refused("says met", floors=[data["floors"][0], low])
    refused("its floors say held", floors=[data["floors"][0], {**low, "met": False}])
    refused("no floor", floors=[])
    refused("is True, not a number", floors=[{**low, "need": True}])
    refused("damaged: KeyError", floors=[{"floor": "n"}])
    refused("damaged: ValueError", state="crowned")
    refused("format version 9", format_version=9)
    refused("is not the state of a promotion", format="other")
    path.write_text("{")
    with pytest.raises(InputError, match="damaged or not JSON"):
        read_promotion(path)


def test_there_and_back(tmp_path):
    report = rater_agreement([[1, 1], [0, 0]] * 5)
    record = PromotionRecord("judge", promote(report, floors=Floors()))
    record.save(tmp_path / "p.json")
    assert read_promotion(tmp_path / "p.json") == record
    assert "insufficient" in record.why_not()
