"""`torch.onnx.symbolic_opset11`, which libraries import for an export: it writes no operator, there is none."""
