"""Libraries that train, measure, and hold what is trained."""

import copy

import numpy as np
import torch
from programs.steps import forward_and_back, train
from torch import nn


def _blobs(n=48, features=4, classes=3):
    y = torch.arange(n) % classes
    return torch.randn(n, features) + y[:, None], y


def lightning():
    import lightning

    class Classifier(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))

        def training_step(self, batch, index):
            loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
            self.log("loss", loss)
            return loss

        def validation_step(self, batch, index):
            self.log("val", nn.functional.cross_entropy(self.net(batch[0]), batch[1]))

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), 0.05)

    lightning.seed_everything(1)
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*_blobs()), 12, shuffle=True)
    model = Classifier()
    trainer = lightning.Trainer(
        max_epochs=2,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, data, data)
    return {"weights": dict(model.state_dict()), "metrics": trainer.callback_metrics}


def pytorch_lightning_fabric():
    from lightning.fabric import Fabric

    fabric = Fabric(accelerator="cpu", devices=1, precision="bf16-mixed")
    model = nn.Linear(4, 3)
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), 0.1))
    x, y = _blobs()
    losses = []
    for _ in range(3):
        loss = nn.functional.cross_entropy(model(x), y)
        fabric.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    return losses


def torchmetrics():
    import torchmetrics

    logits, target = torch.randn(32, 4).softmax(-1), torch.randint(0, 4, (32,))
    options = {"task": "multiclass", "num_classes": 4}
    metrics = torchmetrics.MetricCollection(
        {
            "accuracy": torchmetrics.Accuracy(**options),
            "f1": torchmetrics.F1Score(**options, average="macro"),
            "auroc": torchmetrics.AUROC(**options),
            "confusion": torchmetrics.ConfusionMatrix(**options),
            "calibration": torchmetrics.CalibrationError(**options),
            "kappa": torchmetrics.CohenKappa(**options),
        }
    )
    metrics.update(logits, target)
    found = metrics.compute()
    a, b = torch.randn(40), torch.randn(40)
    for name in (
        "PearsonCorrCoef",
        "SpearmanCorrCoef",
        "R2Score",
        "MeanSquaredError",
        "ExplainedVariance",
        "KendallRankCorrCoef",
    ):
        metric = getattr(torchmetrics, name)()
        metric.update(a, b)
        found[name] = metric.compute()
    found["ssim"] = torchmetrics.image.StructuralSimilarityIndexMeasure()(
        torch.rand(1, 1, 32, 32), torch.rand(1, 1, 32, 32)
    )
    found["bleu"] = torchmetrics.text.BLEUScore(2)(["the cat sat"], [["the cat sat down"]])
    found["snr"] = torchmetrics.audio.SignalNoiseRatio()(a, b)
    return dict(found)


def ignite():
    from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
    from ignite.metrics import Accuracy, ConfusionMatrix, Loss, Precision

    model, loss = nn.Linear(4, 3), nn.CrossEntropyLoss()
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*_blobs()), 12)
    trainer = create_supervised_trainer(model, torch.optim.SGD(model.parameters(), 0.1), loss)
    metrics = {"accuracy": Accuracy(), "loss": Loss(loss), "precision": Precision(), "confusion": ConfusionMatrix(3)}
    evaluator = create_supervised_evaluator(model, metrics)
    seen = []
    trainer.on(Events.EPOCH_COMPLETED)(lambda engine: seen.append(evaluator.run(data).metrics["loss"]))
    trainer.run(data, max_epochs=3)
    return {"losses": seen, "metrics": evaluator.state.metrics}


def skorch():
    from sklearn.model_selection import GridSearchCV
    from skorch import NeuralNetClassifier, NeuralNetRegressor

    x, y = _blobs()
    x, y = x.numpy(), y.numpy().astype(np.int64)
    net = NeuralNetClassifier(
        nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)),
        criterion=nn.CrossEntropyLoss,
        max_epochs=3,
        lr=0.1,
        verbose=0,
    )
    net.fit(x, y)
    search = GridSearchCV(
        NeuralNetRegressor(nn.Linear(4, 1), max_epochs=2, verbose=0, train_split=False), {"lr": [0.01, 0.1]}, cv=2
    )
    search.fit(x, x.sum(1, keepdims=True))
    return {
        "probabilities": net.predict_proba(x),
        "history": net.history[:, "train_loss"],
        "scores": search.cv_results_["mean_test_score"],
    }


def accelerate():
    from accelerate import Accelerator, init_empty_weights

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = nn.Linear(4, 3)
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*_blobs()), 12)
    model, optimizer, data = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), 0.05), data)
    losses = []
    for x, y in data:
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(accelerator.gather(loss.detach()))
    with init_empty_weights():
        empty = nn.Linear(1000, 1000)
    return {"losses": losses, "weights": dict(model.state_dict()), "device": str(empty.weight.device)}


def _gpt():
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(
        GPT2Config(vocab_size=50, n_positions=32, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=1)
    )


def transformers():
    from transformers import BertConfig, BertForSequenceClassification, LlamaConfig, LlamaForCausalLM

    gpt, ids = _gpt(), torch.randint(2, 50, (2, 9))
    llama = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=50,
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
        )
    )
    bert = BertForSequenceClassification(
        BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
    )
    loss = bert(ids, labels=torch.tensor([0, 1])).loss
    loss.backward()
    options = {"max_new_tokens": 5, "pad_token_id": 1}
    return {
        "loss": [gpt(ids, labels=ids).loss, llama(ids, labels=ids).loss, loss],
        "greedy": gpt.eval().generate(ids, do_sample=False, **options),
        "beams": gpt.generate(ids, num_beams=3, **options),
        "sampled": llama.eval().generate(ids, do_sample=True, top_p=0.9, **options),
    }


def peft():
    from peft import IA3Config, LoHaConfig, LoraConfig, PrefixTuningConfig, get_peft_model

    found = {}
    ids = torch.randint(2, 50, (2, 9))
    for make in (
        lambda: LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True, use_dora=True),
        lambda: IA3Config(target_modules=["c_attn"], feedforward_modules=[], fan_in_fan_out=True),
        lambda: PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4),
    ):
        model = get_peft_model(_gpt(), make())
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        found[type(make()).__name__] = {
            "loss": loss,
            "grads": [p.grad.norm() for p in model.parameters() if p.grad is not None],
        }
    linear = get_peft_model(nn.Sequential(nn.Linear(8, 8)), LoHaConfig(target_modules=["0"], r=2))
    found["merged"] = linear.merge_and_unload()(torch.ones(1, 8))
    return found


def diffusers():
    from diffusers import (
        AutoencoderKL,
        DDIMScheduler,
        DDPMScheduler,
        DPMSolverMultistepScheduler,
        UNet2DConditionModel,
        UNet2DModel,
    )

    down, up = ("DownBlock2D", "AttnDownBlock2D"), ("AttnUpBlock2D", "UpBlock2D")
    unet = UNet2DModel(
        sample_size=16, block_out_channels=(32, 32), layers_per_block=1, down_block_types=down, up_block_types=up
    )
    noisy = torch.randn(1, 3, 16, 16)
    found = {"unet": forward_and_back(unet, noisy, 10)}
    for make in (DDPMScheduler, DDIMScheduler, DPMSolverMultistepScheduler):
        scheduler = make()
        scheduler.set_timesteps(4)
        x = noisy
        for step in scheduler.timesteps:
            with torch.no_grad():
                x = scheduler.step(
                    unet(x, step).sample,
                    step,
                    x,
                    generator=torch.Generator().manual_seed(1) if make is DDPMScheduler else None,
                ).prev_sample
        found[make.__name__] = x
    vae = AutoencoderKL(block_out_channels=(32,), norm_num_groups=8)
    found["vae"] = vae(torch.randn(1, 3, 16, 16)).sample
    conditional = UNet2DConditionModel(
        sample_size=8,
        block_out_channels=(32, 32),
        layers_per_block=1,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
        cross_attention_dim=16,
        attention_head_dim=8,
    )
    found["conditional"] = conditional(torch.randn(1, 4, 8, 8), 3, torch.randn(1, 5, 16)).sample
    return found


def sentence_transformers():
    from sentence_transformers import util
    from sentence_transformers.models import Pooling

    a, b = torch.randn(5, 16), torch.randn(6, 16)
    found = {
        "cosine": util.cos_sim(a, b),
        "search": [hit["score"] for hits in util.semantic_search(a, b, top_k=2) for hit in hits],
    }
    found["pooled"] = Pooling(16, "mean")(
        {"token_embeddings": torch.randn(2, 4, 16), "attention_mask": torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1]])}
    )["sentence_embedding"]
    return found


def datasets():
    import datasets

    rows = datasets.Dataset.from_dict({"x": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "y": [0, 1, 0]}).with_format("torch")
    mapped = rows.map(lambda row: {"z": row["x"] * 2})
    batches = [batch["z"].sum() for batch in torch.utils.data.DataLoader(mapped, batch_size=2)]
    streamed = [row["x"] for row in rows.to_iterable_dataset().with_format("torch")]
    return {"rows": rows[:]["x"], "y": rows[1]["y"], "batches": batches, "streamed": streamed}


def evaluate():
    import evaluate
    from evaluate.utils.logging import get_verbosity

    class Accuracy(evaluate.Metric):
        def _info(self):
            import datasets

            features = datasets.Features(
                {"predictions": datasets.Value("int64"), "references": datasets.Value("int64")}
            )
            return evaluate.MetricInfo(description="", citation="", features=features)

        def _compute(self, predictions, references):
            return {"accuracy": float((np.asarray(predictions) == np.asarray(references)).mean())}

    metric = Accuracy()
    metric.add_batch(predictions=torch.tensor([1, 0, 1]), references=torch.tensor([1, 1, 1]))
    return {**metric.compute(), "verbosity": get_verbosity()}


def setfit():
    from setfit import SetFitHead

    head = SetFitHead(in_features=8, out_features=3)
    return {
        "logits": head(torch.randn(4, 8)),
        "loss": head.get_loss_fn()(head(torch.randn(4, 8))[0], torch.tensor([0, 1, 2, 1])),
    }


def opacus():
    from opacus import PrivacyEngine
    from opacus.grad_sample import GradSampleModule

    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(72, 3))
    sampled = GradSampleModule(copy.deepcopy(model))
    nn.functional.cross_entropy(sampled(torch.randn(4, 1, 8, 8)), torch.tensor([0, 1, 2, 0])).backward()
    data = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.randn(16, 1, 8, 8), torch.arange(16) % 3), 4
    )
    engine = PrivacyEngine()
    private, optimizer, data = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), 0.1),
        data_loader=data,
        noise_multiplier=1.0,
        max_grad_norm=1.0,
    )
    for x, y in data:
        optimizer.zero_grad()
        nn.functional.cross_entropy(private(x), y).backward()
        optimizer.step()
    return {
        "samples": [each.grad_sample for each in sampled.parameters()],
        "epsilon": engine.get_epsilon(1e-5),
        "weights": list(model.parameters()),
    }


def laplace():
    from laplace import Laplace

    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*_blobs()), 12)
    fitted = Laplace(model, "classification", subset_of_weights="last_layer", hessian_structure="full")
    fitted.fit(data)
    fitted.optimize_prior_precision(method="marglik", n_steps=5)
    return {"probabilities": fitted(torch.ones(2, 4)), "evidence": fitted.log_marginal_likelihood()}


def backpack():
    from backpack import backpack, extend
    from backpack.extensions import KFAC, BatchGrad, DiagGGNExact, SumGradSquared, Variance

    model, loss = extend(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))), extend(nn.CrossEntropyLoss())
    x, y = _blobs(12)
    with backpack(BatchGrad(), Variance(), SumGradSquared(), DiagGGNExact(), KFAC(mc_samples=1)):
        loss(model(x), y).backward()
    return [
        {
            "batch": p.grad_batch,
            "variance": p.variance,
            "squares": p.sum_grad_squared,
            "ggn": p.diag_ggn_exact,
            "kfac": p.kfac,
        }
        for p in model.parameters()
    ]


def torchinfo():
    from torchinfo import summary

    return str(
        summary(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)), (2, 3, 8, 8), verbose=0)
    )


def torchsummary():
    import contextlib
    import io

    from torchsummary import summary

    with contextlib.redirect_stdout(io.StringIO()) as text:
        summary(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)), (3, 8, 8), device="cpu")
    return text.getvalue()


def torchview():
    from torchview import draw_graph

    graph = draw_graph(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), input_size=(2, 4), device="cpu")
    return {"edges": len(graph.edge_list)}


def fvcore():
    from fvcore.nn import FlopCountAnalysis, parameter_count, sigmoid_focal_loss, smooth_l1_loss

    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5))
    x = torch.randn(8)
    return {
        "flops": FlopCountAnalysis(model, torch.randn(1, 3, 8, 8)).total(),
        "parameters": parameter_count(model)[""],
        "focal": sigmoid_focal_loss(x, (x > 0).float(), reduction="mean"),
        "l1": smooth_l1_loss(x, x.flip(0), 0.5, "sum"),
    }


def thop():
    from thop import profile

    return list(
        profile(
            nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)),
            (torch.randn(1, 3, 8, 8),),
            verbose=False,
        )
    )


def fairscale():
    from fairscale.nn.checkpoint import checkpoint_wrapper
    from fairscale.nn.misc import FlattenParamsWrapper

    model = checkpoint_wrapper(nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)))
    found = forward_and_back(model, torch.randn(3, 4, requires_grad=True))
    return {"checkpoint": found, "flat": forward_and_back(FlattenParamsWrapper(nn.Linear(4, 2)), torch.randn(3, 4))}


def _optimizers(module, names, **options):
    found = {}
    x, y = _blobs()
    for name in names:
        torch.manual_seed(3)
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
        optimizer = getattr(module, name)(model.parameters(), **options)
        found[name] = train(model, lambda model=model: nn.functional.cross_entropy(model(x), y), optimizer, 4)
    return found


def torch_optimizer():
    import torch_optimizer

    names = "AdaBound AdaMod AdaBelief Adahessian AdamP DiffGrad Lamb Lookahead NovoGrad QHAdam RAdam Ranger SGDW SWATS Yogi Shampoo".split()
    return _optimizers(torch_optimizer, [name for name in names if name not in ("Adahessian", "Lookahead")], lr=0.02)


def pytorch_optimizer():
    import pytorch_optimizer

    names = "AdamP Lion Lamb Prodigy Adan SOAP Muon Shampoo Sophia Tiger ADOPT AdaFactor CAME ScheduleFreeAdamW".split()
    names = [
        name
        for name in names
        if hasattr(pytorch_optimizer, name) and name not in ("Sophia", "Muon", "ScheduleFreeAdamW")
    ]
    return _optimizers(pytorch_optimizer, names, lr=0.02)


def small_optimizers():
    import lion_pytorch
    import prodigyopt

    return {**_optimizers(lion_pytorch, ["Lion"], lr=0.01), **_optimizers(prodigyopt, ["Prodigy"], lr=1.0)}


def schedulefree():
    import schedulefree

    x, y = _blobs()
    model = nn.Linear(4, 3)
    optimizer = schedulefree.AdamWScheduleFree(model.parameters(), lr=0.05)
    optimizer.train()
    losses = train(model, lambda: nn.functional.cross_entropy(model(x), y), optimizer)
    optimizer.eval()
    return {"losses": losses, "weights": model.weight}


def ema_pytorch():
    from ema_pytorch import EMA

    model = nn.Linear(4, 3)
    ema = EMA(model, beta=0.9, update_after_step=1, update_every=1)
    for _ in range(5):
        with torch.no_grad():
            model.weight += 0.1
        ema.update()
    return ema(torch.ones(2, 4))


def pytorch_metric_learning():
    from pytorch_metric_learning import distances, losses, miners, reducers

    embeddings, labels = torch.randn(12, 8, requires_grad=True), torch.arange(12) % 3
    miner = miners.TripletMarginMiner(0.2, type_of_triplets="all")
    found = {
        "triplet": losses.TripletMarginLoss(
            distance=distances.CosineSimilarity(), reducer=reducers.ThresholdReducer(low=0)
        )(embeddings, labels, miner(embeddings, labels))
    }
    for name in (
        "ContrastiveLoss",
        "NTXentLoss",
        "MultiSimilarityLoss",
        "CircleLoss",
        "SupConLoss",
        "NPairsLoss",
        "LiftedStructureLoss",
        "FastAPLoss",
    ):
        found[name] = getattr(losses, name)()(embeddings, labels)
    for name in ("ArcFaceLoss", "CosFaceLoss", "ProxyAnchorLoss", "SoftTripleLoss"):
        found[name] = getattr(losses, name)(num_classes=3, embedding_size=8)(embeddings, labels)
    sum(found.values()).backward()
    return {**found, "grad": embeddings.grad}


def pytorch_tabnet():
    from pytorch_tabnet.tab_model import TabNetClassifier

    x, y = _blobs(64)
    model = TabNetClassifier(n_d=4, n_a=4, n_steps=2, seed=1, verbose=0)
    model.fit(x.numpy(), y.numpy(), max_epochs=2, batch_size=16, virtual_batch_size=8, drop_last=False)
    return {"probabilities": model.predict_proba(x.numpy()), "importances": model.feature_importances_}


def torchdata():
    from torchdata.nodes import Batcher, IterableWrapper, Loader, Mapper, Prefetcher
    from torchdata.stateful_dataloader import StatefulDataLoader

    nodes = Loader(Prefetcher(Batcher(Mapper(IterableWrapper(range(7)), lambda i: i * 2), 3, drop_last=False), 2))
    data = StatefulDataLoader(list(range(10)), batch_size=3, shuffle=True, generator=torch.Generator().manual_seed(1))
    iterator = iter(data)
    first, state = next(iterator), data.state_dict()
    again = StatefulDataLoader(list(range(10)), batch_size=3, shuffle=True, generator=torch.Generator().manual_seed(1))
    again.load_state_dict(state)
    return {"nodes": list(nodes), "first": first, "rest": list(again)}


def optuna():
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    x, y = _blobs()

    def objective(trial):
        torch.manual_seed(1)
        model = nn.Sequential(nn.Linear(4, trial.suggest_int("width", 2, 8)), nn.Tanh(), nn.LazyLinear(3))
        optimizer = torch.optim.SGD(model.parameters(), trial.suggest_float("rate", 0.01, 0.5, log=True))
        return train(model, lambda: nn.functional.cross_entropy(model(x), y), optimizer)[-1].item()

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
    study.optimize(objective, n_trials=4)
    return [trial.value for trial in study.trials]


def tensorboard():
    import glob
    import tempfile

    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    folder = tempfile.mkdtemp()
    with SummaryWriter(folder) as writer:
        for step in range(3):
            writer.add_scalar("loss", 1.0 / (step + 1), step)
        writer.add_histogram("weights", torch.randn(100), 0)
        writer.add_graph(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), torch.randn(2, 4))
        writer.add_embedding(torch.arange(12.0).reshape(3, 4), metadata=["a", "b", "c"])
    events = EventAccumulator(folder)
    events.Reload()
    vectors = glob.glob(f"{folder}/**/tensors.tsv", recursive=True)
    return {
        "loss": [each.value for each in events.Scalars("loss")],
        "vectors": open(vectors[0]).read(),
        "graph": len(events.Graph().node) > 3,
    }
