"""The plug-in of the guide for in-place operators in graphs, as it stands there: what it registers for `my_inplace`."""

PLUGIN = """
import torch
import torch_npu
from torch.library import Library, impl

# 根据命名空间获取原地算子注册的Library，如您的算子通过op-plugin注册，则其命名空间为npu，否则使用您注册算子时的命名空间
# （您通过torch.ops.xxx.{your_op_name}调用算子时的xxx就是该算子的命名空间）
m = Library("npu", "FRAGMENT")

# 定义原地算子的非原地版本，参数列表与原地算子相同，并去除表示原地修改含义的a!、b!，添加返回值
m.define("my_inplace_functional(Tensor x, Tensor y) -> (Tensor, Tensor)")

# 注册非原地算子的实现。NPU通过PrivateUse1设备扩展接入Torch，因此此处实现选择的Dispatch key为PrivateUse1
@impl(m, "my_inplace_functional", "PrivateUse1")
def my_inplace_functional_npu(x, y):
    x_clone = x.clone()
    y_clone = y.clone()
    torch.ops.npu.my_inplace(x_clone, y_clone)
    return x_clone, y_clone

# 注册非原地操作算子meta实现，用于torch FX图的shape、dtype推导，即算子在调用后输出的shape、dtype可根据算子的入参来推导
@impl(m, "my_inplace_functional", "Meta")
def my_inplace_functional_meta(x, y):
    return torch.empty_like(x), torch.empty_like(y)

# 注册原地操作算子meta实现，若您已经注册过，该步骤可忽略。
@impl(m, "my_inplace", "Meta")
def my_inplace_meta(x, y):
    pass # 原地算子没有返回值，直接pass即可

@impl(m, "my_inplace", "Functionalize")
def custom_add_func(x, y):
    x_out, y_out = torch.ops.npu.my_inplace_functional(x, y)
    x.copy_(x_out)
    y.copy_(y_out)
"""  # the guide's own punctuation
