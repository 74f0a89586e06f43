"""Write a witness as a script for its runtime.

Values from outside become the repr of a number or a text, or a one-line comment, never code.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from convcheck.backends.onnx.model import is_of, node_constants, output_names, text_of
from convcheck.backends.onnx.runtime import optimisation_of
from convcheck.backends.packing import pack
from convcheck.errors import UsageError
from convcheck.judge.result import Strip, Word
from convcheck.judge.words import pattern, value
from convcheck.numerics.format import Bool, Float, Format, Numeric, Text
from convcheck.numerics.number import Codes
from convcheck.reproduce.emit.c import filled, hexadecimal_of
from convcheck.reproduce.emit.onnx import Urls, about
from convcheck.reproduce.witness import ANYTHING, REFUSAL, SHOWN, Due, Witness
from convcheck.rules.model import Case

RUNTIMES = {"ort": "onnxruntime", "openvino": "openvino"}  # backend -> template
_ONNX = "onnx"
_WIDTH = 96
_TIMEOUT = 60  # seconds for a call that may crash or hang
_HINT = "--as c gives the inputs and answers for any language"
_FEW = 4  # elements with their values in a comment
_CONSTANT, _EXPOSED = ("input", "constant"), ("middle", "exposed")
Names = Mapping[str, str]  # a type -> its name in a runtime, as code


def check_backend(address: str) -> None:
    """Raise UsageError for a backend without Python scripts."""
    name, _, variant = address.partition(":")
    if name not in RUNTIMES or (name == "openvino" and variant not in ("", "first", "const")):
        raise UsageError(f"there is no Python script for the backend {address}", hint=_HINT)


def python(witness: Witness, urls: Urls) -> str:
    """Return a script that exits 1 while the answer is wrong, else 0. Raises UsageError."""
    check_backend(witness.backend.name)
    name, _, variant = witness.backend.name.partition(":")
    strips = [s for due in witness.due for s in due.outputs if isinstance(s, Strip)]
    texts = any(isinstance(t.format, Text) for t in (*witness.case.inputs, *witness.case.outputs))
    if name == "openvino" and texts:
        raise UsageError("Python scripts do not support texts in OpenVINO", hint=_HINT)
    if any(isinstance(s.format, Text) and any(map(pattern, s.words)) for s in strips):
        raise UsageError("a script cannot judge a text with several valid spellings", hint=_HINT)
    kinds = _kinds(witness, _ONNX if name == "ort" else name)
    tensors = [*witness.inputs, *strips, *(witness.got or ())]
    formats = [s.format for s in tensors if s.format and not isinstance(s.format, Text | Bool)]
    packed = any(fmt.bits < 8 for fmt in formats)  # several elements to a byte
    content = {
        "about": [*about(witness, urls), "Exits 1 while it is wrong, 0 once it is right."],
        "provider": repr(variant or "CPUExecutionProvider"),
        "packed": packed,
        **_question(witness, kinds, texts, name),
        **_judgement(witness, kinds, texts, strips),
        **_of_runtime(witness, name, variant),
    }
    if is_of(_ONNX, witness.case):
        content |= _of_model(witness, name, packed)
    else:
        content |= _of_node(witness)
    return filled(__file__, f"{RUNTIMES[name]}.j2", content)


def _kinds(witness: Witness, world: str) -> Names:
    dues = (due for reading in witness.one.expected[0].readings for due in reading.outputs)
    types = (*witness.case.inputs, *witness.case.outputs, *(due.dtype for due in dues))
    names = {dtype.name: dtype.name_in(world) for dtype in types}
    for name, own in names.items():
        if not own.isidentifier():
            raise UsageError(f"{world} has no name for the type {name}", hint="--as c")
    return {name: repr(own) for name, own in names.items()}


def _tensor(strip: Strip, kinds: Names, *more: object) -> str:
    parts = [kinds[strip.type], repr(list(strip.shape)), _words(strip), *map(repr, more)]
    return f"({', '.join(parts)})"


def _words(strip: Strip) -> str:
    if len(strip.words) > SHOWN and len(set(strip.words)) == 1:
        return f"[{_word(strip.format, strip.words[0])}] * {len(strip.words)}"
    return f"[{', '.join(_word(strip.format, word) for word in strip.words)}]"


def _word(fmt: Format | None, word: Word) -> str:
    if isinstance(word, str):
        return repr("anything" if word == ANYTHING else pattern(word) or word)
    return hexadecimal_of(fmt, word)


def _broken(expression: str, texts: bool) -> str:
    if texts or len(expression) < _WIDTH:
        return expression
    return textwrap.fill(expression, _WIDTH, subsequent_indent="    ", break_long_words=False)


def _question(witness: Witness, kinds: Names, texts: bool, name: str) -> dict[str, Any]:
    case = witness.case
    tensors = [_tensor(strip, kinds) for strip in witness.inputs]
    literal = f"[{', '.join(tensors)}]"
    if len(literal) > _WIDTH and len(tensors) > 1:
        literal = "[\n" + "".join(f"    {one},\n" for one in tensors) + "]"
    literal = _broken(literal, texts or "\n" in literal)
    few = witness.inputs if sum(len(s.words) for s in witness.inputs) <= _FEW else ()
    known = [(s.format, s.words) for s in few if s.format and not isinstance(s.format, Text)]
    numbers = [str(value(fmt, word)) for fmt, words in known for word in words]
    numeric = [t for t in case.inputs if not isinstance(t.format, Text)]
    unpacks = not case.outputs or any(not isinstance(t.format, Text) for t in case.outputs)
    return {
        "inputs": literal,
        "values": f"  # {', '.join(numbers)}" if numbers and "\n" not in literal else "",
        "packs": bool(numeric),
        "unpacks": unpacks,
        "text_inputs": len(numeric) < len(case.inputs),
        "crash": witness.group.verdict == "crashed",
        "timeout": _TIMEOUT,
        "calls": witness.calls,
        "onnx": is_of(_ONNX, case),
        "memory": name == "ort" and (unpacks or bool(numeric)),
    }


def _judgement(
    witness: Witness, kinds: Names, texts: bool, strips: Sequence[Strip]
) -> dict[str, Any]:
    free = any(due.outputs == ANYTHING for due in witness.due)
    plain = free or all(map(_is_plain, witness.due))
    several = len(witness.due) > 1
    said = [_due(due, kinds, plain) for due in witness.due]
    names = [due.reading or f"reading {i}" for i, due in enumerate(witness.due, 1)]
    entries = [f"    {name!r}: {one},\n" for name, one in zip(names, said, strict=True)]
    fmt = next((s.format for s in strips if isinstance(s.format, Float)), None)
    return {
        "plain": plain,
        "free": free,  # except a crash
        "several": several,
        "expected": f"{{\n{''.join(entries)}}}"
        if several
        else _broken(said[0], texts or not plain),
        "patterns": list(_patterns(strips, fmt)),
        "between": _between(witness, kinds),
        "sign": hex(fmt.sign_bit) if fmt else "0",
    }


def _is_plain(due: Due) -> bool:
    if isinstance(due.outputs, str):
        return due.outputs == REFUSAL
    return all(s.is_whole and not any(map(pattern, s.words)) for s in due.outputs)


def _due(due: Due, kinds: Names, plain: bool) -> str:
    if isinstance(due.outputs, str):
        word = "refused" if due.outputs == REFUSAL else "anything"
        return f"[({word!r}, [], []{'' if plain else ', 0'})]"
    tensors = (_tensor(s, kinds, *(() if plain else (s.first,))) for s in due.outputs)
    return f"[{', '.join(tensors)}]"


def _between(witness: Witness, kinds: Names) -> str:
    pairs = [
        f"({kinds[low.type]}, {list(low.shape)!r}, {_words(low)}, {_words(high)}, {low.first})"
        for low, high in witness.between
    ]
    return _broken(f"[{', '.join(pairs)}]", texts=False) if pairs else ""


def _patterns(strips: Sequence[Strip], fmt: Float | None) -> Iterator[tuple[str, str]]:
    for word in sorted({w for s in strips for w in s.words if isinstance(w, str)}):
        if word == ANYTHING:
            yield repr("anything"), "True"
        elif fmt is not None and pattern(word):
            magnitude, sign = hex(fmt.magnitude_mask), hex(fmt.sign_bit)
            above = f"code & {magnitude} > {fmt.last_number:#x}"
            test = f"code == {sign}" if fmt.nan == "sign-only" else above
            if word == "<zero>":
                test = f"code & {magnitude} == 0"
            elif word == "<-nan>":
                test += f" and code & {sign} != 0"
            yield repr(pattern(word)), test


def _of_runtime(witness: Witness, name: str, variant: str) -> dict[str, Any]:
    from convcheck.backends.process.standalone import OPENVINO_CONFIG

    case = witness.case
    stated = witness.first and bool(case.outputs)
    return {
        "folded": variant == "const" or _CONSTANT in case.setting,
        "partly": variant == "first" and _CONSTANT not in case.setting,
        "exposed": _EXPOSED in case.setting,
        "dims": f"ov.PartialShape({'shape' if stated else '[-1] * len(shape)'})",
        "config": repr(OPENVINO_CONFIG) if name == "openvino" else "",
    }


def _of_node(witness: Witness) -> dict[str, Any]:
    from convcheck.backends.openvino import attributes_of

    case = witness.case
    return {
        "op": repr(case.op.partition(".")[2]),
        "attributes": [repr(dict(attributes_of(one))) for one in case.hops or (case,)],
        "before": repr(dict(attributes_of(witness.before))) if witness.before else "",
        "opset": repr(f"opset{case.version}"),
    }


def _of_model(witness: Witness, name: str, packed: bool) -> dict[str, Any]:
    case = witness.case
    words: dict[str, int | str] = {}  # bits of an element, or numpy's type if none are packed
    for dtype in (*case.inputs, *case.outputs):
        if not isinstance(fmt := dtype.format, Text):
            bits = 8 if isinstance(fmt, Bool) else fmt.bits
            words[dtype.name_in(_ONNX)] = bits if packed else f"u{fmt.storage.itemsize}"
    # OpenVINO's importer needs the number of dimensions
    ranks = [len(strip.shape) for strip in witness.inputs] if name == "openvino" else []
    level, entries = optimisation_of(dict(case.setting))
    return {
        "output_names": repr(output_names(case)),
        "model": _quoted(text_of(case, ranks)),
        "before": _quoted(text_of(witness.before, ranks)) if witness.before else "",
        "parts": _parts(case),
        "constant": _CONSTANT in case.setting,
        "level": level,
        "entries": [(repr(entry), repr(value)) for entry, value in entries.items()],
        "bits": repr(words) if words else "",
    }


def _quoted(text: str) -> str:
    printable = all(map(str.isprintable, text.split("\n")))
    plain = printable and "\\" not in text and '"""' not in text
    return f'"""{text}"""' if plain else repr(text)


def _parts(case: Case) -> list[tuple[str, str]]:
    found = []
    for name, dtype, bits in (one for some in node_constants(case) for one in some):
        fmt = cast(Numeric, dtype.format)
        memory = pack(fmt, cast(Codes, bits)).tobytes()
        said = f"{name!r}, TensorProto.{dtype.name_in(_ONNX)}, [], {memory!r}, raw=True"
        found.append((said, str(value(fmt, int(bits)))))
    return found
