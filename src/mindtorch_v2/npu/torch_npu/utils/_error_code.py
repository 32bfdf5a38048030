"""Codes of errors, by the module that programs take them from."""

from mindtorch_v2.npu._error_code import ErrCode, dist_error, graph_error, ops_error, prof_error, pta_error

__all__ = ["ErrCode", "dist_error", "graph_error", "ops_error", "prof_error", "pta_error"]
