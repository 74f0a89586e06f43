"""Planted bugs of promotions, each with a name: wrong types, wrong refusals, wrong values.

A bug gets what was asked, with the matrix's own answer, and gives another one. Bugs of types show
whatever the values are; those of outputs may show in some values only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from planted.promotion_asked import (
    REFUSED,
    SCALARS,
    SPEC,
    TARGET,
    TYPES,
    UNSAFE,
    Asked,
    Bugged,
)
from planted.promotion_outputs import (
    broadcast,
    integers_through_float32,
    nan_to_zero,
    negative_zero_lost,
    on_outputs,
    one_as_all_ones,
    one_output,
    reinterpreted,
    reshaped,
    through,
    truncated,
    zero_extended,
)

from convcheck.backends.protocol import Answer
from convcheck.numerics.format import Bool, Float, Int
from convcheck.rules.model import Case, DType

ON, OFF = "true", "false"

LADDERS = (
    *([TYPES[f"{sign}int{bits}"] for bits in (4, 8, 16, 32, 64)] for sign in ("", "u")),
    *([TYPES[f8], *(TYPES[f"float{bits}"] for bits in (16, 32, 64))]
      for f8 in ("float8e4m3fn", "float8e5m2")),
    [TYPES["float8e4m3fn"], TYPES["bfloat16"], TYPES["float32"], TYPES["float64"]],
)  # fmt: skip


@dataclass(frozen=True)
class PromotionBug:
    """A bug and what it answers; `outputs` tells one whose type and refusals are right."""

    name: str
    answer: Bugged
    outputs: bool = False


# Types -----------------------------------------------------------------------------------------


def other_type(change: Callable[[Asked, DType], DType | None]) -> Bugged:
    """Answer in another type where a change of the right one gives one."""

    def bug(asked: Asked) -> Answer:
        right = asked.type_()
        wrong = change(asked, right) if right else None
        return asked.to(wrong) if wrong else asked.answer()

    return bug


def of_width(steps: int) -> Bugged:
    """A type some widths up or down, of two inputs that differ."""

    def change(asked: Asked, right: DType) -> DType | None:
        if asked.case.inputs[0] == asked.case.inputs[1]:
            return None
        ladder = next((each for each in LADDERS if right in each), [right])
        at = ladder.index(right) + steps
        return ladder[at] if 0 <= at < len(ladder) else None

    return other_type(change)


def other_sign(asked: Asked, right: DType) -> DType | None:
    """The integer of the other sign."""
    name = right.name.removeprefix("u") if right.name.startswith("u") else f"u{right.name}"
    return TYPES.get(name) if isinstance(right.format, Int) else None


def widest(asked: Asked, right: DType) -> DType | None:
    """The wider input, the first of two."""
    return max(asked.case.inputs, key=lambda t: t.format.bits)


def first(asked: Asked, right: DType) -> DType | None:
    return asked.case.inputs[0]


def of_pair(*names: str, gives: str) -> Bugged:
    """Another type for one pair."""

    def change(asked: Asked, right: DType) -> DType | None:
        return TYPES[gives] if {t.name for t in asked.case.inputs} == set(names) else None

    return other_type(change)


def is_u64_and_signed(case: Case) -> bool:
    a, b = case.inputs
    return any(
        x.name == "uint64" and isinstance(y.format, Int) and y.format.signed
        for x, y in ((a, b), (b, a))
    )


def target_widened(asked: Asked, right: DType) -> DType | None:
    """u64_integer_promotion_target taken for every mix of signed and unsigned integers."""
    signs = {t.format.signed for t in asked.case.inputs if isinstance(t.format, Int)}
    integers = all(isinstance(t.format, Int) for t in asked.case.inputs)
    if not integers or len(signs) < 2 or asked.found().table.ranks:
        return None
    word = dict(SPEC.in_force(asked.case.attributes))[TARGET]
    return next(t for t in TYPES.values() if t.name_in("openvino") == word)


def signed_64(asked: Asked, right: DType) -> DType | None:
    return TYPES["int64"] if is_u64_and_signed(asked.case) else None


def with_attributes(**changes: str) -> Bugged:
    """Answer as under other attributes, whatever they are."""
    return lambda asked: asked.answer(asked.found(**changes))


def u64_target_for_scalars(asked: Asked) -> Answer:
    """The u64 target instead of the dimensioned type."""
    return asked.answer(asked.found(**{SCALARS: OFF}) if is_u64_and_signed(asked.case) else None)


def of_ranks(change: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Bugged:
    """Answer as for tensors of other ranks."""
    return lambda asked: asked.answer(asked.found(change(asked.case.ranks)))


def by_size(asked: Asked) -> Answer:
    """A tensor of one element taken for a scalar."""
    return asked.answer(asked.found(tuple(0 if b.size == 1 else 1 for b in asked.inputs)))


def none_as_scalar(asked: Asked) -> Answer:
    """A tensor without elements taken for a scalar."""
    ranks = zip(asked.case.ranks, asked.inputs, strict=True)
    return asked.answer(asked.found(tuple(rank if b.size else 0 for rank, b in ranks)))


# Refusals --------------------------------------------------------------------------------------


def refuse_also(when: Callable[[Asked, DType], bool]) -> Bugged:
    """Refuse more than is due while promote_unsafe is false."""

    def bug(asked: Asked) -> Answer:
        right = asked.type_()
        guarded = dict(asked.case.attributes)[UNSAFE] == OFF
        return REFUSED if right and guarded and when(asked, right) else asked.answer()

    return bug


def accept_also(when: Callable[[Asked, DType], bool]) -> Bugged:
    """Accept some of what has to be refused."""

    def bug(asked: Asked) -> Answer:
        free = asked.found(**{UNSAFE: ON})
        wrong = asked.type_() is None and when(asked, free.target)
        return asked.answer(free if wrong else None)

    return bug


def bits(asked: Asked) -> list[int]:
    return [t.format.bits for t in asked.case.inputs]


def mixed(asked: Asked) -> bool:
    """Whether an integer meets a float."""
    kinds = {type(t.format) for t in asked.case.inputs}
    return kinds == {Int, Float}


def twice(asked: Asked, right: DType) -> bool:
    """Whether a float has exactly twice the integer's bits."""
    return mixed(asked) and max(bits(asked)) == 2 * min(bits(asked))


def as_wide(asked: Asked, right: DType) -> bool:
    return mixed(asked) and right.format.bits >= min(bits(asked))


def widens_one(asked: Asked, right: DType) -> bool:
    """Whether the result is wider than either input: bit-widening read as any widening."""
    same = {type(t.format) for t in asked.case.inputs} == {type(right.format)}
    return same and right.format.bits > min(bits(asked))


def boolean(asked: Asked, right: DType) -> bool:
    return {type(t.format) for t in asked.case.inputs} != {Bool} and Bool in {
        type(t.format) for t in asked.case.inputs
    }


def widening(asked: Asked, right: DType) -> bool:
    return right.format.bits > max(bits(asked)) and not is_u64_and_signed(asked.case)


def scalar_table(asked: Asked, right: DType) -> bool:
    return bool(asked.found().table.ranks)


@cache
def bugs() -> tuple[PromotionBug, ...]:
    types = {
        "one width too wide": of_width(1),
        "one width too narrow": of_width(-1),
        "signed and unsigned swapped": other_type(other_sign),
        "the first input's type": other_type(first),
        "the wider input's type": other_type(widest),
        "f16 and bf16 to f16": of_pair("float16", "bfloat16", gives="float16"),
        "the f8 types to bf16": of_pair("float8e4m3fn", "float8e5m2", gives="bfloat16"),
        "u64 target ignored": with_attributes(**{TARGET: "f32"}),
        "u64 target for every mix of signs": other_type(target_widened),
        "u64 and signed to i64": other_type(signed_64),
        "u64 target instead of the dimensioned type": u64_target_for_scalars,
        "scalar flag ignored": with_attributes(**{SCALARS: OFF}),
        "scalar flag always on": with_attributes(**{SCALARS: ON}),
        "scalar's type instead of the dimensioned one": of_ranks(
            lambda ranks: tuple(int(not rank) for rank in ranks)
        ),
        "one element taken for a scalar": by_size,
        "scalar on the first side only": of_ranks(lambda ranks: (ranks[0], 1)),
        "refusal missing": with_attributes(**{UNSAFE: ON}),
        "refusal of bit-widening missing": accept_also(widening),
        "refusal of floats as wide as the integer missing": accept_also(as_wide),
        "refusal of u64 and signed missing": accept_also(lambda a, t: is_u64_and_signed(a.case)),
        "refusal missing for scalars": accept_also(scalar_table),
        "promote_unsafe ignored": with_attributes(**{UNSAFE: OFF}),
        "any difference refused": refuse_also(lambda a, t: len(set(a.case.inputs)) > 1),
        "any widening refused": refuse_also(widens_one),
        "floats of twice the integer's bits refused": refuse_also(twice),
        "booleans refused": refuse_also(boolean),
    }
    outputs = {
        "no elements taken for a scalar": none_as_scalar,
        "no elements, and a shape without sizes": reshaped(
            lambda arrays: tuple(a if a.size else a.reshape(-1) for a in arrays)
        ),
        "first output not converted": one_output(0),
        "second output not converted": one_output(1),
        "outputs swapped": reshaped(lambda arrays: arrays[::-1]),
        "outputs broadcast": reshaped(broadcast),
        "outputs flattened": reshaped(lambda arrays: tuple(a.reshape(-1) for a in arrays)),
    }
    values = {
        "values reinterpreted": reinterpreted,
        "sign not extended": zero_extended,
        "truncated": truncated,
        "rounded twice, through float32": through("float32"),
        "rounded twice, through float64": through("float64"),
        "integers through float32": integers_through_float32,
        "-0 lost": negative_zero_lost,
        "NaN to 0": nan_to_zero,
        "True as all ones": one_as_all_ones,
    }
    return (
        *(PromotionBug(name, answer) for name, answer in types.items()),
        *(PromotionBug(name, answer, True) for name, answer in outputs.items()),
        *(PromotionBug(name, on_outputs(change), True) for name, change in values.items()),
    )
