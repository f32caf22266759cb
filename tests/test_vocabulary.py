"""What names say: one vocabulary for all rules."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from perflint.syntax.vocabulary import (
    counts_hits,
    evaluates,
    exports,
    is_no_training,
    means_batches,
    means_layer,
    means_loss,
    means_metric,
    means_model,
    means_scheduler,
    predicts,
    snake,
    speaks_of_metrics,
    trains,
)


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
    "name",
    ["infer", "Predictor", "pred", "pred_loader", "export_model", "deploy", "serve", "demo", "post_quant", "PtqModel"],
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


@pytest.mark.parametrize(
    ("name", "is_model", "is_layer"),
    [
        ("model", True, True),
        ("net_G", True, True),
        ("self.criterion", False, False),
        ("loss_fn", False, True),
        ("teacher_model", True, True),
        ("model_path", False, False),
        ("modeling", False, False),
    ],
)
def test_names_of_models_and_of_what_is_called_like_one(name: str, is_model: bool, is_layer: bool) -> None:
    assert means_model(name) is is_model
    assert means_layer(name) is is_layer


@pytest.mark.parametrize(
    ("name", "is_metric", "hits"),
    [
        ("accuracy", True, True),
        ("TopKGate", False, True),
        ("margin_ranking_loss", False, False),
        ("metric_fn", True, False),
        ("accumulate", False, False),
        ("symmetric", False, False),
        ("IoUMetric", True, False),
    ],
)
def test_names_of_metrics_and_of_counts_of_what_is_right(name: str, is_metric: bool, hits: bool) -> None:
    assert means_metric(name) is is_metric
    assert counts_hits(snake(name)) is hits


@pytest.mark.parametrize(
    ("name", "expected"),
    [("export_model", True), ("onnx_export", True), ("deploy", True), ("torch2paddle", True), ("train", False)],
)
def test_names_of_exports(name: str, expected: bool) -> None:
    assert exports(name) is expected


@pytest.mark.parametrize(
    ("asks", "said", "only_letters"),
    [
        (speaks_of_metrics, "EvalMetric", "paddle_geometric"),
        (trains, "is_train", "constraint"),
        (means_batches, "train_dataloader", "criterion"),
        (means_scheduler, "lr_scheduler", "already"),
        (means_loss, "reconstruction_loss", "loss_str"),
        (means_loss, "discriminator_loss", "loss_min"),
    ],
)
def test_words_count_and_not_letters(asks: Callable[[str], bool], said: str, only_letters: str) -> None:
    assert asks(said)
    assert not asks(only_letters)
