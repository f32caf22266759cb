"""What names say: one vocabulary for all rules."""

from __future__ import annotations

import pytest

from perflint.syntax.vocabulary import evaluates, is_no_training, predicts, snake


@pytest.mark.parametrize(
    "name",
    [
        "evaluate",
        "eval",
        "val",
        "val_loader",
        "loader_val",
        "valloader",
        "test_ds",
        "testset",
        "TestLoader",
        "tests",
        "DevReader",
        "self.valid_loader",
        "validate",
        "run_val",
        "evaluator",
        "EvalNet",
        "dev",
        "testing",
    ],
)
def test_names_of_evaluation(name: str) -> None:
    assert evaluates(name)
    assert is_no_training(name)


@pytest.mark.parametrize(
    "name",
    [
        "latest",
        "contest",
        "value",
        "interval",
        "expected_val",
        "ExpecVal",
        "device",
        "developer",
        "loss_val",
        "medieval",
        "invalid",
        "attest",
        "step",
        "train",
    ],
)
def test_names_that_only_hold_such_letters(name: str) -> None:
    assert not evaluates(name)


@pytest.mark.parametrize(
    "name", ["infer", "Predictor", "pred", "pred_loader", "export_model", "deploy", "serve", "demo"]
)
def test_names_of_prediction(name: str) -> None:
    assert predicts(name)
    assert not evaluates(name)


@pytest.mark.parametrize(
    "name", ["construct_pred_edge", "pred_loss", "preprocess", "observe", "server_address", "report"]
)
def test_names_that_predict_nothing(name: str) -> None:
    assert not predicts(name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sample", True),
        ("sample_images", True),
        ("down_sample", False),
        ("resample", False),
        ("GridSampling", False),
        ("visualize", True),
        ("collect", True),
        ("train_and_eval", False),
        ("test_train_split", False),
    ],
)
def test_names_of_what_does_not_train(name: str, expected: bool) -> None:
    assert is_no_training(name) is expected


@pytest.mark.parametrize(
    ("name", "expected"), [("EvalNet", "eval_net"), ("RPNHead", "rpn_head"), ("L0_SIGN", "l0_sign"), ("a.bC", "a.b_c")]
)
def test_words_of_a_name(name: str, expected: str) -> None:
    assert snake(name) == expected
