"""Libraries for images."""

import numpy as np
import torch
from programs.steps import forward_and_back, train


def timm():
    import timm
    import timm.optim

    found = {}
    for name in ("resnet18", "vit_tiny_patch16_224", "convnext_atto", "mobilenetv3_small_050", "efficientnet_b0"):
        options = {"img_size": 64} if name.startswith("vit") else {}
        model = timm.create_model(name, num_classes=7, **options).eval()
        found[name] = forward_and_back(model, torch.randn(2, 3, 64, 64))
    found["features"] = timm.create_model("resnet18", features_only=True).eval()(torch.randn(1, 3, 64, 64))
    optimizer = timm.optim.create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05)
    model.train()
    x, y = torch.randn(2, 3, 64, 64), torch.tensor([1, 3])
    found["losses"] = train(model, lambda: torch.nn.functional.cross_entropy(model(x), y), optimizer)
    return found


def torchvision_models():
    import torchvision

    found = {}
    for name in ("resnet18", "mobilenet_v2", "squeezenet1_1", "shufflenet_v2_x0_5", "regnet_y_400mf"):
        found[name] = forward_and_back(torchvision.models.get_model(name).eval(), torch.randn(1, 3, 64, 64))
    segmentation = torchvision.models.segmentation.lraspp_mobilenet_v3_large(
        weights_backbone=None, num_classes=3
    ).eval()
    found["segmentation"] = segmentation(torch.randn(1, 3, 64, 64))["out"]
    return found


def torchvision_transforms():
    import torchvision.transforms.v2 as transforms
    from torchvision import tv_tensors

    image = torch.randint(0, 256, (3, 40, 50), dtype=torch.uint8)
    boxes = tv_tensors.BoundingBoxes([[4, 5, 20, 25]], format="XYXY", canvas_size=(40, 50))
    steps = transforms.Compose(
        [
            transforms.RandomResizedCrop(32, antialias=True),
            transforms.RandomHorizontalFlip(1.0),
            transforms.ColorJitter(0.2, 0.2, 0.2, 0.1),
            transforms.RandomRotation(15),
            transforms.GaussianBlur(3),
            transforms.ToDtype(torch.float32, scale=True),
            transforms.Normalize([0.5] * 3, [0.2] * 3),
        ]
    )
    out, moved = steps(image, boxes)
    return {"image": out, "boxes": torch.as_tensor(moved)}


def torchvision_detection():
    import torchvision

    model = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(
        weights=None, weights_backbone=None, num_classes=3
    )
    targets = [{"boxes": torch.tensor([[5.0, 6.0, 40.0, 45.0]]), "labels": torch.tensor([1])}]
    losses = model([torch.rand(3, 64, 64)], targets)
    sum(losses.values()).backward()
    return {"losses": losses}


def torchvision_ops():
    import torchvision.ops as ops

    x = torch.randn(1, 4, 12, 12, requires_grad=True)
    boxes = torch.tensor([[0, 1.0, 1.0, 8.0, 9.0], [0, 0.0, 2.0, 5.0, 6.0]])
    offset = torch.randn(1, 18, 12, 12)
    outputs = {
        "align": ops.roi_align(x, boxes, 3, sampling_ratio=2),
        "pool": ops.roi_pool(x, boxes, 3),
        "ps_align": ops.ps_roi_align(x, boxes, 2, sampling_ratio=2),
        "ps_pool": ops.ps_roi_pool(x, boxes, 2),
        "deform": ops.deform_conv2d(x, offset, torch.randn(3, 4, 3, 3), padding=1),
    }
    sum((each**2).sum() for each in outputs.values()).backward()
    scores = torch.tensor([0.9, 0.8])
    return {
        **outputs,
        "grad": x.grad,
        "nms": ops.nms(boxes[:, 1:], scores, 0.3),
        "iou": ops.box_iou(boxes[:, 1:], boxes[:, 1:]),
    }


def kornia():
    import kornia

    image = torch.rand(2, 3, 24, 32, requires_grad=True)
    found = {
        "blur": kornia.filters.gaussian_blur2d(image, (3, 3), (1.5, 1.5)),
        "sobel": kornia.filters.sobel(image),
        "hsv": kornia.color.rgb_to_hsv(image),
        "lab": kornia.color.rgb_to_lab(image),
        "rotated": kornia.geometry.transform.rotate(image, torch.tensor([20.0, -30.0])),
        "warped": kornia.geometry.transform.warp_perspective(image, torch.eye(3).repeat(2, 1, 1), (20, 20)),
        "ssim": kornia.metrics.ssim(image, image.flip(-1), 5),
        "canny": kornia.filters.canny(image)[0],
    }
    sum(each.mean() for each in found.values()).backward()
    rotation = kornia.geometry.conversions.axis_angle_to_rotation_matrix(torch.randn(3, 3))
    augment = kornia.augmentation.AugmentationSequential(
        kornia.augmentation.RandomHorizontalFlip(p=0.5),
        kornia.augmentation.RandomAffine(15, p=1.0),
        kornia.augmentation.ColorJiggle(0.1, 0.1, 0.1, 0.1, p=1.0),
    )
    return {**found, "grad": image.grad, "rotation": rotation, "augmented": augment(image.detach())}


def segmentation_models():
    import segmentation_models_pytorch as smp

    found = {}
    for make in (smp.Unet, smp.FPN, smp.DeepLabV3Plus):
        model = make("resnet18", encoder_weights=None, classes=2).eval()
        found[make.__name__] = forward_and_back(model, torch.randn(1, 3, 64, 64))
    found["dice"] = smp.losses.DiceLoss("multiclass")(torch.randn(2, 3, 8, 8), torch.randint(0, 3, (2, 8, 8)))
    found["focal"] = smp.losses.FocalLoss("binary")(torch.randn(2, 1, 8, 8), torch.randint(0, 2, (2, 1, 8, 8)).float())
    return found


def monai():
    from monai.inferers import sliding_window_inference
    from monai.losses import DiceCELoss
    from monai.metrics import DiceMetric
    from monai.networks.nets import UNet
    from monai.transforms import Compose, RandAffine, RandGaussianNoise, ScaleIntensity

    model = UNet(2, 1, 2, channels=(4, 8, 16), strides=(2, 2), num_res_units=1)
    x, y = torch.rand(2, 1, 32, 32), torch.randint(0, 2, (2, 1, 32, 32))
    loss = DiceCELoss(to_onehot_y=True, softmax=True)
    found = {"losses": train(model, lambda: loss(model(x), y), torch.optim.Adam(model.parameters(), 1e-3))}
    found["window"] = sliding_window_inference(torch.rand(1, 1, 48, 48), (32, 32), 2, model.eval())
    metric = DiceMetric()
    metric(torch.nn.functional.one_hot(y[:, 0]).permute(0, 3, 1, 2), torch.ones(2, 2, 32, 32))
    found["dice"] = metric.aggregate()
    steps = Compose([ScaleIntensity(), RandAffine(prob=1.0, rotate_range=0.3), RandGaussianNoise(prob=1.0)])
    steps.set_random_state(0)
    found["moved"] = torch.as_tensor(np.asarray(steps(x[0])))
    return found


def open_clip():
    import open_clip

    text = {"context_length": 16, "vocab_size": 100, "width": 32, "heads": 2, "layers": 2}
    model = open_clip.CLIP(24, {"image_size": 32, "layers": 2, "width": 32, "patch_size": 8, "head_width": 16}, text)
    image, tokens = torch.randn(3, 3, 32, 32), torch.randint(1, 99, (3, 16))
    features = model(image, tokens)
    loss = open_clip.ClipLoss()(*features[:3])
    loss.backward()
    return {"features": features[:2], "loss": loss, "grad": model.visual.conv1.weight.grad}


def ultralytics():
    from ultralytics.nn.tasks import ClassificationModel, DetectionModel

    model = DetectionModel("yolov8n.yaml", nc=3, verbose=False)
    model.eval()
    out = model(torch.rand(1, 3, 64, 64))[0]
    classify = ClassificationModel("yolov8n-cls.yaml", nc=4, verbose=False)
    return {"boxes": out, "classes": forward_and_back(classify.train(), torch.rand(2, 3, 64, 64))}


def lpips():
    import lpips

    model = lpips.LPIPS(net="squeeze", pretrained=False, pnet_rand=True, verbose=False).eval()
    x = torch.rand(1, 3, 64, 64, requires_grad=True)
    distance = model(x, torch.rand(1, 3, 64, 64))
    distance.sum().backward()
    return {"distance": distance, "grad": x.grad}


def piq():
    import piq

    x, y = torch.rand(2, 3, 48, 48), torch.rand(2, 3, 48, 48)
    names = ("psnr", "ssim", "gmsd", "total_variation", "vif_p", "fsim", "haarpsi", "mdsi", "vsi")
    return {name: getattr(piq, name)(*((x,) if name == "total_variation" else (x, y))) for name in names}


def pytorch_msssim():
    from pytorch_msssim import MS_SSIM, ssim

    x = torch.rand(1, 3, 180, 180, requires_grad=True)
    y = torch.rand(1, 3, 180, 180)
    value = MS_SSIM(data_range=1.0)(x, y)
    value.backward()
    return {"ms": value, "ssim": ssim(x, y, data_range=1.0), "grad": x.grad}


def vit_pytorch():
    from vit_pytorch import SimpleViT, ViT
    from vit_pytorch.cct import CCT

    x = torch.randn(1, 3, 32, 32)
    vit = ViT(image_size=32, patch_size=8, num_classes=5, dim=32, depth=2, heads=2, mlp_dim=64)
    simple = SimpleViT(image_size=32, patch_size=8, num_classes=5, dim=32, depth=2, heads=2, mlp_dim=64)
    cct = CCT(img_size=(32, 32), embedding_dim=32, num_layers=2, num_heads=2, mlp_ratio=2.0, num_classes=5)
    return {
        "vit": forward_and_back(vit.eval(), x),
        "simple": forward_and_back(simple, x),
        "cct": forward_and_back(cct.eval(), x),
    }


def efficientnet_pytorch():
    from efficientnet_pytorch import EfficientNet

    return forward_and_back(EfficientNet.from_name("efficientnet-b0", num_classes=4).eval(), torch.randn(1, 3, 64, 64))


def facenet_pytorch():
    from facenet_pytorch import InceptionResnetV1

    return forward_and_back(InceptionResnetV1(pretrained=None).eval(), torch.randn(2, 3, 96, 96))


def segment_anything():
    from segment_anything.modeling import ImageEncoderViT, MaskDecoder, PromptEncoder, TwoWayTransformer

    encoder = ImageEncoderViT(
        img_size=64, patch_size=8, embed_dim=32, depth=2, num_heads=2, out_chans=16, use_rel_pos=True, window_size=4
    )
    prompts = PromptEncoder(embed_dim=16, image_embedding_size=(8, 8), input_image_size=(64, 64), mask_in_chans=4)
    decoder = MaskDecoder(transformer_dim=16, transformer=TwoWayTransformer(2, 16, 2, 32))
    image = encoder(torch.randn(1, 3, 64, 64))
    points = (torch.tensor([[[20.0, 30.0]]]), torch.tensor([[1]]))
    sparse, dense = prompts(points, None, None)
    masks, quality = decoder(image, prompts.get_dense_pe(), sparse, dense, True)
    masks.mean().backward()
    return {"masks": masks, "quality": quality, "grad": encoder.patch_embed.proj.weight.grad}


def grad_cam():
    import torchvision
    from pytorch_grad_cam import GradCAM, ScoreCAM
    from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget

    model = torchvision.models.resnet18().eval()
    x = torch.randn(1, 3, 64, 64)
    targets = [ClassifierOutputTarget(3)]
    with GradCAM(model, [model.layer4[-1]]) as cam:
        return {
            "cam": cam(input_tensor=x, targets=targets),
            "score": ScoreCAM(model, [model.layer1[-1]])(input_tensor=x, targets=targets),
        }


def ttach():
    import ttach

    model = torch.nn.Sequential(torch.nn.Conv2d(3, 2, 3, padding=1))
    wrapped = ttach.SegmentationTTAWrapper(model, ttach.aliases.d4_transform(), merge_mode="mean")
    return wrapped(torch.randn(1, 3, 16, 16))


def torchattacks():
    import torchattacks

    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 8 * 8, 5)).eval()
    x, y = torch.rand(4, 3, 8, 8), torch.tensor([0, 1, 2, 3])
    return {
        name: getattr(torchattacks, name)(model)(x, y) for name in ("FGSM", "PGD", "BIM", "MIFGSM", "CW", "DeepFool")
    }


def torchio():
    import torchio

    subject = torchio.Subject(image=torchio.ScalarImage(tensor=torch.rand(1, 16, 16, 16)))
    steps = torchio.Compose(
        [torchio.RescaleIntensity((0, 1)), torchio.CropOrPad(12), torchio.RandomNoise(), torchio.RandomFlip(axes=(0,))]
    )
    return steps(subject)["image"].data


def pytorch_wavelets():
    from pytorch_wavelets import DTCWTForward, DWTForward, DWTInverse

    low, high = DWTForward(J=2, wave="db3", mode="zero")(torch.randn(1, 2, 32, 32))
    return {
        "low": low,
        "high": high,
        "back": DWTInverse(wave="db3", mode="zero")((low, high)),
        "dtcwt": DTCWTForward(J=2)(torch.randn(1, 1, 32, 32))[0],
    }


def ptwt():
    import ptwt

    x = torch.randn(3, 64, requires_grad=True)
    parts = ptwt.wavedec(x, "db2", level=3)
    back = ptwt.waverec(parts, "db2")
    (back**2).sum().backward()
    return {"parts": parts, "back": back, "grad": x.grad, "cwt": ptwt.cwt(x.detach(), np.arange(1, 8), "morl")[0]}


def lightly():
    from lightly.loss import BarlowTwinsLoss, NTXentLoss, VICRegLoss
    from lightly.models.modules import SimCLRProjectionHead

    head = SimCLRProjectionHead(16, 32, 8)
    a, b = head(torch.randn(6, 16)), head(torch.randn(6, 16))
    found = {"ntxent": NTXentLoss()(a, b), "barlow": BarlowTwinsLoss()(a, b), "vicreg": VICRegLoss()(a, b)}
    sum(found.values()).backward()
    return {**found, "grads": [each.grad for each in head.parameters()]}


def captum():
    from captum.attr import (
        DeepLift,
        FeatureAblation,
        GradientShap,
        IntegratedGradients,
        LayerGradCam,
        Occlusion,
        Saliency,
    )

    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 3)
    ).eval()
    x = torch.randn(2, 1, 8, 8)
    return {
        "ig": IntegratedGradients(model).attribute(x, target=1, n_steps=20),
        "saliency": Saliency(model).attribute(x, target=0),
        "lift": DeepLift(model).attribute(x, x * 0, target=2),
        "shap": GradientShap(model).attribute(x, torch.zeros(3, 1, 8, 8), target=1),
        "occlusion": Occlusion(model).attribute(x, (1, 3, 3), target=1),
        "ablation": FeatureAblation(model).attribute(x, target=1),
        "cam": LayerGradCam(model, model[0]).attribute(x, 1),
    }


def zennit():
    from zennit.attribution import Gradient
    from zennit.composites import EpsilonPlusFlat

    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 3)
    ).eval()
    with Gradient(model=model, composite=EpsilonPlusFlat()) as attributor:
        return attributor(torch.randn(2, 1, 8, 8), torch.eye(3)[[0, 1]])


def denoising_diffusion():
    from denoising_diffusion_pytorch import GaussianDiffusion, Unet

    model = Unet(dim=8, dim_mults=(1, 2), flash_attn=False)
    diffusion = GaussianDiffusion(model, image_size=16, timesteps=10, sampling_timesteps=3)
    loss = diffusion(torch.rand(2, 3, 16, 16))
    loss.backward()
    return {"loss": loss, "sample": diffusion.sample(batch_size=1), "grad": model.init_conv.weight.grad}


def perceiver():
    from perceiver_pytorch import Perceiver

    model = Perceiver(
        num_freq_bands=3,
        depth=2,
        max_freq=8.0,
        input_channels=3,
        num_latents=8,
        latent_dim=16,
        num_classes=4,
        cross_dim_head=8,
        latent_dim_head=8,
    )
    return forward_and_back(model.eval(), torch.randn(1, 12, 12, 3))
