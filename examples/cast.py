"""A program that convcheck can ask, by the process protocol, in Python and nothing else.

It casts float32 to float8e4m3fn and int32 to int8, and quantises float32 to int8 and back, as
cast.c does:

    convcheck backend probe --backend 'process:python cast.py'
    convcheck run --backend 'process:python cast.py' onnx.Cast-21 onnx.QuantizeLinear-13

Requests come on stdin, answers go to stdout: a line of JSON, then the bytes of the tensors.
"""

import json
import math
import struct
import sys


def to_float8e4m3fn(x, saturate):
    """Give the code of a number; ties go to the even code."""
    sign = 0x80 if math.copysign(1, x) < 0 else 0
    x = abs(x)
    if math.isnan(x) or (math.isinf(x) and not saturate):
        return sign | 0x7F
    if x > 464:  # the midpoint of 448, the largest, and 480, which would be the next
        return sign | (0x7E if saturate else 0x7F)
    exponent = max(math.frexp(x)[1] - 1, -6) if x else -6
    steps = round(x * 2.0 ** (3 - exponent))  # in units of the last place, ties to even
    return sign | (steps + (exponent + 6) * 8)


def to_int8(x, scale, zero_point):
    """Give the code of a quantised number: rounded to even, then the zero point, then saturated."""
    if math.isnan(x) or not scale > 0:
        return 0  # nothing is due
    quotient = float32(x / scale) if math.isfinite(x) else x
    whole = round(quotient) if math.isfinite(quotient) else math.copysign(1000, quotient)
    return int(min(max(whole + zero_point, -128), 127)) & 0xFF


def float32(x):
    """Give the nearest float32."""
    try:
        return struct.unpack("f", struct.pack("f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def dequantizer(request, payload):
    """Give the function of a DequantizeLinear; None where a scale goes along an axis, or is of
    another type.
    """
    sizes = {tensor["name"]: tensor["bytes"] for tensor in request["inputs"]}
    types = [tensor["type"] for tensor in request["inputs"][:2]] + request["outputs"]
    if types != ["int8", "float32", "float32"] or sizes["x_scale"] != 4:
        return None
    zero = "b" * ("x_zero_point" in sizes)
    *_, scale, shift = *struct.unpack(f"<{sizes['x']}bf{zero}", payload), *[0] * (not zero)
    return "float32", "b", lambda x: struct.pack("<f", float32((x - shift) * scale))


def quantizer(request, payload):
    """Give the function of a QuantizeLinear; None where a scale goes along an axis, or where it or
    the type of the division is another one.
    """
    sizes = {tensor["name"]: tensor["bytes"] for tensor in request["inputs"]}
    types = [tensor["type"] for tensor in request["inputs"][:2]] + request["outputs"]
    if types != ["float32", "float32", "int8"] or sizes["y_scale"] != 4:
        return None
    if request["attributes"].get("precision", 1) != 1:
        return None
    _, scale, *zero = struct.unpack(f"<{sizes['x']}sf" + "b" * ("y_zero_point" in sizes), payload)
    return "int8", "f", lambda x: bytes([to_int8(x, scale, zero[0] if zero else 0)])


def kernel(request, payload):
    """Give the type that comes of a request, the letter of struct for what it is made of, and what
    gives the bytes of an element; None where there is none.
    """
    source, targets = request["inputs"][0]["type"], request["outputs"]
    if request["op"] == "QuantizeLinear":
        return quantizer(request, payload)
    if request["op"] == "DequantizeLinear":
        return dequantizer(request, payload)
    if request["op"] != "Cast":
        return None
    if (source, targets) == ("float32", ["float8e4m3fn"]):
        saturate = request["attributes"].get("saturate", 1)
        return "float8e4m3fn", "f", lambda x: bytes([to_float8e4m3fn(x, saturate)])
    if (source, targets) == ("int32", ["int8"]):
        return "int8", "i", lambda x: bytes([x & 0xFF])
    return None


def answer(request, payload):
    """Give the header and the payload of an answer."""
    found = kernel(request, payload)
    if found is None:
        return {"run": request["run"], "declined": "no such kernel", "missing": True}, b""
    name, letter, function = found
    first = payload[: request["inputs"][0]["bytes"]]
    count = len(first) // struct.calcsize(letter)
    codes = b"".join(map(function, struct.unpack(f"<{count}{letter}", first)))  # little-endian
    output = {"type": name, "shape": request["inputs"][0]["shape"], "bytes": len(codes)}
    return {"run": request["run"], "outputs": [output]}, codes


def main():
    """Answer until the input ends."""
    while line := sys.stdin.buffer.readline():
        request = json.loads(line)
        if "hello" in request:
            header, codes = {"hello": 1, "name": "cast.py", "version": "1.0"}, b""
        else:
            size = sum(tensor["bytes"] for tensor in request["inputs"])
            header, codes = answer(request, sys.stdin.buffer.read(size))
        sys.stdout.buffer.write(json.dumps(header).encode() + b"\n" + codes)
        sys.stdout.buffer.flush()  # or convcheck waits for what is in the buffer


if __name__ == "__main__":
    main()
