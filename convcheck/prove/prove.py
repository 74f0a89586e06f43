"""Prove that a kernel equals the rule of a case for every input, or refute it with one."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

import z3

from convcheck.backends.compiled import Kernel, width
from convcheck.errors import ConvcheckError
from convcheck.prove.ir import Bits, Bool, Pointer, UndecidedError, Value, count, evaluate
from convcheck.prove.proof import Proof
from convcheck.prove.rule import Rule, rules_of
from convcheck.rules.cases import fixed_tensors
from convcheck.rules.model import Case, Spec


class DisagreeingError(ConvcheckError):
    """The solver and the machine disagree: a fault of convcheck."""

    exit_code = 70


def prove(spec: Spec, case: Case, kernel: Kernel, limit: float, *, both: bool = False) -> Proof:
    """Return the verdict of z3, given seconds per question. With `both`, Bitwuzla has to agree.

    Raises DisagreeingError.
    """
    start = time.perf_counter()
    proof = Proof(case, kernel, "undecided", 0.0)
    try:
        proof = replace(proof, size=count(kernel.function))
        proof = _Proving(spec, case, kernel, limit, both).verdict(proof)
    except UndecidedError as error:
        proof = replace(proof, why=str(error), inputs=error.inputs)
    return replace(proof, took=time.perf_counter() - start)


def allows(
    spec: Spec, case: Case, kernel: Kernel, answers: Sequence[tuple[int, int]], limit: float
) -> bool:
    """Return whether LLVM allows these (input, answer) pairs of a function."""
    proving = _Proving(spec, case, kernel, limit, both=False)
    return all(proving.may_give(x, y) for x, y in answers)


def changes(spec: Spec, case: Case) -> list[int]:
    """Return the codes where the expected value changes, and those before, under any reading."""
    parts = (part for rule in rules_of(spec, case) for part in rule.first.parts)
    return sorted({code for part in parts for code in (part.first, part.last)})


class _Proving:
    def __init__(self, spec: Spec, case: Case, kernel: Kernel, limit: float, both: bool) -> None:
        if said := kernel.mismatch(case):
            raise UndecidedError(said)
        self.rules, self.limit, self.both = rules_of(spec, case), limit, both
        source, target = (
            one.format.storage.itemsize * 8 for one in (case.inputs[0], case.outputs[0])
        )
        self.bits = self.rules[0].first.source.bits
        self.x = z3.BitVec("x", source)
        self.valid = z3.ULE(self.x, (1 << self.bits) - 1)
        text = str(kernel.module)
        if 'denormal-fp-math"="' in text and 'denormal-fp-math"="ieee' not in text:
            raise UndecidedError("subnormals may be flushed (denormal-fp-math)")
        head = next(line for line in str(kernel.function).splitlines() if "define" in line)
        if "range(" in head or "nofpclass" in head:
            raise UndecidedError(f"the parameters are restricted: {head}")
        known: list[Value | Pointer] = [Value(self.x)]
        if kernel.by_pointer:
            known = [Pointer(f"argument {i}", Value(z3.BitVecVal(0, 64))) for i in range(2)]
        if kernel.takes_length:
            known.append(Value(z3.BitVec("length", width(kernel.types[2]))))
        given = kernel.given(spec, case, fixed_tensors(case))
        more = zip(kernel.types[len(known) :], given, strict=True)
        known += [Value(z3.BitVecVal(value, width(type_))) for type_, value in more]
        x = Value(self.x)
        self.outcome = evaluate(kernel.function, known, x, kernel.takes_length)
        if kernel.by_pointer:
            self.outcome.assumed.add("input and output do not overlap")
        self.y = self.outcome.result.bits
        if self.y.size() == 1 and target == 8:
            self.y = z3.ZeroExt(7, self.y)
        if self.y.size() != target:
            raise UndecidedError(f"it writes {self.y.size()} bits, not {target}")

    def verdict(self, proof: Proof) -> Proof:
        """Return the verdict, under the first reading that holds."""
        proof = replace(proof, bits=self.bits)
        refuting: list[int] = []
        for rule in self.rules:
            model = self._refuted(rule)
            if model is None:
                if self._solved(z3.Not(rule.is_open(self.x))) is None:
                    raise UndecidedError("the standard defines no result")
                self._check_defined(rule)
                self._check_mutants(rule)
                reading = rule.name if len(self.rules) > 1 else ""
                assumed = tuple(sorted(self.outcome.assumed))
                return replace(proof, verdict="proved", reading=reading, assumed=assumed)
            refuting.append(_code(model, self.x))
        if len(self.rules) > 1:
            model = self._refuted(*self.rules)
            refuting = [_code(model, self.x)] if model is not None else refuting
        return replace(proof, verdict="refuted", inputs=tuple(refuting))

    def may_give(self, x: int, y: int) -> bool:
        """Return whether `y` is a result for `x`."""
        return self._solved(self.x == x, self.y == y) is not None

    def _solved(self, *conditions: Bool) -> z3.ModelRef | None:
        solver = z3.Solver()
        solver.set("timeout", max(1, int(self.limit * 1000)))
        solver.add(z3.simplify(z3.And(*self.outcome.facts, self.valid, *conditions)))
        found = solver.check()
        if self.both and (other := _by_bitwuzla(solver.to_smt2(), self.limit)) != str(found):
            if "unknown" not in (other, str(found)):
                said = f"z3 says {found}, and Bitwuzla {other}"
                raise DisagreeingError(said, hint="please report the function and the case")
            raise UndecidedError(f"Bitwuzla did not decide within {self.limit:g} s")
        if found == z3.unknown:
            raise UndecidedError(f"the solver did not decide within {self.limit:g} s")
        return solver.model() if found == z3.sat else None

    def _refuted(self, *rules: Rule) -> z3.ModelRef | None:
        """Return an input with a defined answer that is wrong under all of these."""
        undefined = [condition for condition, _ in self.outcome.undefined]
        defined = z3.Not(z3.Or(self.outcome.result.poison, *undefined))
        wrong = (z3.Not(rule.holds(self.x, self.y)) for rule in rules)
        return self._solved(self.outcome.total, defined, *wrong)

    def _check_defined(self, rule: Rule) -> None:
        """Raise UndecidedError for undefined behaviour, or an input without a result."""
        if known := self.outcome.undefined:
            model = self._solved(z3.Or(*(condition for condition, _ in known)))
            if model is not None:
                self._tell(model, known, "its behaviour is undefined in C")
        poison = self.outcome.result.poison
        if not z3.is_false(z3.simplify(poison)):
            model = self._solved(poison, z3.Not(rule.is_open(self.x)))
            if model is not None:
                self._tell(model, self.outcome.poison, "its result is undefined in C")
        model = self._solved(z3.Not(self.outcome.total))
        if model is not None:
            raise UndecidedError(f"it gives no result for {hex(_code(model, self.x))}")

    def _tell(self, model: z3.ModelRef, known: Sequence[tuple[Bool, str]], said: str) -> None:
        found = next((text for condition, text in known
                      if z3.is_true(model.eval(condition, model_completion=True))), "")  # fmt: skip
        code = _code(model, self.x)
        raise UndecidedError(f"{said} for {hex(code)}: {found}".rstrip(": "), (code,))

    def _check_mutants(self, rule: Rule) -> None:
        """Raise DisagreeingError unless wrong rules are refuted: the proof is not vacuous."""
        for code in _exact(rule):
            there = self.x == code
            wrong = z3.If(there, rule.holds(self.x, self.y ^ 1), rule.holds(self.x, self.y))
            if self._solved(z3.Not(wrong)) is None:
                raise DisagreeingError("a wrong rule is proved as well", hint="please report it")


def _by_bitwuzla(text: str, limit: float) -> str:
    import bitwuzla

    options = bitwuzla.Options()
    options.set(bitwuzla.Option.TIME_LIMIT_PER, max(1, int(limit * 1000)))
    parser = bitwuzla.Parser(bitwuzla.TermManager(), options)
    parser.parse(text.replace("(check-sat)", ""), True, False)
    return str(parser.bitwuzla().check_sat())


def _exact(rule: Rule) -> Iterator[int]:
    """Yield a low, a middle and a high code with one right result, if there are any."""
    codes = [part.first for part in rule.first.parts if not part.pattern]
    for some in (codes, codes[len(codes) // 2 :], codes[::-1]):
        yield from islice(filter(rule.is_exact, some), 1)


def _code(model: z3.ModelRef, x: Bits) -> int:
    return int(model.eval(x, model_completion=True).as_long())
