"""Libraries for graphs, geometry, physics, equations, control and games."""

import numpy as np
import torch
from programs.steps import forward_and_back, train
from torch import nn


def torch_geometric():
    from torch_geometric.data import Batch, Data
    from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, TransformerConv, global_mean_pool
    from torch_geometric.utils import add_self_loops, degree, scatter, softmax, to_dense_adj

    edges = torch.tensor([[0, 1, 1, 2, 3, 3], [1, 0, 2, 1, 0, 2]])
    x = torch.randn(4, 5)
    found = {}
    for make in (GCNConv, GATConv, SAGEConv, TransformerConv):
        found[make.__name__] = forward_and_back(make(5, 3), x, edges)
    found["gin"] = forward_and_back(GINConv(nn.Linear(5, 3)), x, edges)
    batch = Batch.from_data_list([Data(x, edges), Data(x * 2, edges)])
    found["pooled"] = global_mean_pool(batch.x, batch.batch)
    found["scatter"] = [scatter(x, torch.tensor([0, 1, 0, 1]), reduce=how) for how in ("sum", "mean", "max", "mul")]
    found["utils"] = [
        degree(edges[0]),
        softmax(x[:, 0], torch.tensor([0, 0, 1, 1])),
        to_dense_adj(edges),
        add_self_loops(edges)[0],
    ]
    return found


def e3nn():
    from e3nn import o3
    from e3nn.nn import Gate

    irreps = o3.Irreps("2x0e + 1x1o + 1x2e")
    product = o3.FullyConnectedTensorProduct(irreps, irreps, "4x0e + 2x1o")
    gate = Gate("2x0e", [torch.relu], "1x0e", [torch.sigmoid], "1x1o")
    return {
        "harmonics": o3.spherical_harmonics([0, 1, 2, 3], torch.randn(4, 3), normalize=True),
        "product": forward_and_back(product, irreps.randn(3, -1), irreps.randn(3, -1)),
        "gate": gate(torch.randn(3, gate.irreps_in.dim)),
        "wigner": o3.wigner_3j(1, 2, 1),
        "rotated": irreps.D_from_matrix(o3.rand_matrix()),
    }


def torchdiffeq():
    from torchdiffeq import odeint, odeint_adjoint, odeint_event

    class Field(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))

        def forward(self, t, y):
            return self.net(y**3)

    field, y0, times = Field(), torch.tensor([[2.0, 0.0]]), torch.linspace(0, 2, 6)
    found = {
        name: odeint(field, y0, times, method=name)
        for name in ("dopri5", "rk4", "euler", "midpoint", "dopri8", "explicit_adams", "bosh3")
    }
    adjoint = odeint_adjoint(field, y0, times)
    adjoint.sum().backward()
    fall = odeint_event(
        lambda t, y: torch.stack([y[1], torch.tensor(-9.8)]),
        torch.tensor([10.0, 0.0]),
        torch.tensor(0.0),
        event_fn=lambda t, y: y[0],
    )
    return {**found, "adjoint": adjoint, "grads": [each.grad for each in field.parameters()], "event": fall[0]}


def torchcde():
    import torchcde

    x = torch.randn(2, 6, 3)
    spline = torchcde.CubicSpline(torchcde.hermite_cubic_coefficients_with_backward_differences(x))

    class Field(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(4, 12)

        def forward(self, t, z):
            return self.net(z).tanh().view(*z.shape[:-1], 4, 3)

    field = Field()
    z = torchcde.cdeint(
        X=spline, func=field, z0=torch.zeros(2, 4), t=spline.interval, method="rk4", options={"step_size": 0.5}
    )
    z.sum().backward()
    return {
        "z": z,
        "grad": field.net.weight.grad,
        "linear": torchcde.LinearInterpolation(torchcde.linear_interpolation_coeffs(x)).evaluate(1.5),
    }


def torchode():
    import torchode

    term = torchode.ODETerm(lambda t, y: -y)
    method = torchode.Dopri5(term=term)
    solver = torchode.AutoDiffAdjoint(method, torchode.IntegralController(atol=1e-6, rtol=1e-3, term=term))
    return solver.solve(
        torchode.InitialValueProblem(y0=torch.ones(2, 2), t_eval=torch.linspace(0, 1, 5).repeat(2, 1))
    ).ys


def torchdyn():
    from torchdyn.core import NeuralODE

    model = NeuralODE(nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2)), solver="rk4", sensitivity="adjoint")
    return model(torch.randn(3, 2), torch.linspace(0, 1, 4))[1]


def deepxde():
    import os

    os.environ["DDE_BACKEND"] = "pytorch"
    import deepxde

    deepxde.config.set_random_seed(1)
    line = deepxde.geometry.Interval(-1, 1)
    data = deepxde.data.PDE(
        line,
        lambda x, y: deepxde.grad.hessian(y, x) + torch.sin(x),
        deepxde.icbc.DirichletBC(line, lambda x: 0, lambda x, on: on),
        12,
        2,
    )
    model = deepxde.Model(data, deepxde.nn.FNN([1, 8, 1], "tanh", "Glorot uniform"))
    model.compile("adam", lr=1e-2, verbose=0)
    history, _ = model.train(iterations=5, display_every=1, verbose=0)
    return {"losses": history.loss_train}


def neuraloperator():
    from neuralop.models import FNO

    model = FNO(n_modes=(4, 4), hidden_channels=8, in_channels=1, out_channels=1, n_layers=2)
    return forward_and_back(model, torch.randn(2, 1, 16, 16))


def torch_harmonics():
    import torch_harmonics

    x = torch.randn(2, 16, 32)
    coefficients = torch_harmonics.RealSHT(16, 32, grid="equiangular")(x)
    return {"forward": coefficients, "back": torch_harmonics.InverseRealSHT(16, 32, grid="equiangular")(coefficients)}


def tensorly():
    import tensorly

    tensorly.set_backend("pytorch")
    x = torch.randn(4, 5, 6)
    core, factors = tensorly.decomposition.tucker(x, rank=[2, 3, 2], random_state=1)
    cp = tensorly.decomposition.parafac(x, rank=2, init="svd", random_state=1, n_iter_max=5)
    return {
        "tucker": tensorly.tucker_to_tensor((core, factors)),
        "cp": tensorly.cp_to_tensor(cp),
        "train": tensorly.decomposition.tensor_train(x, [1, 2, 2, 1]).factors
        if hasattr(tensorly.decomposition.tensor_train(x, [1, 2, 2, 1]), "factors")
        else 0,
    }


def torchani():
    import torchani

    species = torch.tensor([[1, 0, 0, 0, 0]])
    positions = torch.tensor(
        [[[0.03, 0.006, 0.01], [-0.8, 0.4, -0.3], [-0.67, -0.85, 0.25], [0.45, 0.6, 0.9], [0.7, -0.3, -0.8]]],
        requires_grad=True,
    )
    aev = torchani.AEVComputer.like_1x(num_species=4)
    out = aev(species, positions)
    out = out[1] if isinstance(out, tuple) else out
    out.sum().backward()
    return {"aev": out, "grad": positions.grad}


def pypose():
    import pypose

    x = pypose.randn_SE3(2, requires_grad=True)
    points = torch.randn(2, 3)
    moved = x @ points
    moved.sum().backward()
    return {
        "moved": moved,
        "log": x.Log().tensor(),
        "grad": x.grad.tensor() if hasattr(x.grad, "tensor") else x.grad,
        "exp": pypose.so3(torch.randn(3, 3)).Exp().matrix(),
    }


def pytorch_kinematics():
    import pytorch_kinematics as kinematics

    robot = '<robot name="r"><link name="a"/><link name="b"/><link name="c"/><joint name="j1" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0 0 1"/><axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint><joint name="j2" type="revolute"><parent link="b"/><child link="c"/><origin xyz="1 0 0"/><axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint></robot>'
    chain = kinematics.build_serial_chain_from_urdf(robot, "c")
    angles = torch.tensor([[0.1, 0.2], [0.5, -0.3]], requires_grad=True)
    pose = chain.forward_kinematics(angles).get_matrix()
    pose.sum().backward()
    return {"pose": pose, "grad": angles.grad, "jacobian": chain.jacobian(angles.detach())}


def roma():
    import roma

    vectors = torch.randn(4, 3, requires_grad=True)
    matrix = roma.rotvec_to_rotmat(vectors)
    matrix.sum().backward()
    return {
        "matrix": matrix,
        "grad": vectors.grad,
        "slerp": roma.rotvec_slerp(vectors.detach()[0], vectors.detach()[1], torch.linspace(0, 1, 3)),
        "procrustes": roma.special_procrustes(torch.randn(2, 3, 3)),
    }


def einops():
    import einops
    from einops.layers.torch import EinMix, Rearrange, Reduce

    x = torch.randn(2, 3, 4, 6, requires_grad=True)
    model = nn.Sequential(
        Rearrange("b c (h p) w -> b (h c) p w", p=2),
        Reduce("b c p w -> b c w", "mean"),
        EinMix("b c w -> b d w", weight_shape="c d", bias_shape="d", c=6, d=5),
    )
    return {
        "layers": forward_and_back(model, x),
        "grad": x.grad,
        "einsum": einops.einsum(x, x, "b c h w, b c g w -> b h g"),
        "packed": einops.pack([x, x.mean(1)], "b * w")[0],
        "repeated": einops.repeat(x, "b c h w -> b c (h 2) w"),
    }


def einx():
    import einx

    x = torch.randn(2, 3, 4)
    return {
        "mean": einx.mean("a [b] c", x),
        "dot": einx.dot("a b c, c d -> a b d", x, torch.randn(4, 5)),
        "softmax": einx.softmax("a b [c]", x),
    }


def opt_einsum():
    import opt_einsum

    return {
        "greedy": opt_einsum.contract("ab,bc,cd->ad", torch.randn(3, 4), torch.randn(4, 5), torch.randn(5, 2)),
        "torch": torch.einsum("ab,bc,cd->ad", torch.randn(3, 4), torch.randn(4, 5), torch.randn(5, 2)),
    }


def jaxtyping():
    from beartype import beartype
    from jaxtyping import Float, Int, jaxtyped

    @jaxtyped(typechecker=beartype)
    def product(a: Float[torch.Tensor, "n m"], b: Float[torch.Tensor, "m k"]) -> Float[torch.Tensor, "n k"]:
        return a @ b

    try:
        product(torch.ones(2, 3), torch.ones(2, 3))
        refused = False
    except Exception as error:  # noqa: BLE001  (the type checker's own)
        refused = type(error).__name__
    return {
        "product": product(torch.ones(2, 3), torch.ones(3, 4)),
        "refused": str(refused),
        "int": str(isinstance(torch.ones(2), Int[torch.Tensor, "n"])),
    }


def tensordict():
    from tensordict import TensorDict, from_module
    from tensordict.nn import TensorDictModule, TensorDictSequential

    data = TensorDict({"a": torch.randn(4, 3), "b": {"c": torch.arange(4)}}, batch_size=[4])
    first = TensorDictModule(nn.Linear(3, 2), ["a"], ["h"])
    model = TensorDictSequential(first, TensorDictModule(torch.tanh, ["h"], ["out"]))
    out = model(data)
    out["out"].sum().backward()
    module = nn.Linear(3, 2)
    stacked = torch.stack([from_module(module), from_module(module)])
    return {
        "out": out["out"],
        "sliced": data[1:3]["b", "c"],
        "stacked": stacked["weight"],
        "grad": first.module.weight.grad,
        "view": data.view(2, 2)["a"],
        "sum": (data["a"] * 2).sum(),
        "keys": str(sorted(map(str, data.keys(True)))),
    }


def torchrl():
    from tensordict import TensorDict
    from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
    from torchrl.modules import MLP, NormalParamExtractor, TanhNormal
    from torchrl.objectives.value.functional import generalized_advantage_estimate

    net = nn.Sequential(MLP(in_features=3, out_features=4, num_cells=[8]), NormalParamExtractor())
    loc, scale = net(torch.randn(5, 3))
    policy = TanhNormal(loc, scale)
    action = policy.rsample()
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(20), batch_size=4)
    buffer.extend(TensorDict({"x": torch.arange(10.0)}, [10]))
    advantage = generalized_advantage_estimate(
        0.99,
        0.95,
        torch.randn(6, 1),
        torch.randn(6, 1),
        torch.randn(6, 1),
        torch.zeros(6, 1, dtype=torch.bool),
        torch.zeros(6, 1, dtype=torch.bool),
    )
    return {"action": action, "log": policy.log_prob(action), "sampled": buffer.sample()["x"], "advantage": advantage}


def _game():
    import gymnasium

    class Line(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-10, 10, (2,), np.float32)
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, seed=None, options=None):
            self.place, self.count = 0.0, 0
            return np.array([self.place, 1.0], np.float32), {}

        def step(self, action):
            self.place += 1.0 if action else -1.0
            self.count += 1
            return np.array([self.place, 1.0], np.float32), -abs(self.place - 3), self.count >= 10, False, {}

    return Line()


def stable_baselines3():
    from stable_baselines3 import A2C, DQN, PPO

    found = {}
    for make, options in (
        (PPO, {"n_steps": 32, "batch_size": 16, "n_epochs": 2}),
        (A2C, {"n_steps": 8}),
        (DQN, {"learning_starts": 16, "buffer_size": 64, "batch_size": 8}),
    ):
        model = make("MlpPolicy", _game(), seed=1, device="cpu", **options)
        model.learn(64)
        found[make.__name__] = {
            "weights": list(model.policy.state_dict().values()),
            "action": model.predict(np.zeros(2, np.float32), deterministic=True)[0],
        }
    return found


def snntorch():
    import snntorch
    from snntorch import spikegen, surrogate

    leaky, x = snntorch.Leaky(beta=0.9, spike_grad=surrogate.fast_sigmoid()), torch.rand(6, 4, requires_grad=True)
    memory, spikes = leaky.init_leaky(), []
    for step in x:
        spike, memory = leaky(step, memory)
        spikes.append(spike)
    (torch.stack(spikes).sum() + memory.sum()).backward()
    return {"spikes": spikes, "memory": memory, "grad": x.grad, "rate": spikegen.rate(torch.rand(3), num_steps=4)}


def norse():
    from norse.torch import LIFCell, SequentialState

    model = SequentialState(nn.Linear(4, 5), LIFCell(), nn.Linear(5, 2))
    state, outs = None, []
    for _ in range(5):
        out, state = model(torch.rand(2, 4) * 3, state)
        outs.append(out)
    return outs


def torchaudio():
    import torchaudio

    wave = torch.sin(torch.arange(4000) / 9.0)[None] + 0.01 * torch.randn(1, 4000)
    t, f = torchaudio.transforms, torchaudio.functional
    return {
        "mel": t.MelSpectrogram(16000, n_fft=256, n_mels=16)(wave),
        "mfcc": t.MFCC(16000, n_mfcc=8, melkwargs={"n_fft": 256, "n_mels": 16})(wave),
        "resampled": f.resample(wave, 16000, 8000),
        "griffin": t.GriffinLim(n_fft=128, n_iter=3, rand_init=False)(t.Spectrogram(128)(wave)),
        "biquad": f.lowpass_biquad(wave, 16000, 1000.0),
        "conformer": torchaudio.models.Conformer(8, 2, 16, 1, 3).eval()(torch.randn(1, 6, 8), torch.tensor([6]))[0],
        "pitch": f.detect_pitch_frequency(wave, 16000),
    }


def julius():
    import julius

    wave = torch.randn(1, 2000, requires_grad=True)
    out = [julius.resample_frac(wave, 4, 3), julius.lowpass_filter(wave, 0.2), *julius.split_bands(wave, 1000, 3)]
    sum((each**2).sum() for each in out).backward()
    return {"out": out, "grad": wave.grad}


def torch_audiomentations():
    from torch_audiomentations import AddColoredNoise, Compose, Gain, LowPassFilter, PolarityInversion

    steps = Compose(
        [Gain(p=1.0), PolarityInversion(p=0.5), AddColoredNoise(p=1.0), LowPassFilter(p=1.0)], output_type="tensor"
    )
    return steps(torch.randn(2, 1, 1600), sample_rate=16000)


def asteroid_filterbanks():
    from asteroid_filterbanks import STFTFB, Decoder, Encoder, FreeFB

    wave = torch.randn(1, 1, 400)
    encoder = Encoder(FreeFB(16, 8, stride=4))
    return {
        "free": forward_and_back(encoder, wave),
        "stft": Encoder(STFTFB(16, 16, 8))(wave),
        "decoded": Decoder(FreeFB(16, 8, stride=4))(encoder(wave)),
    }


def _series():
    import pandas

    rows = [
        {
            "unique_id": name,
            "ds": pandas.Timestamp("2020-01-01") + pandas.Timedelta(days=day),
            "y": float(np.sin(day / 3) + (name == "b")),
        }
        for name in "ab"
        for day in range(60)
    ]
    return pandas.DataFrame(rows)


def pytorch_forecasting():
    import lightning
    from pytorch_forecasting import TemporalFusionTransformer, TimeSeriesDataSet

    rows = _series()
    rows["t"] = rows.groupby("unique_id").cumcount()
    common = {
        "time_idx": "t",
        "target": "y",
        "group_ids": ["unique_id"],
        "max_encoder_length": 12,
        "max_prediction_length": 4,
    }
    data = TimeSeriesDataSet(
        rows,
        **common,
        time_varying_unknown_reals=["y"],
        static_categoricals=["unique_id"],
        time_varying_known_reals=["t"],
    )
    lightning.seed_everything(1)
    model = TemporalFusionTransformer.from_dataset(
        data, hidden_size=8, attention_head_size=1, hidden_continuous_size=4, dropout=0.0
    )
    x, y = next(iter(data.to_dataloader(train=False, batch_size=8)))
    out = model(x)["prediction"]
    loss = model.loss(out, y)
    loss.backward()
    return {"prediction": out, "loss": loss}


def x_transformers():
    from x_transformers import Decoder, Encoder, TransformerWrapper
    from x_transformers.autoregressive_wrapper import AutoregressiveWrapper

    model = TransformerWrapper(
        num_tokens=30,
        max_seq_len=32,
        attn_layers=Decoder(dim=16, depth=2, heads=2, rotary_pos_emb=True, use_rmsnorm=True, ff_glu=True),
    )
    wrapped = AutoregressiveWrapper(model)
    ids = torch.randint(0, 30, (2, 12))
    loss = wrapped(ids)
    loss.backward()
    encoder = Encoder(dim=16, depth=1, heads=2, alibi_pos_bias=True)
    return {
        "loss": loss,
        "grads": [p.grad.norm() for p in model.parameters() if p.grad is not None],
        "generated": wrapped.generate(ids[:, :3], 5),
        "encoder": encoder(torch.randn(1, 5, 16)),
    }


def vector_quantize():
    from vector_quantize_pytorch import FSQ, LFQ, ResidualVQ, VectorQuantize

    x = torch.randn(2, 6, 8)
    found = {"fsq": FSQ([4, 4, 4], dim=8)(x), "lfq": list(LFQ(codebook_size=16, dim=8)(x))}
    model = VectorQuantize(dim=8, codebook_size=12, decay=0.8, kmeans_init=True, kmeans_iters=3)
    found["vq"] = [model(x), model(x)]
    found["residual"] = ResidualVQ(dim=8, num_quantizers=2, codebook_size=12)(x)
    return found


def rotary_embedding():
    from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

    rotary = RotaryEmbedding(dim=8, use_xpos=True)
    found = rotary.rotate_queries_and_keys(torch.randn(1, 2, 6, 8), torch.randn(1, 2, 6, 8))
    return {
        "pair": list(found),
        "axial": apply_rotary_emb(
            RotaryEmbedding(dim=4, freqs_for="pixel").get_axial_freqs(4, 4), torch.randn(1, 4, 4, 8)
        ),
    }


def efficient_attention():
    from linformer import Linformer
    from local_attention import LocalAttention
    from performer_pytorch import SelfAttention

    q = torch.randn(1, 2, 16, 8)
    found = {"local": LocalAttention(dim=8, window_size=4, causal=True)(q, q, q)}
    found["linformer"] = forward_and_back(Linformer(dim=16, seq_len=12, depth=1, heads=2, k=4), torch.randn(1, 12, 16))
    found["performer"] = forward_and_back(
        SelfAttention(dim=16, heads=2, dim_head=8, causal=False), torch.randn(1, 12, 16)
    )
    return found


def onnxscript_export():
    import io

    import onnxruntime

    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3)).eval()
    x = torch.randn(2, 1, 8, 8)
    program = torch.onnx.export(model, (x,), dynamo=True)
    stream = io.BytesIO()
    program.save(stream)
    session = onnxruntime.InferenceSession(stream.getvalue())
    return {"torch": model(x), "onnx": session.run(None, {session.get_inputs()[0].name: x.numpy()})[0]}


def functorch_names():
    from functorch import grad, jacrev, make_functional, vmap

    model = nn.Linear(3, 2)
    function, parameters = make_functional(model)
    x = torch.randn(4, 3)
    loss = lambda parameters, x: (function(parameters, x) ** 2).sum()
    return {
        "per sample": vmap(grad(loss), (None, 0))(parameters, x),
        "jacobian": jacrev(lambda x: function(parameters, x))(x[0]),
    }


def training_control():
    """A run that needs no library at all, beside those of libraries."""
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, 2))
    x, y = torch.randn(16, 4), torch.arange(16) % 2
    return train(model, lambda: nn.functional.cross_entropy(model(x), y), torch.optim.AdamW(model.parameters()), 5)
