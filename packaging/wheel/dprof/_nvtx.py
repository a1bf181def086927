# SPDX-License-Identifier: Apache-2.0
"""Ranges of NVTX, without NVTX's library: a tool is found as that library would, and fills in its functions itself."""
from __future__ import annotations

import ctypes
import os

_CALLBACKS, _VERSION = 1, 3  # tables that a tool asks for
_CORE, _CORE_COUNT, _PUSH, _POP = 1, 16, 9, 11  # the module of plain ranges, and functions in it

_GetModule = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint32, ctypes.POINTER(ctypes.c_void_p),
                              ctypes.POINTER(ctypes.c_uint))
_GetTable = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)
_SetVersion = ctypes.CFUNCTYPE(None, ctypes.c_uint32)
# The interpreter's lock is kept: each call takes some ten nanoseconds.
_Push = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_char_p)
_Pop = ctypes.PYFUNCTYPE(ctypes.c_int)


class _Callbacks(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("get_module", _GetModule)]


class _Version(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("version", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                ("set_version", _SetVersion)]


# What a tool fills: functions by their number, and where each of them lies.
_functions = (ctypes.c_void_p * _CORE_COUNT)()
_slots = (ctypes.c_void_p * _CORE_COUNT)(None, *(ctypes.addressof(_functions) + i * ctypes.sizeof(ctypes.c_void_p)
                                                 for i in range(1, _CORE_COUNT)))


@_GetModule
def _get_module(module: int, table: ctypes._Pointer[ctypes.c_void_p], count: ctypes._Pointer[ctypes.c_uint]) -> int:
    if module != _CORE:
        return 0
    if table:
        table[0] = ctypes.addressof(_slots)
    if count:
        count[0] = _CORE_COUNT
    return 1


@_SetVersion
def _set_version(_version: int) -> None:
    pass


_callbacks = _Callbacks(ctypes.sizeof(_Callbacks), _get_module)
_version = _Version(ctypes.sizeof(_Version), 3, 0, _set_version)


@_GetTable
def _get_table(table: int) -> int:
    tables = {_CALLBACKS: _callbacks, _VERSION: _version}
    return ctypes.addressof(tables[table]) if table in tables else 0


def _nothing(*_: object) -> int:
    return 0


def _connect() -> bool:
    """Whether a tool is there and has filled in what is needed."""
    path = os.environ.get("NVTX_INJECTION64_PATH")
    if not path:
        return False
    try:
        initialize = ctypes.CDLL(path).InitializeInjectionNvtx2
    except (OSError, AttributeError):
        return False
    initialize.argtypes, initialize.restype = (_GetTable,), ctypes.c_int
    return initialize(_get_table) != 0 and bool(_functions[_PUSH]) and bool(_functions[_POP])


if _connect():
    push, pop = _Push(_functions[_PUSH]), _Pop(_functions[_POP])
else:
    push = pop = _nothing
