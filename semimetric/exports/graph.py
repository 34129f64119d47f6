"""Graphs of ONNX, built operator by operator in float64, with standard operators only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .._foundation.errors import InputError
from .._foundation.optional_imports import optional

OPSET = 19  # the first whose Equal takes text
_IR_VERSION = 9  # that this opset came with


class Graph:
    """A graph that grows; every method returns the name of what it adds, which no name of ``names`` is."""

    def __init__(self, names: Iterable[str]) -> None:
        self._prefix = "_"
        while any(name.startswith(self._prefix) for name in names):
            self._prefix += "_"
        self._onnx = optional("onnx")
        self._nodes: list[Any] = []
        self._constants: dict[bytes, str] = {}
        self._tensors: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def _name(self) -> str:
        return f"{self._prefix}{len(self._nodes) + len(self._tensors)}"

    def input(self, name: str, width: int, *, text: bool = False) -> str:
        """Add an input of shape (n, width), of float64 or text."""
        self._check(name)
        kind = self._onnx.TensorProto.STRING if text else self._onnx.TensorProto.DOUBLE
        self._inputs.append(self._onnx.helper.make_tensor_value_info(name, kind, [None, width]))
        return name

    def output(self, value: str, name: str, dtype: Any, *width: int) -> None:
        """Call a value an output of shape (n, *width)."""
        self._check(name)
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name], f"output {name}"))
        kind = self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self._outputs.append(self._onnx.helper.make_tensor_value_info(name, kind, [None, *width]))

    def _check(self, name: str) -> None:
        if not name or name in {value.name for value in (*self._inputs, *self._outputs)}:
            raise InputError(
                f"{name!r} is the name of a column, and a graph needs it for what it gives, or needs a name; rename the column"
            )

    def constant(self, values: Any, dtype: Any = np.float64) -> str:
        """Add an array; equal ones are one."""
        array = np.asarray(values, dtype=dtype)
        key = repr((array.dtype, array.shape)).encode() + (
            repr(array.tolist()).encode() if array.dtype == object else array.tobytes()
        )
        if key not in self._constants:
            name = self._constants[key] = self._name()
            self._tensors.append(self._onnx.numpy_helper.from_array(array, name))
        return self._constants[key]

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add an operator of one output."""
        return self.ops(kind, 1, *inputs, **attributes)[0]

    def ops(self, kind: str, n_outputs: int, *inputs: str, **attributes: Any) -> list[str]:
        """Add an operator of several outputs."""
        names = [f"{self._name()}_{k}" for k in range(n_outputs)]
        self._nodes.append(self._onnx.helper.make_node(kind, list(inputs), names, names[0], **attributes))
        return names

    def cast(self, value: str, dtype: Any) -> str:
        """Return a value as another type."""
        return self.op("Cast", value, to=self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def take(self, value: str, columns: Any, axis: int = -1) -> str:
        """Return some columns; with indices of several axes these replace the axis."""
        return self.op("Gather", value, self.constant(columns, np.int64), axis=axis)

    def total(self, value: str, axis: int = -1, kind: str = "ReduceSum", *, keep: bool = False) -> str:
        """Return the sum, or another reduction, over an axis."""
        return self.op(kind, value, self.constant([axis], np.int64), keepdims=int(keep))

    def axis(self, value: str, *axes: int) -> str:
        """Return a value with new axes of length 1."""
        return self.op("Unsqueeze", value, self.constant(axes, np.int64))

    def concat(self, values: list[str], axis: int = -1) -> str:
        """Return several values side by side."""
        return values[0] if len(values) == 1 else self.op("Concat", *values, axis=axis)

    def added(self, values: list[str]) -> str:
        """Return the sum of several values."""
        total = values[0]
        for value in values[1:]:
            total = self.op("Add", total, value)
        return total

    def model(self, name: str, description: str) -> Any:
        """Return the whole, checked."""
        helper = self._onnx.helper
        graph = helper.make_graph(self._nodes, name, self._inputs, self._outputs, self._tensors, doc_string=description)
        made = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="semimetric", ir_version=_IR_VERSION
        )
        self._onnx.checker.check_model(made, full_check=True)
        return made
