"""Metrics of arrays: against NumPy, for every layout, and whatever is wrong with an array."""

from __future__ import annotations

import io
import mmap

import numpy as np
import pytest

import rankfall as rf

RNG = np.random.default_rng(1)


def twin(x):
    """The metrics by their formulas, in NumPy."""
    x = np.asarray(x, dtype=np.float64)
    r = x - x.mean(axis=0)
    one, inf = (lambda a: np.abs(a).sum(axis=0).max()), (lambda a: np.abs(a).sum(axis=1).max())
    composite = lambda a: np.sqrt(one(a) * inf(a))
    s = np.linalg.svd(x, compute_uv=False)
    p = s / s.sum()
    p = p[p > 0]
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    cosines = (unit @ unit.T)[np.triu_indices(len(x), 1)]
    return {
        "residual.composite": composite(r),
        "residual.one": one(r),
        "residual.inf": inf(r),
        "residual.frobenius": np.linalg.norm(r),
        "relative_residual.composite": composite(r) / composite(x),
        "relative_residual.frobenius": np.linalg.norm(r) / np.linalg.norm(x),
        "cosine.mean": cosines.mean() if cosines.size else np.nan,
        "cosine.mean_abs": np.abs(cosines).mean() if cosines.size else np.nan,
        "rank.stable": (s**2).sum() / s[0] ** 2,
        "rank.effective": np.exp(-(p * np.log(p)).sum()),
    }


@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-12), (np.float32, 2e-5), (np.float16, 2e-5)])
@pytest.mark.parametrize("shape", [(5, 3), (1, 4), (2, 7, 5), (2, 3, 4, 6)])
def test_equal_numpy(dtype, tolerance, shape):
    x = RNG.normal(size=shape).astype(dtype)
    got = rf.metrics(x, ["all"])
    flat = x.reshape(-1, *shape[-2:])
    for name, value in got.items():
        assert np.shape(value) == shape[:-2], name
        values = np.ravel(value)
        for i, matrix in enumerate(flat):
            expected = twin(matrix).get(name) if matrix.shape[0] > 1 or not name.startswith("cosine") else None
            if expected is not None:
                assert values[i] == pytest.approx(expected, rel=tolerance, abs=tolerance), (name, i)


def test_layouts_give_the_same():
    x = RNG.normal(size=(3, 6, 4))
    expected = rf.metrics(x)["relative_residual.composite"]
    strided = np.zeros((3, 12, 8))
    strided[:, ::2, ::2] = x
    read_only = x.copy()
    read_only.setflags(write=False)
    class Buffer:  # an object with DLPack alone
        def __dlpack__(self, **options):
            return x.__dlpack__()

        def __dlpack_device__(self):
            return x.__dlpack_device__()

    others = [
        np.asfortranarray(x),
        strided[:, ::2, ::2],
        x.astype(">f8"),
        read_only,
        memoryview(x),
        x.tolist(),
        x[::-1][::-1],
        Buffer(),
    ]
    for other in others:
        np.testing.assert_array_equal(rf.metrics(other)["relative_residual.composite"], expected)


def test_large_arrays_are_read_where_they_are():
    x = np.ones((64, 512, 512), dtype=np.float32)  # 64 MB
    x[:, 0, 0] = 2
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rf.metrics(x, "relative_residual.frobenius")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000  # kB: no copy


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    x = torch.randn(2, 6, 4, dtype=torch.float64, requires_grad=True)
    expected = rf.metrics(x.detach().numpy())["cosine.mean"]
    np.testing.assert_array_equal(rf.metrics(x)["cosine.mean"], expected)
    np.testing.assert_array_equal(rf.metrics(x.transpose(1, 2).contiguous().transpose(1, 2))["cosine.mean"], expected)
    half = x.detach().bfloat16()
    np.testing.assert_allclose(rf.metrics(half)["cosine.mean"], rf.metrics(half.float())["cosine.mean"])
    with pytest.raises(rf.InputError, match="sparse"):
        rf.metrics(torch.eye(4).to_sparse())


def test_masks():
    x = RNG.normal(size=(2, 5, 3))
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    got = rf.metrics(x, mask=mask)["relative_residual.composite"]
    assert got[0] == rf.metrics(x[0, :3])["relative_residual.composite"]
    assert got[1] == rf.metrics(x[1])["relative_residual.composite"]
    np.testing.assert_array_equal(rf.metrics(x, mask=mask != 0)["relative_residual.composite"], got)
    assert rf.metrics(x, mask=[1, 1, 1, 0, 0])["relative_residual.composite"][1] != got[1]
    for wrong in ([1, 1], np.ones((3, 5)), np.ones((2, 4)), [["a"] * 5] * 2):
        with pytest.raises(rf.InputError, match="mask"):
            rf.metrics(x, mask=wrong)
    with pytest.raises(rf.UsageError, match="no token"):
        rf.metrics(x, mask=[0] * 5)


def test_attention():
    z = RNG.normal(size=(2, 3, 5, 5))
    p = np.exp(z) / np.exp(z).sum(axis=-1, keepdims=True)
    got = rf.metrics(attention=p)
    entropy = -(p * np.log(p)).sum(axis=-1).mean(axis=-1)
    np.testing.assert_allclose(got["attention.entropy"], entropy, rtol=1e-12)
    np.testing.assert_allclose(got["attention.sink"], p[..., 0].mean(axis=-1), rtol=1e-12)
    sigma = np.linalg.svd(p, compute_uv=False)
    np.testing.assert_allclose(got["attention.sigma2"], sigma[..., 1], rtol=1e-10)
    both = rf.metrics(RNG.normal(size=(2, 5, 4)), attention=p)
    assert both["cosine.mean"].shape == (2,) and both["attention.sink"].shape == (2, 3)
    with pytest.raises(rf.UsageError, match="n x n"):
        rf.metrics(attention=np.ones((4, 5)) / 5)
    masked = rf.metrics(attention=p, mask=[[1, 1, 1, 1, 0]] * 2, metrics="attention.sink")["attention.sink"]
    np.testing.assert_allclose(masked, p[..., :4, 0].mean(axis=-1), rtol=1e-12)


def test_logits():
    q, k = RNG.normal(size=(2, 4, 8)), RNG.normal(size=(2, 6, 8))
    z = q @ k.transpose(0, 2, 1) / np.sqrt(8)
    np.testing.assert_allclose(rf.max_logit(q, k), z.max(axis=(1, 2)))
    np.testing.assert_allclose(rf.logit_range(q, k), (z.max(axis=2) - z.min(axis=2)).max(axis=1))
    with pytest.raises(rf.InputError, match="expected the same"):
        rf.max_logit(q, k[..., :3])
    with pytest.raises(rf.InputError, match="scale"):
        rf.max_logit(q, k, scale="large")


def test_single_functions():
    x, y = RNG.normal(size=(2, 6, 4)), RNG.normal(size=(2, 6, 4))
    np.testing.assert_allclose(rf.residual(x, "frobenius"), [twin(m)["residual.frobenius"] for m in x])
    np.testing.assert_allclose(rf.effective_rank(x), [twin(m)["rank.effective"] for m in x])
    cos = (x * y).sum(-1) / np.linalg.norm(x, axis=-1) / np.linalg.norm(y, axis=-1)
    np.testing.assert_allclose(rf.block_influence(x, y), 1 - cos.mean(axis=-1))
    with pytest.raises(rf.UsageError, match="unknown metric 'residual.two'"):
        rf.residual(x, norm="two")


def released():
    view = memoryview(b"12345678").cast("d")
    view.release()
    return view


def closed_map():
    memory = mmap.mmap(-1, 4096)
    memory.close()
    return memory


@pytest.mark.parametrize(
    "wrong, kind, words",
    [
        (np.ones((3, 4), dtype=int), rf.InputError, "int64"),
        (np.ones((3, 4), dtype=complex), rf.InputError, "complex"),
        (np.ones((3, 4), dtype=np.longdouble), rf.InputError, "float128|longdouble"),
        (np.array([["a"]]), rf.InputError, "type"),
        (np.array([[None]]), rf.InputError, "object"),
        (np.ones(4), rf.InputError, "axes"),
        (np.float64(1), rf.InputError, "axes"),
        (np.ones((0, 4)), rf.UsageError, "0 x 4"),
        (np.ones((4, 0)), rf.UsageError, "4 x 0"),
        (np.array([[1.0, np.nan]]), rf.NumericalError, "nan in row 0, column 1"),
        (np.array([[1.0], [-np.inf]]), rf.NumericalError, "-inf in row 1"),
        (np.ma.masked_array(np.ones((2, 2))), rf.InputError, "masked"),
        ([[1.0, 2.0], [3.0]], rf.InputError, "array|type"),
        (object(), rf.InputError, "type|axes"),
        (None, rf.UsageError, "give states"),
        (released(), rf.InputError, "released"),
        (closed_map(), rf.InputError, "closed"),
        (io.StringIO("1 2"), rf.InputError, "StringIO"),
    ],
)
def test_what_is_wrong_is_said(wrong, kind, words):
    with pytest.raises(kind, match=words):
        rf.metrics(wrong)


def test_no_samples_give_no_values():
    assert rf.metrics(np.ones((0, 4, 3)))["cosine.mean"].shape == (0,)


def test_threads_do_not_matter():
    x = RNG.normal(size=(9, 40, 30))
    before = rf.threads()
    try:
        rf.set_threads(1)
        one = rf.metrics(x, "all")
        rf.set_threads(3)
        three = rf.metrics(x, "all")
    finally:
        rf.set_threads(before)
    for name in one:
        np.testing.assert_array_equal(one[name], three[name])
