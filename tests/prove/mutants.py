"""Mutants of the right kernels: a constant, comparison, shift, order or mask is changed."""

import random
import re
from pathlib import Path

KERNELS = Path(__file__).with_name("kernels") / "right.c"
CASES = {
    "f32_to_bf16": "float32-to-bfloat16",
    "f64_to_bf16": "float64-to-bfloat16",
    "f32_to_f16": "float32-to-float16",
    "f64_to_e4m3_saturated": "float64-to-float8e4m3fn/saturate=1",
    "f32_to_e4m3_saturated": "float32-to-float8e4m3fn/saturate=1",
    "f16_to_e5m2": "float16-to-float8e5m2/saturate=1",
    "e5m2_to_f32": "float8e5m2-to-float32",
    "i64_to_bf16": "int64-to-bfloat16",
    "u32_to_f16": "uint32-to-float16",
    "f32_to_e5m2_saturated": "float32-to-float8e5m2/saturate=1",
    "f32_to_u8_low_bits": "float32-to-uint8",
    "f32_to_e5m2": "float32-to-float8e5m2/saturate=0",
}
_TOKENS = re.compile(
    r"0x[0-9a-f]+|(?<![\w.])\d+(?![\w.])|<<|>>|<=|>=|==|!=|&&|\|\||[<>&|+-](?![<>=&|+-])"
)
_SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||",
          "||": "&&", "<<": ">>", ">>": "<<", "+": "-", "-": "+", "&": "|", "|": "&"}  # fmt: skip


def mutants(seed, each):
    """Yield (function, change, text) with one token changed in its body."""
    draw = random.Random(seed)
    text = KERNELS.read_text()
    for name in CASES:
        start = text.index(f" {name}(")
        begin = text.index("{", start)
        end = text.index("\n}\n", begin)
        tokens = list(_TOKENS.finditer(text, begin, end))
        for token in draw.sample(tokens, each):
            word = token[0]
            if word in _SWAPS:
                new = _SWAPS[word]
            else:
                number = int(word, 0) + draw.choice([-1, 1])
                new = hex(number) if word.startswith("0x") else str(number)
            line = text.count("\n", 0, token.start()) + 1
            changed = text[: token.start()] + new + text[token.end() :]
            yield name, f"line {line}: {word} -> {new}", changed
