"""Whatever is handed in: an exception or a value, never a crash."""

from __future__ import annotations

import os

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import rankfall as rf

EXAMPLES = int(os.environ.get("RANKFALL_EXAMPLES", "150"))
FAST = settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck), derandomize=True)

dtypes = st.one_of(
    hnp.floating_dtypes(endianness="?"), hnp.integer_dtypes(), hnp.complex_number_dtypes(), hnp.boolean_dtypes()
)
shapes = hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=5)
anything = hnp.arrays(dtypes, shapes)


def tried(call):
    try:
        call()
    except (rf.RankfallError, TypeError):
        pass


@FAST
@given(anything, st.one_of(st.none(), anything), st.one_of(st.none(), anything))
def test_metrics(x, mask, attention):
    with np.errstate(all="ignore"):
        tried(lambda: rf.metrics(x, mask=mask, attention=attention))
        tried(lambda: rf.metrics(x, ["all"], mask=mask))


@FAST
@given(anything, anything, st.floats(), st.booleans(), st.one_of(st.none(), anything))
def test_pairs(a, b, scale, causal, mask):
    with np.errstate(all="ignore"):
        tried(lambda: rf.max_logit(a, b, scale=scale, causal=causal, mask=mask))
        tried(lambda: rf.block_influence(a, b, mask=mask))


@FAST
@given(st.recursive(st.one_of(st.none(), st.integers(), st.floats(), st.text(max_size=5)), st.lists, max_leaves=8))
def test_things_that_are_no_arrays(x):
    with np.errstate(all="ignore"):
        tried(lambda: rf.metrics(x))
        tried(lambda: rf.load("san:layers=1,heads=1,dim=4,vocab=9").forward(ids=x))
        tried(lambda: rf.load("san:layers=1,heads=1,dim=4,vocab=9").forward(hidden=x))


@FAST
@given(anything)
def test_arrays_as_inputs(x):
    model = rf.load("san:layers=1,heads=1,dim=4,vocab=9")
    with np.errstate(all="ignore"):
        tried(lambda: model.forward(ids=x))
        tried(lambda: model.forward(hidden=x, mask=x))
        tried(lambda: model.forward(features=x))
        tried(lambda: model.forward(pixels=x))
