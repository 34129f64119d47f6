"""Sums of table entries that codes of 16 values choose, of 64 items at a time, in the processor's vector registers.

The code is written in LLVM's language: 16 bytes, of which 16 others choose, are one instruction where the processor has such.
Elsewhere LLVM writes the same in several, and without the compiler NumPy computes the same.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 64  # The number of items whose codes are summed together.


def _scan_64(typing, tables, codes, block, n_columns, limit):
    """Return the mask of the items of a block; see `_scanned`."""
    signature = types.uint64(tables, codes, types.int64, types.int64, types.uint8)

    def generate(context, builder, signature, arguments):
        tables, codes, block, n_columns, limit = arguments
        i8, i32, i64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
        half, whole = ir.VectorType(i8, 16), ir.VectorType(i8, LANES)
        table, code = (
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(signature.args[:2], (tables, codes), strict=True)
        )
        name = f"llvm.uadd.sat.v{LANES}i8"
        add = cgutils.get_or_insert_function(builder.module, ir.FunctionType(whole, [whole, whole]), name)

        def every(number):
            return ir.Constant(whole, [number] * LANES)

        def looked_up(entry, numbers):
            """Return the bytes from ``entry`` on that the numbers (64,) choose, all of them < 16."""
            entries = builder.load(builder.bitcast(builder.gep(table, [entry]), half.as_pointer()), align=1)
            parts = []
            for start in range(0, LANES, 16):
                lanes = ir.Constant(ir.VectorType(i32, 16), list(range(start, start + 16)))
                some, found = builder.shuffle_vector(numbers, every(0), lanes), ir.Constant(half, ir.Undefined)
                for lane in range(16):  # LLVM makes one shuffle of bytes of these, where the processor has one.
                    number = builder.extract_element(some, i32(lane))
                    found = builder.insert_element(found, builder.extract_element(entries, number), i32(lane))
                parts.append(found)
            while len(parts) > 1:
                both = list(range(2 * parts[0].type.count))
                lanes = ir.Constant(ir.VectorType(i32, len(both)), both)
                parts = [builder.shuffle_vector(a, b, lanes) for a, b in zip(parts[::2], parts[1::2], strict=True)]
            return parts[0]

        first = builder.mul(builder.mul(block, n_columns), i64(LANES))
        total = cgutils.alloca_once(builder, whole)
        builder.store(every(0), total)
        with cgutils.for_range(builder, n_columns) as loop:
            place = builder.gep(code, [builder.add(first, builder.mul(loop.index, i64(LANES)))])
            numbers = builder.load(builder.bitcast(place, whole.as_pointer()), align=1)
            found = looked_up(builder.mul(loop.index, i64(16)), builder.lshr(numbers, every(2)))
            builder.store(builder.call(add, [builder.load(total), found]), total)
        limits = builder.insert_element(ir.Constant(whole, ir.Undefined), limit, i32(0))
        limits = builder.shuffle_vector(limits, limits, ir.Constant(ir.VectorType(i32, LANES), [0] * LANES))
        return builder.bitcast(builder.icmp_unsigned("<=", builder.load(total), limits), i64)

    return signature, generate


def _scanned(tables, codes, block, n_columns, limit):
    """Return the mask of the 64 items of a block whose sums over tables, cut off at 255, are <= limit, as bits.

    The tables (n_columns, 16) of integers below 256 and the codes (n_blocks, n_columns, 64) are flat. A quarter of a code,
    rounded down, is the number of an entry, so that codes are below 64.
    """
    entries = tables[: 16 * n_columns].reshape(n_columns, 16).astype(np.int64)
    chosen = codes[block * n_columns * LANES : (block + 1) * n_columns * LANES].reshape(n_columns, LANES) >> 2
    sums = np.take_along_axis(entries, chosen.astype(np.int64), axis=1).sum(axis=0)
    return np.uint64(sum(1 << lane for lane in range(LANES) if min(sums[lane], 255) <= limit))


scan_64: Any = _scanned if config.DISABLE_JIT else intrinsic(_scan_64)  # type: ignore[attr-defined]
