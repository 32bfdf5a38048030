"""Calls that fit no overload of a function: PyTorch's class and text, word for word."""

import json
import pathlib
import re
import warnings

import pytest

import mindtorch_v2 as torch

SNAPSHOT = pathlib.Path(__file__).parents[1] / "snapshots" / "library" / "call_errors.jsonl"
RECORDED = dict(json.loads(line) for line in SNAPSHOT.read_text().splitlines()) if SNAPSHOT.exists() else {}
CALLS = """
torch.sum(x,(0.5,))
torch.sum(x,[1,'a'])
torch.sum(x,(1,'a'),3,4)
x.sum(('a',))
x.add()
torch.add(x)
x.masked_fill(x>0,(1,2))
x.masked_fill(value=1)
x.masked_fill(x>0, val='a')
x.add_(x,'a')
x.add(2,alpha='a')
x.squeeze(foo=2)
x.fill_()
x.fill_(1,2)
torch.max(x,0,keepdim=1.5)
torch.max(x,dim='a')
torch.where(x>0,1)
torch.std(x,'a')
x.std('a')
x.std(unbiased='a')
torch.zeros((2,None))
torch.zeros('a')
torch.empty(2,None)
torch.randn((2,'a'))
torch.randn(2,'a')
torch.rand(2.0)
torch.randint(0,10,3)
torch.arange(1,2,'a')
torch.full('a',1)
torch.clamp(x,1,2,3)
x.clamp(1,'a')
torch.nn.functional.conv2d(x,x,stride='a')
torch.nn.functional.conv1d(x,2)
torch.cat([x],[x])
torch.cat(x,x)
torch.topk(x)
torch.topk()
torch.gather(x)
torch.gather(x,0,x,out=1)
torch.sum(x,0,out='a')
torch.sort(x,out=x)
torch.index_select(x,'a',x)
torch.bmm(x,2)
torch.mm(x)
torch.mm(x,x,x,x)
torch.addmm(x,x)
x.view(dtype='a')
x.view('a',1)
x.reshape(1.5)
x.expand(1.5)
x.permute(1.5)
x.permute(dims=1)
x.repeat(1.5)
x.flip('a')
x.roll('a')
x.unfold(0)
x.new_full((2,),'a')
x.new_full('a')
x.scatter(0,x)
x.scatter(0,x,'a')
x.index_fill(0,x,'a')
x.index_add(0,x)
x.lerp(x,'a')
x.pow('a')
torch.pow('a',x)
torch.pow(2,'a')
x.eq('a')
torch.eq(x,'a')
torch.lt(x,None)
torch.bitwise_and(x,'a')
torch.floor_divide(x,'a')
torch.div(x,2,rounding_mode=1)
torch.div(x,'a',rounding_mode='floor')
torch.cumsum(x,'a')
torch.cumsum(x)
torch.argmax(x,'a')
torch.all(x,'a')
torch.quantile(x,'a')
torch.quantile(x,0.5,'a')
torch.logsumexp(x)
torch.var_mean(x,'a')
torch.linalg.norm(x,ord={})
torch.linalg.solve(x)
torch.fft.fft(x,'a')
torch.fft.fft(x,1,2,3,4,5)
torch.special.expit('a')
torch.stack([x,'a'])
torch.tensor_split(x,'a')
torch.triu(x,'a')
torch.diag(x,'a')
torch.normal(1.,'a')
torch.multinomial(x,'a')
torch.bernoulli(x,'a')
torch.dropout(x,0.5)
torch.batch_norm(x)
torch.layer_norm(x)
torch.lstm(x)
torch.softmax(x,0,'a')
torch.isclose(x,2)
torch.allclose(x,2)
torch.bincount(x,'a')
torch.histc(x,'a')
torch.tril_indices(1)
torch.empty_like(2)
torch.zeros_like('a')
torch.full_like(x)
torch.full_like(x,'a')
torch.empty_strided((2,))
torch.max(x, 1, 2, 3)
torch.ones(1, 2, 3).sum(0, True, 1)
x.max(0, 1, 2)
torch.sum(x, 0, True, 3)
torch.relu(1)
torch.relu(x, x)
torch.relu()
torch.add(x, x, beta=1)
torch.add(x, other=x, input=x)
torch.zeros(2, dtype="float")
torch.zeros(2, foo=1)
torch.matmul(x, 2)
torch.ops.aten.add(1, 2).item()
torch.ops.aten.add.Tensor(1, 2).item()
torch.ops.aten.relu(1)
torch.ops.aten.relu(x, y=1)
""".strip().splitlines()
# Overloads that only one of the two has, or that only one has an out= form of: the list of all differs by those.
OTHER_OVERLOADS = {
    "torch.sum(x,(0.5,))",
    "torch.where(x>0,1)",
    "torch.std(x,'a')",
    "torch.randint(0,10,3)",
    "torch.arange(1,2,'a')",
    "torch.sum(x,0,out='a')",
    "torch.mm(x)",
    "torch.mm(x,x,x,x)",
    "torch.addmm(x,x)",
    "torch.bitwise_and(x,'a')",
    "torch.floor_divide(x,'a')",
    "torch.div(x,2,rounding_mode=1)",
    "torch.div(x,'a',rounding_mode='floor')",
    "torch.normal(1.,'a')",
}


def said(call):
    """The class and text of what a call raises, or what it gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(eval(call, {"torch": torch, "x": torch.ones(2)}))
        except Exception as error:  # noqa: BLE001  (its class is compared)
            text = re.sub(r"\n\n?(Exception raised from|C\+\+ CapturedTraceback).*", "", str(error), flags=re.DOTALL)
            return f"{type(error).__name__}: {text}"


@pytest.mark.parametrize("call", CALLS)
def test_what_a_call_says(call):
    if call in OTHER_OVERLOADS:
        assert said(call).partition(":")[0] == RECORDED[call].partition(":")[0]
    else:
        assert said(call) == RECORDED[call]
