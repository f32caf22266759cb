"""The kinds of work that a step consists of, and the phase of a step that each is counted in."""

READER = "reader"
FORWARD = "forward"
BACKWARD = "backward"
OPTIMIZER = "optimizer"
READ = "read"
SIZED = "sized"
WAIT = "wait"
COPY = "copy"
SAVE = "save"
LOG = "log"
COLLECT = "collect"
SLEEP = "sleep"
EVALUATE = "evaluate"
OTHER = "other"

PHASES = (READER, FORWARD, BACKWARD, OPTIMIZER, READ, COPY, SAVE, LOG, OTHER)
"""The phases of a step.  Each moment of a step belongs to one of them."""

PHASE_OF = {
    **{phase: phase for phase in PHASES},
    SIZED: READ,  # the size of the result depends on values, so the host has to read them
    WAIT: READ,
    COLLECT: OTHER,
    SLEEP: OTHER,
    EVALUATE: OTHER,
}
"""The phase that each kind is counted in."""
