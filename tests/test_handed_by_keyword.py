"""Objects that are handed over by keyword alone, come out of a tuple, or lie behind ``super()``."""

from __future__ import annotations

from tests.support import hot_rows

DIFFUSION = """
    import paddle


    class Diffusion:
        def training_losses(self, model, x, t):
            weights = paddle.to_tensor(self.weights)
            return model(x) * weights[t]


    class Spaced(Diffusion):
        def training_losses(self, model, *args):
            return super().training_losses(model, *args)


    def create(args):
        model = paddle.nn.Linear(1, 1)
        diffusion = Spaced()
        return model, diffusion
    """
TRAIN = """
    import functools

    import paddle
    from diffusion import create


    class Loop:
        def __init__(self, *, model, diffusion, data, optimizer):
            self.model = model
            self.diffusion = diffusion
            self.data = data
            self.optimizer = optimizer

        def run(self):
            for x, t in self.data:
                compute = functools.partial(self.diffusion.training_losses, self.model, x, t)
                compute().mean().backward()
                self.optimizer.step()
                self.optimizer.clear_grad()


    def main(args, data, optimizer):
        model, diffusion = create(args)
        Loop(model=model, diffusion=diffusion, data=data, optimizer=optimizer).run()


    main(args, data, optimizer)
    """


def test_a_step_is_followed_into_an_object_that_is_handed_by_keyword() -> None:
    assert {7, 8, 13} <= hot_rows({"diffusion.py": DIFFUSION, "train.py": TRAIN})["diffusion.py"]


def test_the_second_of_two_that_are_bound_together() -> None:
    swapped = TRAIN.replace("model, diffusion = create(args)", "diffusion, model = create(args)")
    assert hot_rows({"diffusion.py": DIFFUSION, "train.py": swapped})["diffusion.py"] == set()
