"""Write inputs as lines, read answers back: hexadecimal codes, texts as JSON strings."""

import json
import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from convcheck.errors import Place, UsageError
from convcheck.numerics.format import Format, Text
from convcheck.numerics.number import Bits
from convcheck.streams import plural
from convcheck.vectors.model import VectorSet
from convcheck.vectors.store.stored import canonical, words_of_bits

REFUSED = "refused"
_HEX = re.compile(r"(0[xX])?[0-9a-fA-F]+")


def lines(vectors: VectorSet) -> Iterator[str]:
    """Yield a line per input, without line ends."""
    fmt = vectors.case.inputs[0].format
    words = words_of_bits(fmt, vectors.inputs[0])
    return map(canonical, words) if isinstance(fmt, Text) else iter(words)


def read_answers(data: bytes, file: str, fmt: Format) -> tuple[Bits, NDArray[np.bool_]]:
    """Return answers and a mask of refusals, shape (n,). Raises UsageError with file and line."""
    said = _decoded(data, file)
    words = [_word(line, fmt, Place(file, number)) for number, line in enumerate(said, 1)]
    refused = np.array([word is None for word in words], bool)
    blank = "" if isinstance(fmt, Text) else 0
    got = np.empty(len(words), fmt.storage)
    got[:] = [blank if word is None else word for word in words]
    return got, refused


def _decoded(data: bytes, file: str) -> Sequence[str]:
    found: list[str] = []
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n") if data else [], 1):
        try:
            found.append(line.decode("utf-8").removesuffix("\r"))
        except UnicodeDecodeError:
            place, hint = Place(file, number), "write text, a line an answer, not raw bytes"
            raise UsageError(f"not UTF-8: {line[:40]!r}", place=place, hint=hint) from None
    return found


def _word(line: str, fmt: Format, place: Place) -> int | str | None:
    word = line.strip()
    if word == REFUSED:
        return None
    if isinstance(fmt, Text):
        try:
            text = json.loads(word)
        except ValueError:
            text = None
        if not isinstance(text, str):
            hint = f'one JSON string a line, such as "1.5", or {REFUSED}'
            raise UsageError(f"not a JSON string: {word[:60]!r}", place=place, hint=hint)
        return text
    bits = fmt.bits
    digits = -(-bits // 4)
    form = f"{plural(bits, 'bit')} as {plural(digits, 'hex digit')}"
    hint = f"one answer a line: {form}, such as {0:0{digits}x}"
    if not _HEX.fullmatch(word):
        said = f"not hex: {word[:60]!r}" if word else "an empty line instead of an answer"
        raise UsageError(said, place=place, hint=f"{hint}; or {REFUSED}")
    code = int(word, 16)
    if code >> bits:
        raise UsageError(f"{word[:60]} has more than {plural(bits, 'bit')}", place=place, hint=hint)
    return code
