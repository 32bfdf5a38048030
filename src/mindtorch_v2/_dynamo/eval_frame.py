"""`OptimizedModule`: the wrapper that `torch.compile` puts around a Module."""

import mindtorch_v2 as torch

__all__ = ["OptimizedModule"]


class OptimizedModule(torch.nn.Module):
    """Calls the Module `mod`, which is its only child `_orig_mod`; other attributes are the child's."""

    def __init__(self, mod, dynamo_ctx=None):
        super().__init__()
        self._orig_mod = mod
        self.dynamo_ctx = dynamo_ctx
        self.training = mod.training

    def __getattr__(self, name):
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name, value):
        if name in ("_orig_mod", "dynamo_ctx") or name in self.__dict__ or "_modules" not in self.__dict__:
            super().__setattr__(name, value)
        elif "_orig_mod" not in self._modules:
            super().__setattr__(name, value)
        else:
            if name == "training":
                super().__setattr__(name, value)
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name):
        if name in self.__dict__:
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __call__(self, *args, **kwargs):
        return self._orig_mod(*args, **kwargs)

    def __len__(self):
        return len(self._orig_mod)

    def forward(self, *args, **kwargs):
        return self._orig_mod(*args, **kwargs)
