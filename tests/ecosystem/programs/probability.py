"""Libraries for probability, processes and flows."""

import torch
from programs.steps import forward_and_back, train


def gpytorch():
    import gpytorch

    class Model(gpytorch.models.ExactGP):
        def __init__(self, x, y, likelihood):
            super().__init__(x, y, likelihood)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(
                gpytorch.kernels.RBFKernel()
            ) + gpytorch.kernels.MaternKernel(nu=1.5)

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    x = torch.linspace(0, 1, 20)
    y = torch.sin(6 * x) + 0.1 * torch.randn(20)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Model(x, y, likelihood)
    loss = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    losses = train(model, lambda: -loss(model(x), y), torch.optim.Adam(model.parameters(), 0.1), 5)
    model.eval(), likelihood.eval()
    with torch.no_grad():
        predicted = likelihood(model(torch.linspace(0, 1, 7)))
    return {"losses": losses, "mean": predicted.mean, "variance": predicted.variance}


def linear_operator():
    from linear_operator import operators, to_linear_operator

    a = torch.randn(5, 5)
    a = (a @ a.T + 5 * torch.eye(5)).requires_grad_()
    operator = to_linear_operator(a).add_jitter(0.1)
    solved = operator.solve(torch.ones(5, 1))
    quad, log = operator.inv_quad_logdet(torch.ones(5, 1), logdet=True)
    (solved.sum() + quad + log).backward()
    kron = operators.KroneckerProductLinearOperator(to_linear_operator(torch.eye(2) * 2), operator)
    return {
        "solved": solved,
        "quad": quad,
        "log": log,
        "grad": a.grad,
        "kron": kron.to_dense(),
        "root": operator.root_decomposition().to_dense(),
    }


def botorch():
    from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound, qExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from botorch.sampling import SobolQMCNormalSampler
    from gpytorch.mlls import ExactMarginalLogLikelihood

    x = torch.rand(8, 2, dtype=torch.float64)
    y = torch.sin(3 * x.sum(1, keepdim=True))
    model = SingleTaskGP(x, y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    points = torch.rand(4, 1, 2, dtype=torch.float64)
    best, value = optimize_acqf(
        UpperConfidenceBound(model, 0.2),
        torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64),
        q=1,
        num_restarts=2,
        raw_samples=8,
    )
    sampler = SobolQMCNormalSampler(torch.Size([16]), seed=1)
    return {
        "ei": LogExpectedImprovement(model, y.max())(points),
        "qei": qExpectedImprovement(model, y.max(), sampler)(points),
        "best": best,
        "value": value,
    }


def pyro():
    import pyro
    import pyro.distributions as dist
    from pyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO
    from pyro.infer.autoguide import AutoNormal

    pyro.set_rng_seed(0)
    pyro.clear_param_store()
    data = torch.randn(20) + 2

    def model(data):
        loc = pyro.sample("loc", dist.Normal(0.0, 5.0))
        scale = pyro.sample("scale", dist.LogNormal(0.0, 1.0))
        with pyro.plate("data", len(data)):
            pyro.sample("obs", dist.Normal(loc, scale), obs=data)

    guide = AutoNormal(model)
    svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.05}), Trace_ELBO())
    losses = [svi.step(data) for _ in range(8)]
    mcmc = MCMC(NUTS(model, jit_compile=False), num_samples=8, warmup_steps=8, disable_progbar=True)
    mcmc.run(data)
    predictive = Predictive(model, guide=guide, num_samples=4)(data)
    return {"losses": losses, "median": guide.median(), "samples": mcmc.get_samples(), "predicted": predictive["loc"]}


def pyro_enumeration():
    import pyro
    import pyro.distributions as dist
    from pyro.infer import SVI, TraceEnum_ELBO, config_enumerate
    from pyro.infer.autoguide import AutoDelta

    pyro.set_rng_seed(0)
    pyro.clear_param_store()
    data = torch.tensor([0.0, 1.0, 10.0, 11.0, 12.0])

    @config_enumerate
    def model(data):
        weights = pyro.sample("weights", dist.Dirichlet(0.5 * torch.ones(2)))
        with pyro.plate("components", 2):
            locs = pyro.sample("locs", dist.Normal(0.0, 10.0))
        with pyro.plate("data", len(data)):
            kind = pyro.sample("kind", dist.Categorical(weights))
            pyro.sample("obs", dist.Normal(locs[kind], 1.0), obs=data)

    guide = AutoDelta(pyro.poutine.block(model, expose=["weights", "locs"]))
    svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.1}), TraceEnum_ELBO(max_plate_nesting=1))
    return [svi.step(data) for _ in range(6)]


def torchsde():
    import torchsde

    class System(torch.nn.Module):
        noise_type, sde_type = "diagonal", "ito"

        def __init__(self):
            super().__init__()
            self.drift, self.scale = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

        def f(self, t, y):
            return self.drift(y)

        def g(self, t, y):
            return self.scale(y).sigmoid()

    system, times = System(), torch.linspace(0, 1, 5)
    y0 = torch.full((4, 3), 0.1, requires_grad=True)
    noise = torchsde.BrownianInterval(0.0, 1.0, (4, 3), entropy=7)
    found = {"milstein": torchsde.sdeint(system, y0, times, bm=noise, dt=0.1, method="milstein")}
    found["adjoint"] = torchsde.sdeint_adjoint(system, y0, times, bm=noise, dt=0.1, method="euler")
    found["adjoint"].sum().backward()
    return {**found, "grad": y0.grad, "weights": system.drift.weight.grad}


def nflows():
    from nflows import distributions, flows, transforms

    steps = []
    for _ in range(2):
        steps += [transforms.ReversePermutation(4), transforms.MaskedAffineAutoregressiveTransform(4, 8)]
    steps.append(
        transforms.MaskedPiecewiseRationalQuadraticAutoregressiveTransform(4, 8, tails="linear", tail_bound=3.0)
    )
    flow = flows.Flow(transforms.CompositeTransform(steps), distributions.StandardNormal([4]))
    x = torch.randn(8, 4)
    return {
        "losses": train(flow, lambda: -flow.log_prob(x).mean(), torch.optim.Adam(flow.parameters(), 0.01)),
        "sample": flow.sample(3),
    }


def normflows():
    import normflows

    base = normflows.distributions.base.DiagGaussian(2)
    steps = []
    for _ in range(3):
        steps += [
            normflows.flows.AffineCouplingBlock(normflows.nets.MLP([1, 8, 2], init_zeros=True)),
            normflows.flows.Permute(2, mode="swap"),
        ]
    steps.append(normflows.flows.AutoregressiveRationalQuadraticSpline(2, 1, 8))
    model = normflows.NormalizingFlow(base, steps)
    x = torch.randn(16, 2)
    return {
        "losses": train(model, lambda: model.forward_kld(x), torch.optim.Adam(model.parameters(), 0.01)),
        "sample": model.sample(3),
    }


def zuko():
    import zuko

    found = {}
    x, c = torch.randn(8, 3), torch.randn(8, 2)
    for make in (zuko.flows.NSF, zuko.flows.MAF, zuko.flows.NICE):
        flow = make(3, 2, transforms=2, hidden_features=(8, 8))
        losses = train(flow, lambda flow=flow: -flow(c).log_prob(x).mean(), torch.optim.Adam(flow.parameters(), 0.01))
        found[make.__name__] = {"losses": losses, "sample": flow(c[0]).sample((2,))}
    return found


def sbi():
    from sbi.inference import NPE
    from sbi.utils import BoxUniform

    prior = BoxUniform(-torch.ones(2), torch.ones(2))
    theta = prior.sample((64,))
    x = theta + 0.1 * torch.randn(64, 2)
    inference = NPE(prior, density_estimator="maf", show_progress_bars=False)
    inference.append_simulations(theta, x).train(max_num_epochs=2, training_batch_size=16)
    posterior = inference.build_posterior()
    return {
        "log": posterior.log_prob(torch.zeros(3, 2), x=torch.zeros(2)),
        "samples": posterior.sample((4,), x=torch.zeros(2), show_progress_bars=False),
    }


def torchquad():
    from torchquad import MonteCarlo, Simpson, Trapezoid, set_up_backend

    set_up_backend("torch", data_type="float64", torch_enable_cuda=False)
    function = lambda x: torch.sin(x[:, 0]) + torch.exp(x[:, 1])
    domain = [[0.0, 1.0], [-1.0, 1.0]]
    return [
        Simpson().integrate(function, 2, 999, domain, backend="torch"),
        Trapezoid().integrate(function, 2, 900, domain, backend="torch"),
        MonteCarlo().integrate(function, 2, 500, domain, seed=1, backend="torch"),
    ]


def geomloss():
    from geomloss import SamplesLoss

    x, y = torch.randn(20, 3, requires_grad=True), torch.randn(25, 3)
    found = {
        name: SamplesLoss(name, blur=0.1, backend="tensorized")(x, y)
        for name in ("sinkhorn", "energy", "gaussian", "laplacian")
    }
    sum(found.values()).backward()
    return {**found, "grad": x.grad}


def pot():
    import ot

    a, b = torch.full((6,), 1 / 6), torch.full((7,), 1 / 7)
    cost = torch.rand(6, 7, requires_grad=True)
    found = {
        "emd": ot.emd2(a, b, cost),
        "sinkhorn": ot.sinkhorn2(a, b, cost, 0.5),
        "sliced": ot.sliced_wasserstein_distance(torch.randn(6, 3), torch.randn(6, 3), seed=1),
    }
    (found["emd"] + found["sinkhorn"].sum()).backward()
    return {**found, "grad": cost.grad}


def entmax():
    from entmax import entmax15, entmax_bisect, sparsemax, sparsemax_loss

    x = torch.randn(4, 6, requires_grad=True)
    found = {
        "sparsemax": sparsemax(x, -1),
        "entmax": entmax15(x, -1),
        "bisect": entmax_bisect(x, 1.3),
        "loss": sparsemax_loss(x, torch.tensor([0, 1, 2, 3])),
    }
    sum((each**2).sum() for each in found.values()).backward()
    return {**found, "grad": x.grad}


def pytorch_crf():
    from torchcrf import CRF

    crf, scores = CRF(4, batch_first=True), torch.randn(2, 5, 4, requires_grad=True)
    loss = -crf(scores, torch.randint(0, 4, (2, 5)))
    loss.backward()
    return {"loss": loss, "grad": scores.grad, "decoded": crf.decode(scores), "transitions": crf.transitions.grad}


def pytorch_minimize():
    from torchmin import minimize

    rosenbrock = lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
    return {
        name: minimize(rosenbrock, torch.tensor([1.0, 8.0]), method=name, max_iter=20).x
        for name in ("bfgs", "l-bfgs", "cg", "newton-cg", "trust-ncg", "newton-exact")
    }


def neural_processes():
    import torch.distributions as dist

    mixture = dist.MixtureSameFamily(
        dist.Categorical(torch.ones(3)), dist.Independent(dist.Normal(torch.randn(3, 2), torch.ones(3, 2)), 1)
    )
    return {
        "log": mixture.log_prob(torch.randn(5, 2)),
        "sample": mixture.sample((3,)),
        "net": forward_and_back(torch.nn.GRU(3, 4), torch.randn(5, 2, 3)),
    }


def torchkbnufft():
    import torchkbnufft

    spots = torch.rand(2, 30) * 6 - 3
    image = torch.randn(1, 1, 16, 16, dtype=torch.complex64, requires_grad=True)
    forward = torchkbnufft.KbNufft((16, 16))(image, spots)
    forward.abs().sum().backward()
    return {
        "forward": forward,
        "adjoint": torchkbnufft.KbNufftAdjoint((16, 16))(forward.detach(), spots),
        "grad": image.grad,
    }
