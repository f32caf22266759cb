"""PPF116: which default batch sizes of programs for texts are reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflint.cli import main
from tests.support import check

PROGRAM = """\
import argparse

import paddle
from paddlenlp.transformers import AutoModelForSequenceClassification, AutoTokenizer

parser = argparse.ArgumentParser()
{options}
args = parser.parse_args()
model = AutoModelForSequenceClassification.from_pretrained({model})
tokenizer = AutoTokenizer.from_pretrained("bert")
optimizer = paddle.optimizer.AdamW(parameters=model.parameters())
for step, (text, label) in enumerate(batches(args.batch_size)):
    ids = paddle.to_tensor(tokenizer(text, max_length=args.max_length)["input_ids"])
    loss = paddle.nn.functional.cross_entropy(model(ids), label)
    loss.backward()
    {step}
"""
LENGTH = 'parser.add_argument("--max_length", type=int, default=128)\n'
STEP = "optimizer.step()\n    optimizer.clear_grad()"


def program(size: str, length: str = LENGTH, more: str = "", model: str = '"bert-base"', step: str = STEP) -> str:
    """A program that trains on batches of the size that an option has."""
    return PROGRAM.format(options=f"{length}{size}{more}", model=model, step=step)


def option(default: str, name: str = "--batch_size") -> str:
    """An option with a default."""
    return f'parser.add_argument("{name}", type=int, default={default})\n'


@pytest.mark.parametrize(
    ("size", "count"),
    [
        (option("4"), 1),
        (option("2", "--per_device_train_batch_size"), 1),
        (option("1", "--train-batch-size"), 1),
        (option("8"), 0),
        (option("None"), 0),
        (option("4", "--eval_batch_size"), 0),
        (option("4", "--max_batch_size"), 0),
        ('parser.add_argument("--batch_size", type=int, required=True)\n', 0),
        ('parser.add_argument("--batch_size", type=int, default=4, help="more needs more memory")\n', 0),
        (f"# out of memory with more\n{option('4')}", 0),
    ],
)
def test_the_default_of_the_option_is_looked_at(size: str, count: int) -> None:
    assert len(check(program(size), "PPF116")) == count


def test_the_option_for_training_decides() -> None:
    sizes = option("4") + option("32", "--train_batch_size")
    assert check(program(sizes), "PPF116") == []


@pytest.mark.parametrize(
    "length",
    ["", LENGTH.replace("128", "512"), LENGTH.replace("128", "None"), option("16", "--max_label_length")],
)
def test_texts_that_may_be_long_are_left_out(length: str) -> None:
    assert check(program(option("4"), length), "PPF116") == []


def test_large_networks_and_recomputation_are_left_out() -> None:
    name = 'parser.add_argument("--model", default="{}")\n'
    assert len(check(program(option("4"), more=name.format("ernie-3.0-base-zh"), model="args.model"), "PPF116")) == 1
    assert check(program(option("4"), more=name.format("ernie-1.0-large-zh"), model="args.model"), "PPF116") == []
    assert check(program(option("4"), more=name.format("llama-7b"), model="args.model"), "PPF116") == []
    assert check(program(option("4"), step=f"model.config.recompute = True\n    {STEP}"), "PPF116") == []


def test_accumulated_batches_are_named() -> None:
    accumulates = option("4", "--gradient_accumulation_steps")
    step = "if step % args.gradient_accumulation_steps == 0:\n        optimizer.step()\n        optimizer.clear_grad()"
    [finding] = check(program(option("4"), more=accumulates, step=step), "PPF116")
    expected = "`--gradient_accumulation_steps` (line 9) accumulates 4 such batches: one batch of 16"
    assert expected in finding.message
    [finding] = check(program(option("4"), more=accumulates.replace("default=4", "default=1")), "PPF116")
    assert "accumulates" not in finding.message


def test_another_network_is_left_out() -> None:
    text = program(option("4")).replace("AutoModelForSequenceClassification.from_pretrained", "paddle.nn.Linear")
    assert check(text, "PPF116") == []


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("python train.py --max_length 128", 1),
        ("python train.py --batch_size 2", 1),
        ("python train.py --batch-size=32", 0),
        ("python train.py \\\\\n  --batch_size $SIZE", 0),
    ],
)
def test_what_scripts_pass_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, count: int) -> None:
    (tmp_path / "train.py").write_text(program(option("4")), encoding="utf-8")
    (tmp_path / "run.sh").write_text(f"{line}\n", encoding="utf-8")
    main(["check", "--select", "PPF116", "--no-cache", "--output-format", "concise", str(tmp_path)])
    assert capsys.readouterr().out.count(": PPF116") == count


@pytest.mark.parametrize(
    ("script", "other", "count"),
    [
        ("a/run.sh", True, 0),
        ("run.sh", True, 0),
        ("a/b/run.sh", True, 0),
        ("b/run.sh", True, 1),
        ("b/run.sh", False, 0),
    ],
)
def test_scripts_of_another_program_do_not_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], script: str, other: bool, count: int
) -> None:
    files = {"a/train.py": program(option("4")), script: "python ../a/train.py --batch_size 32\n"}
    files |= {"b/train.py": "print(1)\n"} if other else {}
    files["README.md"] = "One project.\n"
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    main(["check", "--select", "PPF116", "--no-cache", "--output-format", "concise", str(tmp_path)])
    assert capsys.readouterr().out.count(": PPF116") == count
