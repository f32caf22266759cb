"""Gradient accumulation: which loop is the step, and where the optimizer's turn is a guard."""

from __future__ import annotations

import pytest

from tests.support import expect_reads


def test_accumulation_keeps_the_loop_a_step_loop() -> None:
    expect_reads(
        """
        import paddle


        def train(model, loader, optimizer, args):
            for step, images in enumerate(loader):
                loss = model(images).mean() / args.accumulation_steps
                loss.backward()
                model.last = loss.item()  #: PPF201
                if (step + 1) % args.accumulation_steps == 0:
                    optimizer.step()
                    optimizer.clear_grad()
        """
    )


def test_an_inner_loop_over_parts_of_a_batch_belongs_to_the_step() -> None:
    expect_reads(
        """
        import paddle


        def train(model, loader, optimizer, accum_steps):
            for images in loader:
                for part in range(accum_steps):
                    loss = model(images[part]).mean()
                    loss.backward()
                    model.last = loss.item()  #: PPF201
                optimizer.step()
                optimizer.clear_grad()
                print("loss", loss.item())  #: PPF202
            print("epoch", loss.item())
        """
    )


@pytest.mark.parametrize("condition", ["(step + 1) % 4 == 0", "step % ACCUMULATE == 0"])
def test_accumulation_of_a_known_length_is_a_guard_for_what_is_under_it(condition: str) -> None:
    expect_reads(
        f"""
        import paddle

        ACCUMULATE = 8


        def train(model, loader, optimizer):
            for step, images in enumerate(loader):
                loss = model(images).mean() / 4
                loss.backward()
                model.last = loss.item()  #: PPF201
                if {condition}:
                    optimizer.step()
                    optimizer.clear_grad()
                    print(step, loss.item())
        """
    )


@pytest.mark.parametrize("condition", ["(step + 1) % args.accumulation_steps == 0", "step % accum_iter == 0"])
def test_accumulation_of_an_unknown_length_is_usually_one(condition: str) -> None:
    expect_reads(
        f"""
        import paddle


        def train(model, loader, optimizer, args, accum_iter=1):
            for step, images in enumerate(loader):
                loss = model(images).mean()
                loss.backward()
                if {condition}:
                    optimizer.step()
                    optimizer.clear_grad()
                    print(step, loss.item())  #: PPF202
        """
    )


STEP_OF_THE_OPTIMIZER = """
    import paddle


    def train(model, loader, optimizer, args):
        for step, images in enumerate(loader):
            loss = model(images).mean()
            loss.backward()
            if {test}:
                {call}
                print(step, loss.item()){mark}
"""


@pytest.mark.parametrize("test", ["(step + 1) % args.window == 0", "not step % args.window"])
def test_what_runs_with_the_optimizer_runs_at_each_of_its_steps(test: str) -> None:
    call = "optimizer.step()"
    expect_reads(STEP_OF_THE_OPTIMIZER.format(test=test, call=call, mark="  #: PPF202"))
    expect_reads(STEP_OF_THE_OPTIMIZER.format(test=test, call="args.show()", mark=""))


def test_a_known_number_of_batches_for_each_step_of_the_optimizer_is_an_interval() -> None:
    expect_reads(STEP_OF_THE_OPTIMIZER.format(test="(step + 1) % 4 == 0", call="optimizer.step()", mark=""))
