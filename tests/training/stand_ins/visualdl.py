"""What the fixtures need of VisualDL: a writer that keeps the points of a curve."""


class LogWriter:
    def __init__(self, logdir: str) -> None:
        self.logdir = logdir
        self.points: list[tuple[int, float]] = []

    def add_scalar(self, tag: str, value: float, step: int) -> None:
        self.points.append((step, float(value)))
