"""PyTorch's search for slow habits in a profile: by its names, which raise when they are used."""

from mindtorch_v2._core.unavailable import unavailable_names

globals().update(
    unavailable_names(
        "torch.profiler._pattern_matcher",
        functions="report_all_anti_patterns",
        classes="Pattern NamePattern ExtraCUDACopyPattern ForLoopIndexingPattern FP32MatMulPattern OptimizerSingleTensorPattern "
        "SynchronizedDataLoaderPattern GradNotSetToNonePattern Conv2dBiasFollowedByBatchNorm2dPattern MatMulDimInFP16Pattern",
        remedy="look through prof.key_averages()",
    )
)
