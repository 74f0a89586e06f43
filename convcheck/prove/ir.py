"""Evaluate a function of LLVM IR symbolically, as terms of an SMT solver.

A value is a bit vector and a condition under which it is poison (LLVM Language Reference). Floats
are their bits. What the tables lack raises UndecidedError, which names the instruction.
"""

import ctypes
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import z3

ROUNDS = 80  # iterations of a loop
_WIDTHS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}
_SORTS = {"half": (5, 11), "bfloat": (8, 8), "float": (8, 24), "double": (11, 53)}
_INLINE = 1 << 16  # elements of a table
# flags of fast math, and metadata that restrict or loosen a result
_LOOSE = re.compile(
    r" (fast|nnan|ninf|nsz|arcp|contract|afn|reassoc)\b|!(range|nofpclass|fpmath)\b|\brange\("
)
_NEAREST = z3.RNE()
_ZERO = z3.RTZ()

Bits: TypeAlias = Any  # z3's BitVecRef
Bool: TypeAlias = Any  # z3's BoolRef
Instruction: TypeAlias = Any  # llvmlite's ValueRef


class UndecidedError(Exception):
    """Something that is not modelled, with the instruction, or that C leaves undefined."""

    def __init__(self, said: str, inputs: tuple[int, ...] = ()) -> None:
        super().__init__(said)
        self.inputs = inputs


@dataclass(frozen=True)
class Value:
    """A value and whether it is poison."""

    bits: Bits
    poison: Bool = field(default_factory=lambda: z3.BoolVal(False))


@dataclass(frozen=True)
class Pointer:
    """An address: an argument or a constant table, and an offset in bytes."""

    base: str
    offset: Value


@dataclass(frozen=True)
class Edge:
    """A way into a block, with the values of its phis."""

    reach: Bool
    phis: tuple[Value | Pointer, ...]


@dataclass
class Outcome:
    """What a function does: its result, and where its behaviour is undefined."""

    #: (reached, value) of each return or store
    results: list[tuple[Bool, Value]] = field(default_factory=list)
    #: (condition, instruction) of undefined behaviour
    undefined: list[tuple[Bool, str]] = field(default_factory=list)
    #: (condition, instruction) of poison at its source
    poison: list[tuple[Bool, str]] = field(default_factory=list)
    #: facts about fresh variables
    facts: list[Bool] = field(default_factory=list)
    assumed: set[str] = field(default_factory=set)

    @property
    def total(self) -> Bool:
        """Whether there is a result."""
        return z3.Or(*(reach for reach, _ in self.results))

    @property
    def result(self) -> Value:
        """Return the result, merged over all ways. A later store wins."""
        (_, first), *others = self.results
        bits, poison = first.bits, first.poison
        for reach, one in others:
            bits, poison = z3.If(reach, one.bits, bits), z3.If(reach, one.poison, poison)
        return Value(bits, poison)


def evaluate(
    function: Instruction, arguments: Sequence[Value | Pointer], x: Value, loop: bool = False
) -> Outcome:
    """Return what a function does. Loads from pointers that are arguments give `x`.

    With `loop`, one iteration of its loop over an array is evaluated.
    """
    return _Evaluation(function, arguments, x).run(loop)


class _Evaluation:
    def __init__(
        self, function: Instruction, arguments: Sequence[Value | Pointer], x: Value
    ) -> None:
        self.function, self.x, self.outcome = function, x, Outcome()
        self.blocks = list(function.blocks)
        self.graph = _Graph(self.blocks)
        self.values: dict[int, Value | Pointer] = {
            _key(name): given for name, given in zip(function.arguments, arguments, strict=True)
        }
        self.tables: dict[str, _Table] = {}
        self.incoming: dict[int, list[Edge]] = {}
        self.reach = z3.BoolVal(True)
        self.at = ""
        self.here = 0
        self.home: dict[int, int] = {}  # value -> its block
        self.fresh = 0
        self.array: _Array | None = None
        self.floats: dict[tuple[str, int], Any] = {}

    def run(self, loop: bool) -> Outcome:
        """Evaluate all blocks."""
        self.incoming[0] = [Edge(z3.BoolVal(True), ())]
        if loop:
            self.array = _Array(self.function, self.graph, self.blocks)
        self._region(range(len(self.graph.order)), None)
        if not self.outcome.results:
            raise UndecidedError("the function gives no result")
        if any(not z3.is_false(edge.reach) for left in self.incoming.values() for edge in left):
            raise UndecidedError("its blocks have an order that is not modelled")
        return self.outcome

    def _region(self, order: Sequence[int], inside: int | None) -> None:
        done = -1
        for place in order:
            if place <= done:
                continue
            block = self.graph.order[place]
            array = self.array is not None and self.array.header == block
            if self.array and array:
                self.array.enter(self)
            if block not in self.graph.loops or block == inside or array:
                self._block(block)
            elif self.incoming.get(block):
                done = self._loop(block)

    def _loop(self, header: int) -> int:
        """Evaluate the iterations of a loop. Return the place of its last block."""
        members = self.graph.loops[header]
        places = [p for p, block in enumerate(self.graph.order) if block in members]
        if places != list(range(places[0], places[-1] + 1)):
            raise UndecidedError("the loop's blocks are not in a row")
        for _ in range(ROUNDS):
            self._region(places, header)
            left = self.incoming.get(header)
            if not left or self.never(z3.Or(*(one.reach for one in left))):
                self.incoming.pop(header, None)
                return places[-1]
        raise UndecidedError(f"a loop goes on after {ROUNDS} iterations")

    def never(self, condition: Bool) -> bool:
        """Return whether a condition holds for no input, as far as the solver soon tells."""
        solver = z3.Solver()
        solver.set("timeout", 5000)
        solver.add(*self.outcome.facts, condition)
        return bool(solver.check() == z3.unsat)

    def _block(self, block: int) -> None:
        edges = self.incoming.pop(block, None)
        if not edges:
            return
        self.reach = z3.simplify(z3.Or(*(edge.reach for edge in edges)))
        if z3.is_false(self.reach):
            return
        self.here = block
        phis = [one for one in self.blocks[block].instructions if one.opcode == "phi"]
        self.home |= {_key(one): block for one in self.blocks[block].instructions}
        for i, phi in enumerate(phis):
            *others, last = edges
            value = last.phis[i]
            for edge in reversed(others):
                value = merged(edge.reach, edge.phis[i], value)
            self.values[_key(phi)] = value
        for one in self.blocks[block].instructions:
            if one.opcode != "phi":
                self.at = " ".join(str(one).split())
                self._instruction(block, one)

    def _instruction(self, block: int, one: Instruction) -> None:
        opcode, text = one.opcode, self.at
        operands = list(one.operands)
        if found := _LOOSE.search(re.sub(r'@"[^"]*"|@[\w.$-]+', "", text)):
            raise UndecidedError(f"{found[0].strip()} leaves the result open: {text}")
        if opcode in ("br", "switch"):
            self._branch(block, opcode, operands)
        elif opcode == "ret":
            if operands and (self.array is None):
                self.outcome.results.append((self.reach, self._value(operands[0])))
        elif opcode == "unreachable":
            self._undefined(z3.BoolVal(True))
        elif opcode == "store":
            self._store(operands)
        elif opcode == "load":
            self.values[_key(one)] = self._load(one, self._get(operands[0]))
        elif opcode == "bitcast" and str(one.type) == "ptr":
            self.values[_key(one)] = self._get(operands[0])
        elif opcode == "getelementptr":
            self.values[_key(one)] = self._element(text, [self._get(o) for o in operands])
        elif opcode == "call":
            self._call(one, operands)
        elif opcode == "select":
            self.values[_key(one)] = self._select(*(self._get(o) for o in operands))
        else:
            given = [self._value(operand) for operand in operands]
            self.values[_key(one)] = self._computed(one, opcode, operands, given)

    # Control flow --------------------------------------------------------------------------------

    def _branch(self, block: int, opcode: str, operands: list[Instruction]) -> None:
        if opcode == "br" and len(operands) == 1:
            self._edge(block, operands[0], z3.BoolVal(True))
            return
        on = self._value(operands[0])
        if not (self.array and self.array.header in self.graph.next[block]):
            self._undefined(on.poison)
        if opcode == "br":
            holds = on.bits == 1
            self._edge(block, operands[2], holds)
            self._edge(block, operands[1], z3.Not(holds))
            return
        numbers = re.findall(r"i\d+ (-?\d+), label", self.at.split("[", 1)[1])
        targets = [one for one in operands[2:] if _key(one) in self.graph.number]
        cases = [(on.bits == int(number), target)
                 for number, target in zip(numbers, targets, strict=True)]  # fmt: skip
        for holds, target in cases:
            self._edge(block, target, holds)
        self._edge(block, operands[1], z3.Not(z3.Or(*(holds for holds, _ in cases))))

    def _edge(self, block: int, target: Instruction, holds: Bool) -> None:
        number = self.graph.number[_key(target)]
        if self.array and self.array.ends(block, number):
            return
        phis = [one for one in self.blocks[number].instructions if one.opcode == "phi"]
        values = tuple(self._get(_of_block(phi, self.blocks[block])) for phi in phis)
        edge = Edge(z3.simplify(z3.And(self.reach, holds)), values)
        self.incoming.setdefault(number, []).append(edge)

    def _undefined(self, condition: Bool) -> None:
        condition = z3.simplify(z3.And(self.reach, condition))
        if not z3.is_false(condition):
            self.outcome.undefined.append((condition, self.at))

    # Operands ------------------------------------------------------------------------------------

    def _value(self, operand: Instruction) -> Value:
        found = self._get(operand)
        if isinstance(found, Pointer):
            raise UndecidedError(f"a pointer as a number: {self.at}")
        return found

    def _get(self, operand: Instruction) -> Value | Pointer:
        known = self.values.get(_key(operand))
        if known is not None:
            home = self.home.get(_key(operand), self.here)
            if any(home in loop and self.here not in loop for loop in self.graph.loops.values()):
                raise UndecidedError(f"a value of a loop is used behind it: {self.at}")
            return known
        kind, type_ = operand.value_kind.name, str(operand.type)
        if kind == "global_variable":
            return Pointer(operand.name, Value(z3.BitVecVal(0, 64)))
        if kind in ("poison_value", "undef_value", "constant_aggregate_zero") or type_ == "ptr":
            if kind in ("poison_value", "undef_value") and type_ != "ptr":
                return Value(self.any(self.width(type_)), z3.BoolVal(True))
            raise UndecidedError(f"the operand {operand} of {self.at}")
        if kind == "constant_int":
            return Value(z3.BitVecVal(_integer(str(operand)), self.width(type_)))
        if kind == "constant_fp":
            return Value(z3.BitVecVal(float_code(type_, str(operand).split()[-1]), _WIDTHS[type_]))
        raise UndecidedError(f"the operand {operand} of {self.at}")

    def width(self, type_: str) -> int:
        """Return the bits of a type. Raises UndecidedError for other types than numbers."""
        if found := re.fullmatch(r"i(\d+)", type_):
            return int(found[1])
        if type_ not in _WIDTHS:
            raise UndecidedError(f"the type {type_} in {self.at}")
        return _WIDTHS[type_]

    def any(self, width: int) -> Bits:
        """Return a fresh variable."""
        self.fresh += 1
        return z3.BitVec(f"any{self.fresh}", width)

    # Memory --------------------------------------------------------------------------------------

    def _load(self, one: Instruction, pointer: Value | Pointer) -> Value:
        width = self.width(str(one.type))
        if not isinstance(pointer, Pointer):
            raise UndecidedError(f"an address: {self.at}")
        if pointer.base.startswith("argument"):
            if pointer.base != "argument 0" or width != self.x.bits.size():
                raise UndecidedError(f"it reads another element, or a part of one: {self.at}")
            self._only_first(pointer, width)
            return self.x
        table = self._table(pointer.base)
        offset, size = pointer.offset, width // 8
        if table.width != width or width % 8:
            raise UndecidedError(f"it reads a table of {table.width}-bit elements: {self.at}")
        whole = z3.BitVecVal(size * len(table.elements), 64)
        if not self.never(z3.And(self.reach, offset.bits & (size - 1) != 0)):
            raise UndecidedError(f"it reads between two elements of a table: {self.at}")
        self._undefined(z3.Or(offset.poison, z3.UGE(offset.bits, whole)))
        index = z3.simplify(z3.LShR(offset.bits, size.bit_length() - 1))
        return Value(_tree(index, table.elements, width))

    def _only_first(self, pointer: Pointer, width: int) -> None:
        if self.array:
            if not self.array.is_current(pointer, width // 8):
                raise UndecidedError(f"it takes another element than the current one: {self.at}")
        elif not z3.is_true(z3.simplify(pointer.offset.bits == 0)):
            raise UndecidedError(f"it takes another element than the first: {self.at}")

    def _store(self, operands: list[Instruction]) -> None:
        value, pointer = self._value(operands[0]), self._get(operands[1])
        if not isinstance(pointer, Pointer) or pointer.base != "argument 1":
            raise UndecidedError(f"it writes elsewhere: {self.at}")
        if self.array and self.here not in self.array.members:
            raise UndecidedError(f"it writes outside of the loop: {self.at}")
        self._only_first(pointer, value.bits.size())
        self.outcome.results.append((self.reach, value))

    def _element(self, text: str, operands: list[Value | Pointer]) -> Pointer:
        pointer, *indices = operands
        if not isinstance(pointer, Pointer):
            raise UndecidedError(f"an address: {text}")
        body = text.split("getelementptr", 1)[1]
        type_ = _type_at(re.sub(r"^(\s*(inbounds|nuw|nusw))*\s*", "", body))
        offset, poison = pointer.offset.bits, pointer.offset.poison
        if self.array and len(indices) == 1 and self.array.is_index(indices[0]):
            return Pointer(pointer.base, self.array.element(pointer, _size(type_)))
        for i, index in enumerate(indices):
            if not isinstance(index, Value):
                raise UndecidedError(f"an address: {text}")
            if i:
                type_ = _inner(type_)
            wide = index.bits
            wide = z3.SignExt(64 - wide.size(), wide) if wide.size() < 64 else wide
            offset = offset + wide * _size(type_)
            poison = z3.Or(poison, index.poison)
        return Pointer(pointer.base, Value(z3.simplify(offset), z3.simplify(poison)))

    def _table(self, name: str) -> "_Table":
        if name not in self.tables:
            every = {one.name: one for one in self.function.module.global_variables}
            self.tables[name] = _table_of(str(every[name]))
        return self.tables[name]

    # Arithmetic ----------------------------------------------------------------------------------

    def _select(self, on: Value | Pointer, one: Value | Pointer, other: Value | Pointer) -> Any:
        if not isinstance(on, Value):
            raise UndecidedError(f"a pointer as a condition: {self.at}")
        found = merged(on.bits == 1, one, other)
        if isinstance(found, Value):
            return Value(found.bits, z3.simplify(z3.Or(on.poison, found.poison)))
        return found

    def _computed(
        self, one: Instruction, opcode: str, operands: list[Instruction], given: list[Value]
    ) -> Value:
        words = set(self.at.split("=", 1)[1].replace(",", " ").split())
        poison = [each.poison for each in given]
        terms = [each.bits for each in given]
        source = str(operands[0].type)
        width = self.width(str(one.type))
        if opcode in INTEGERS:
            bits, own = INTEGERS[opcode](words, *terms)
            if opcode in ("udiv", "sdiv", "urem", "srem"):
                zero = z3.Or(poison[1], terms[1] == 0)
                most = z3.And(terms[0] == 1 << terms[0].size() - 1, terms[1] == -1)
                self._undefined(z3.Or(zero, most) if opcode[0] == "s" else zero)
        elif opcode == "icmp":
            bits, own = _compared(words, *terms)
        elif opcode in ("zext", "sext", "trunc", "bitcast", "freeze"):
            bits, own = self._widened(opcode, words, terms[0], width)
            if opcode == "freeze":
                chosen = self.any(width)
                return Value(z3.If(poison[0], chosen, terms[0]))
        else:
            bits, own = self._of_floats(opcode, words, source, str(one.type), terms)
        return self._kept(bits, [*poison, *own], own)

    def _kept(self, bits: Bits, poison: Sequence[Bool], own: Sequence[Bool]) -> Value:
        for condition in own:
            condition = z3.simplify(z3.And(self.reach, condition))
            if not z3.is_false(condition):
                self.outcome.poison.append((condition, self.at))
        return Value(z3.simplify(bits), z3.simplify(z3.Or(*poison, z3.BoolVal(False))))

    def _widened(
        self, opcode: str, words: set[str], x: Bits, width: int
    ) -> tuple[Bits, list[Bool]]:
        if opcode in ("zext", "sext"):
            extend = z3.ZeroExt if opcode == "zext" else z3.SignExt
            return extend(width - x.size(), x), [x < 0] if "nneg" in words else []
        if opcode != "trunc":
            if x.size() != width:
                raise UndecidedError(self.at)
            return x, []
        kept = z3.Extract(width - 1, 0, x)
        own = [z3.ZeroExt(x.size() - width, kept) != x] if "nuw" in words else []
        return kept, own + ([z3.SignExt(x.size() - width, kept) != x] if "nsw" in words else [])

    def number(self, type_: str, bits: Bits) -> Any:
        """Return bits as a floating-point term."""
        if type_ not in _SORTS:
            raise UndecidedError(f"the type {type_} in {self.at}")
        known = self.floats.get((type_, bits.get_id()))
        return known[1] if known else z3.fpBVToFP(bits, z3.FPSort(*_SORTS[type_]))

    def coded(self, type_: str, number: Any) -> Bits:
        """Return the bits of a floating-point term: any, if it is NaN."""
        bits = self.any(_WIDTHS[type_])
        self.outcome.facts.append(z3.fpBVToFP(bits, z3.FPSort(*_SORTS[type_])) == number)
        self.floats[type_, bits.get_id()] = (bits, number)  # keeps the id
        return bits

    def _of_floats(
        self, opcode: str, words: set[str], source: str, type_: str, terms: list[Bits]
    ) -> tuple[Bits, list[Bool]]:
        own: list[Bool] = []
        if opcode == "fneg":
            return terms[0] ^ _sign(terms[0]), own
        if opcode == "fcmp":
            one, other = (self.number(source, term) for term in terms)
            return z3.If(_float_compared(words, one, other), *_BITS), own
        if opcode in ("uitofp", "sitofp"):
            sort = z3.FPSort(*_SORTS[type_])
            to = z3.fpUnsignedToFP if opcode == "uitofp" else z3.fpSignedToFP
            own = [terms[0] < 0] if "nneg" in words else []
            return self.coded(type_, to(_NEAREST, terms[0], sort)), own
        if opcode in ("fptoui", "fptosi"):
            return self.to_integer(opcode == "fptosi", source, terms[0], self.width(type_))
        if opcode in ("fptrunc", "fpext"):
            return self._other_float(source, type_, terms[0]), own
        if opcode not in _FLOATS:
            raise UndecidedError(f"the instruction {opcode}: {self.at}")
        numbers = [self.number(source, term) for term in terms]
        return self.coded(type_, _FLOATS[opcode](*numbers)), own

    def _other_float(self, source: str, type_: str, bits: Bits) -> Bits:
        number = self.number(source, bits)
        found = self.coded(type_, z3.fpFPToFP(_NEAREST, number, z3.FPSort(*_SORTS[type_])))
        self.outcome.assumed.add("conversions between floats keep the sign and payload of NaN")
        (_, digits), (exponent, kept) = _SORTS[source], _SORTS[type_]
        payload = z3.Extract(digits - 2, 0, bits)
        short = kept - digits
        cut = z3.Concat(payload, z3.BitVecVal(0, short)) if short > 0 else (
            z3.Extract(digits - 2, -short, payload) if short else payload
        )  # fmt: skip
        top = z3.BitVecVal(-1, exponent)
        quiet = cut | (1 << kept - 2)
        nan = z3.Concat(z3.Extract(bits.size() - 1, bits.size() - 1, bits), top, quiet)
        self.outcome.facts.append(z3.Implies(z3.fpIsNaN(number), found == nan))
        return found

    def to_integer(
        self, signed: bool, source: str, bits: Bits, width: int
    ) -> tuple[Bits, list[Bool]]:
        """Return a float truncated to an integer, and when it is poison."""
        number = self.number(source, bits)
        low, high = _range(signed, width, source)
        whole = z3.fpRoundToIntegral(_ZERO, number)
        out = z3.Or(z3.fpIsNaN(number), z3.fpLT(whole, low), z3.fpGEQ(whole, high))
        to = z3.fpToSBV if signed else z3.fpToUBV
        return to(_ZERO, number, z3.BitVecSort(width)), [out]

    # Calls ---------------------------------------------------------------------------------------

    def _call(self, one: Instruction, operands: list[Instruction]) -> None:
        *given, callee = operands
        name = callee.name
        if name.startswith(("llvm.lifetime", "llvm.dbg", "llvm.experimental.noalias")):
            return
        words = name.split(".")
        base = _LIBRARY.get(name) or ".".join(words[1 : 3 if "sat" in words else 2])
        if base == "assume":
            self._undefined(self._value(given[0]).bits == 0)
            return
        if base not in CALLS or not (name.startswith("llvm.") or name in _LIBRARY):
            raise UndecidedError(f"the call of {name}: it is not inlined")
        values = [self._value(each) for each in given]
        type_ = str(one.type)
        bits, own = CALLS[base](self, str(given[0].type), type_, [each.bits for each in values])
        self.values[_key(one)] = self._kept(bits, [*(each.poison for each in values), *own], own)


# Blocks ------------------------------------------------------------------------------------------


class _Graph:
    """The blocks of a function: their order, and the loops by header."""

    def __init__(self, blocks: Sequence[Instruction]) -> None:
        self.number = {_key(block): i for i, block in enumerate(blocks)}
        self.next = [self._targets(block) for block in blocks]
        self.loops: dict[int, set[int]] = {}
        self.back: dict[int, list[int]] = {}  # header -> blocks that jump back to it
        order = self._visited()
        self.before: dict[int, list[int]] = {}
        for block in order:
            for target in self.next[block]:
                self.before.setdefault(target, []).append(block)
        for header, latches in self.back.items():
            self.loops[header] = self._members(header, latches)
        self.order = self._in_rows(order[::-1])

    def _targets(self, block: Instruction) -> list[int]:
        *_, last = block.instructions
        if last.opcode not in ("br", "switch"):
            if last.opcode not in ("ret", "unreachable"):
                raise UndecidedError(f"the instruction {last.opcode}")
            return []
        return [self.number[_key(one)] for one in last.operands if _key(one) in self.number]

    def _visited(self) -> list[int]:
        """Return the blocks in postorder."""
        active, seen, order = set[int](), set[int](), list[int]()

        def visit(block: int) -> None:
            seen.add(block)
            active.add(block)
            for target in self.next[block]:
                if target in active:
                    self.back.setdefault(target, []).append(block)
                elif target not in seen:
                    visit(target)
            active.discard(block)
            order.append(block)

        visit(0)
        return order

    def _members(self, header: int, latches: Sequence[int]) -> set[int]:
        found, todo = {header}, list(latches)
        while todo:
            block = todo.pop()
            if block not in found:
                found.add(block)
                todo += self.before.get(block, [])
        return found

    def _in_rows(self, order: list[int]) -> list[int]:
        """Put the blocks of a loop in a row, before those that follow it."""
        for header, members in sorted(self.loops.items(), key=lambda one: -len(one[1])):
            at = order.index(header)
            inside = [block for block in order if block in members]
            rest = [block for block in order if block not in members]
            before = [block for block in rest if order.index(block) < at]
            order = [*before, *inside, *(block for block in rest if block not in before)]
        return order


class _Array:
    """A loop over an array whose iterations are alike: the current element has any index."""

    def __init__(self, function: Instruction, graph: _Graph, blocks: Sequence[Instruction]) -> None:
        if len(graph.loops) != 1:
            said = f"a kernel of arrays has one loop, not {len(graph.loops)}"
            raise UndecidedError(f"{said}: vectorized or unrolled?")
        [(self.header, self.members)] = graph.loops.items()
        self.graph, self.blocks = graph, blocks
        self.made = {_key(one): one for block in blocks for one in block.instructions}
        _, _, self.length, *_ = function.arguments
        phis = [one for one in blocks[self.header].instructions if one.opcode == "phi"]
        if len(phis) != 1 or not str(phis[0].type).startswith("i"):
            raise UndecidedError("the loop carries more than its index from element to element")
        [self.phi] = phis
        self.value = Value(z3.BitVec("index", int(str(self.phi.type)[1:])))
        self.elements: dict[str, tuple[int, Value]] = {}
        self._check_end(*self._stepped())

    def _stepped(self) -> tuple[int, Instruction]:
        """Return the last block of an iteration, and the next index."""
        ways = {self.graph.number[_key(block)]: value for block, value in
                zip(self.phi.incoming_blocks, self.phi.operands, strict=True)}  # fmt: skip
        starts = [str(value) for block, value in ways.items() if block not in self.members]
        lasts = [block for block in ways if block in self.members]
        step = self.made.get(_key(ways[lasts[0]])) if len(lasts) == 1 else None
        operands = list(step.operands) if step is not None and step.opcode == "add" else []
        ones = [one for one in operands if str(one) == f"{self.phi.type} 1"]
        by_one = len(ones) == 1 and _key(self.phi) in map(_key, operands)
        if starts != [f"{self.phi.type} 0"] or not by_one:
            raise UndecidedError(f"the loop does not go from element to element: {self.phi}")
        return lasts[0], step

    def _check_end(self, last: int, step: Instruction) -> None:
        """Raise UndecidedError unless the loop ends at its length, and only there."""
        exits = [block for block in self.members if set(self.graph.next[block]) - self.members]
        counted = step if exits == [last] else self.phi if exits == [self.header] else None
        if counted is None:
            raise UndecidedError("the loop may end before the last element")
        *_, branch = self.blocks[exits[0]].instructions
        on, _, target = branch.operands
        compared = self.made.get(_key(on))
        if compared is None or compared.opcode != "icmp":
            raise UndecidedError(f"the loop ends by {branch}")
        [relation] = set(str(compared).split()) & set(_COMPARED)
        one, other = compared.operands
        if _key(other) == _key(counted):
            one, other = other, one
            relation = _SWAPPED.get(relation, relation)
        if self.graph.number[_key(target)] not in self.members:
            relation = _NEGATED[relation]
        end = self.made.get(_key(other))
        bound = other
        if end is not None and end.opcode in ("zext", "sext"):
            [bound] = end.operands
        if (
            _key(one) != _key(counted)
            or _key(bound) != _key(self.length)
            or (relation not in ("ne", "ult", "slt"))
        ):
            raise UndecidedError(f"the loop does not end at its length: {str(compared).strip()}")

    def enter(self, evaluation: _Evaluation) -> None:
        """Begin any iteration. Raises UndecidedError if the loop is not entered for each length."""
        ways = evaluation.incoming.get(self.header, [])
        length = evaluation.values[_key(self.length)]
        entered = z3.Or(*(way.reach for way in ways))
        if isinstance(length, Pointer) or not evaluation.never(
            z3.And(length.bits > 0, z3.Not(entered))
        ):
            raise UndecidedError("short arrays are left out")
        evaluation.incoming[self.header] = [Edge(z3.BoolVal(True), (self.value,))]

    def ends(self, block: int, target: int) -> bool:
        """Return whether an edge ends the iteration."""
        return block in self.members and (target == self.header or target not in self.members)

    def is_index(self, value: Value | Pointer) -> bool:
        """Return whether a value is the index."""
        return isinstance(value, Value) and value.bits.eq(self.value.bits)

    def element(self, pointer: Pointer, size: int) -> Value:
        """Return the offset of the current element of `size` bytes. Raises UndecidedError."""
        at_start = z3.is_true(z3.simplify(pointer.offset.bits == 0))
        new = size, Value(z3.BitVec("element", 64))
        known, value = self.elements.setdefault(pointer.base, new)
        if known != size or not at_start:
            raise UndecidedError("it takes another element than the current one")
        return value

    def is_current(self, pointer: Pointer, size: int) -> bool:
        """Return whether a pointer is that of the current element of `size` bytes."""
        known, value = self.elements.get(pointer.base, (0, None))
        return known == size and pointer.offset is value


def merged(holds: Bool, one: Value | Pointer, other: Value | Pointer) -> Value | Pointer:
    """Return one value if a condition holds, else another."""
    if isinstance(one, Pointer) or isinstance(other, Pointer):
        if not (isinstance(one, Pointer) and isinstance(other, Pointer) and one.base == other.base):
            raise UndecidedError("an address that depends on the input")
        offset = merged(holds, one.offset, other.offset)
        return Pointer(one.base, offset) if isinstance(offset, Value) else offset
    bits = z3.simplify(z3.If(holds, one.bits, other.bits))
    return Value(bits, z3.simplify(z3.If(holds, one.poison, other.poison)))


def _key(value: Instruction) -> int:
    return int(ctypes.cast(value._ptr, ctypes.c_void_p).value or 0)


def _of_block(phi: Instruction, block: Instruction) -> Instruction:
    for here, value in zip(phi.incoming_blocks, phi.operands, strict=True):
        if _key(here) == _key(block):
            return value
    raise UndecidedError(f"a way into {phi}")


# Constants ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Table:
    width: int
    elements: tuple[int, ...]


def _integer(text: str) -> int:
    word = text.split()[-1]
    return {"true": 1, "false": 0}[word] if word in ("true", "false") else int(word)


def float_code(type_: str, word: str) -> int:
    """Return the code of a float constant as LLVM writes it."""
    if found := re.fullmatch(r"0x[HR]([0-9A-F]+)", word):
        return int(found[1], 16)
    wide = int(word, 16) if word.startswith("0x") else None
    number = struct.unpack("<d", struct.pack("<Q", wide))[0] if wide is not None else float(word)
    if type_ == "double":
        return int(struct.unpack("<Q", struct.pack("<d", number))[0])
    if type_ == "float":
        if number != number and wide is not None:  # keep the payload
            return (wide >> 63) << 31 | 0x7F800000 | (wide >> 29) & 0x7FFFFF
        return int(struct.unpack("<I", struct.pack("<f", number))[0])
    raise UndecidedError(f"the constant {type_} {word}")


def _table_of(text: str) -> _Table:
    found = re.search(r"constant \[(\d+) x (i\d+|half|bfloat|float|double)\] (.*)", text, re.DOTALL)
    single = re.search(r"constant (i\d+|float|double) (\S+?)(,|$)", text)
    if single and not found:
        width = _WIDTHS.get(single[1]) or int(single[1][1:])
        return _Table(width, (_element_code(single[1], single[2], width),))
    if not found or int(found[1]) > _INLINE:
        raise UndecidedError(f"the variable {text.split('=')[0].strip()} is no constant table")
    count, type_, rest = int(found[1]), found[2], found[3]
    width = _WIDTHS.get(type_) or int(type_[1:])
    if rest.startswith("zeroinitializer"):
        return _Table(width, (0,) * count)
    if rest.startswith('c"'):
        body = rest[2 : rest.rindex('"')]
        raw = re.sub(r"\\([0-9A-F]{2})", lambda m: chr(int(m[1], 16)), body)
        return _checked(width, count, tuple(map(ord, raw)))
    words = re.findall(rf"{type_} (\S+?)[,\]]", rest)[:count]
    return _checked(width, count, tuple(_element_code(type_, word, width) for word in words))


def _checked(width: int, count: int, elements: tuple[int, ...]) -> _Table:
    if len(elements) != count:
        raise UndecidedError(f"a constant table of {count} elements in another form")
    return _Table(width, elements)


def _element_code(type_: str, word: str, width: int) -> int:
    if type_ in _WIDTHS:
        return float_code(type_, word)
    return _integer(word) & (1 << width) - 1


def _tree(index: Bits, elements: Sequence[int], width: int) -> Bits:
    """Return the element at an index: a balanced tree of choices by bits of the index."""
    if len(elements) == 1:
        return z3.BitVecVal(elements[0], width)
    bit = (len(elements) - 1).bit_length() - 1
    low, high = elements[: 1 << bit], elements[1 << bit :]
    if low[: len(high)] == high and len(low) == len(high):
        return _tree(index, low, width)
    return z3.If(z3.Extract(bit, bit, index) == 1, _tree(index, high, width),
                 _tree(index, low, width))  # fmt: skip


def _type_at(text: str) -> str:
    if text.startswith("["):
        depth = 0
        for i, letter in enumerate(text):
            depth += (letter == "[") - (letter == "]")
            if not depth:
                return text[: i + 1]
    return re.split(r"[,\s]", text, maxsplit=1)[0]


def _inner(type_: str) -> str:
    if found := re.fullmatch(r"\[\d+ x (.*)\]", type_):
        return found[1]
    raise UndecidedError(f"an address in a {type_}")


def _size(type_: str) -> int:
    if found := re.fullmatch(r"\[(\d+) x (.*)\]", type_):
        return int(found[1]) * _size(found[2])
    if type_ in _WIDTHS:
        return _WIDTHS[type_] // 8
    if found := re.fullmatch(r"i(8|16|32|64)", type_):
        return int(found[1]) // 8
    raise UndecidedError(f"the size of {type_}")


# The tables of instructions ----------------------------------------------------------------------

Words = set[str]
Computed = tuple[Bits, list[Bool]]
_BITS = (z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))


def _sign(x: Bits) -> int:
    return int(1 << x.size() - 1)


def _arithmetic(made: Callable[[Bits, Bits], Bits], *, double: bool) -> Callable[..., Computed]:
    """Return add, sub or mul. Exact results have one bit more, or with `double` twice the bits."""

    def computed(words: Words, a: Bits, b: Bits) -> Computed:
        found, more = made(a, b), a.size() if double else 1
        own = [
            made(extend(more, a), extend(more, b)) != extend(more, found)
            for flag, extend in (("nuw", z3.ZeroExt), ("nsw", z3.SignExt))
            if flag in words
        ]
        return found, own

    return computed


def _shl(words: Words, a: Bits, b: Bits) -> Computed:
    own, found = [z3.UGE(b, a.size())], a << b
    own += [z3.LShR(found, b) != a] if "nuw" in words else []
    return found, own + ([found >> b != a] if "nsw" in words else [])


def _lshr(words: Words, a: Bits, b: Bits) -> Computed:
    found = z3.LShR(a, b)
    return found, [z3.UGE(b, a.size()), *([found << b != a] if "exact" in words else [])]


def _ashr(words: Words, a: Bits, b: Bits) -> Computed:
    found = a >> b
    return found, [z3.UGE(b, a.size()), *([found << b != a] if "exact" in words else [])]


def _exactly(found: Bits, words: Words, a: Bits, b: Bits) -> Computed:
    return found, [found * b != a] if "exact" in words else []


INTEGERS: Mapping[str, Callable[..., Computed]] = {
    "add": _arithmetic(lambda a, b: a + b, double=False),
    "sub": _arithmetic(lambda a, b: a - b, double=False),
    "mul": _arithmetic(lambda a, b: a * b, double=True),
    "shl": _shl,
    "lshr": _lshr,
    "ashr": _ashr,
    "udiv": lambda words, a, b: _exactly(z3.UDiv(a, b), words, a, b),
    "sdiv": lambda words, a, b: _exactly(a / b, words, a, b),
    "urem": lambda words, a, b: (z3.URem(a, b), []),
    "srem": lambda words, a, b: (z3.SRem(a, b), []),
    "and": lambda words, a, b: (a & b, []),
    "or": lambda words, a, b: (a | b, [a & b != 0] if "disjoint" in words else []),
    "xor": lambda words, a, b: (a ^ b, []),
}
_COMPARED: Mapping[str, Callable[[Bits, Bits], Bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "ugt": z3.UGT,
    "uge": z3.UGE,
    "ult": z3.ULT,
    "ule": z3.ULE,
    "sgt": lambda a, b: a > b,
    "sge": lambda a, b: a >= b,
    "slt": lambda a, b: a < b,
    "sle": lambda a, b: a <= b,
}
_NEGATED = {"eq": "ne", "ne": "eq", "ugt": "ule", "ule": "ugt", "uge": "ult", "ult": "uge",
            "sgt": "sle", "sle": "sgt", "sge": "slt", "slt": "sge"}  # fmt: skip
_SWAPPED = {"ugt": "ult", "ult": "ugt", "uge": "ule", "ule": "uge", "sgt": "slt", "slt": "sgt",
            "sge": "sle", "sle": "sge"}  # fmt: skip
_FLOAT_COMPARED: Mapping[str, Callable[[Any, Any], Bool]] = {
    "eq": z3.fpEQ,
    "gt": z3.fpGT,
    "ge": z3.fpGEQ,
    "lt": z3.fpLT,
    "le": z3.fpLEQ,
    "ne": lambda a, b: z3.Or(z3.fpLT(a, b), z3.fpGT(a, b)),
}
_FLOATS: Mapping[str, Callable[..., Any]] = {
    "fadd": lambda a, b: z3.fpAdd(_NEAREST, a, b),
    "fsub": lambda a, b: z3.fpSub(_NEAREST, a, b),
    "fmul": lambda a, b: z3.fpMul(_NEAREST, a, b),
    "fdiv": lambda a, b: z3.fpDiv(_NEAREST, a, b),
}


def _compared(words: Words, a: Bits, b: Bits) -> Computed:
    [relation] = words & set(_COMPARED)
    own = [(a ^ b) < 0] if "samesign" in words else []
    return z3.If(_COMPARED[relation](a, b), *_BITS), own


def _float_compared(words: Words, a: Any, b: Any) -> Bool:
    nan = z3.Or(z3.fpIsNaN(a), z3.fpIsNaN(b))
    if words & {"true", "false"}:
        return z3.BoolVal("true" in words)
    if words & {"ord", "uno"}:
        return nan if "uno" in words else z3.Not(nan)
    [name] = {word for word in words if word[:1] in "ou" and word[1:] in _FLOAT_COMPARED}
    holds = _FLOAT_COMPARED[name[1:]](a, b)
    return z3.Or(nan, holds) if name[0] == "u" else holds


def _range(signed: bool, width: int, type_: str) -> tuple[Any, Any]:
    """Return the least integer, and the first one past the largest, as floats."""
    sort = z3.FPSort(*_SORTS[type_])
    top = width - signed
    low = z3.FPVal(-float(1 << top) if signed else 0.0, sort)
    fits = type_ != "half" or top < 16
    return (low if fits else z3.fpMinusInfinity(sort)), (
        z3.FPVal(float(1 << top), sort) if fits else z3.fpPlusInfinity(sort)
    )


def _whole(mode: Any) -> Callable[..., Computed]:
    def call(run: _Evaluation, source: str, type_: str, terms: list[Bits]) -> Computed:
        return run.coded(type_, z3.fpRoundToIntegral(mode, run.number(source, terms[0]))), []

    return call


def _whole_integer(mode: Any) -> Callable[..., Computed]:
    """lrint and lround: any integer for a number out of range."""

    def call(run: _Evaluation, source: str, type_: str, terms: list[Bits]) -> Computed:
        whole = z3.fpRoundToIntegral(mode, run.number(source, terms[0]))
        width = run.width(type_)
        low, high = _range(True, width, source)
        out = z3.Or(z3.fpIsNaN(whole), z3.fpLT(whole, low), z3.fpGEQ(whole, high))
        found = z3.fpToSBV(_ZERO, whole, z3.BitVecSort(width))
        return z3.If(out, run.any(width), found), []

    return call


def _of_bits(made: Callable[..., Any]) -> Callable[..., Computed]:
    def call(run: _Evaluation, source: str, type_: str, terms: list[Bits]) -> Computed:
        found = made(*terms)
        return found if isinstance(found, tuple) else (found, [])

    return call


def _leading(x: Bits, zero: Bits) -> Computed:
    """ctlz: the number of zeros above the highest one."""
    found = z3.BitVecVal(x.size(), x.size())
    for bit in range(x.size()):
        found = z3.If(
            z3.Extract(bit, bit, x) == 1, z3.BitVecVal(x.size() - 1 - bit, x.size()), found
        )
    return found, [z3.And(zero == 1, x == 0)]


def _trailing(x: Bits, zero: Bits) -> Computed:
    found = z3.BitVecVal(x.size(), x.size())
    for bit in reversed(range(x.size())):
        found = z3.If(z3.Extract(bit, bit, x) == 1, z3.BitVecVal(bit, x.size()), found)
    return found, [z3.And(zero == 1, x == 0)]


def _ones(x: Bits) -> Bits:
    width = x.size()
    return sum((z3.ZeroExt(width - 1, z3.Extract(bit, bit, x)) for bit in range(1, width)),
               z3.ZeroExt(width - 1, z3.Extract(0, 0, x)))  # fmt: skip


def _saturated(signed: bool, add: bool) -> Callable[[Bits, Bits], Bits]:
    def made(a: Bits, b: Bits) -> Bits:
        width = a.size()
        extend = z3.SignExt if signed else z3.ZeroExt
        one, other = extend(2, a), extend(2, b)
        found = one + other if add else one - other
        low = -(1 << width - 1) if signed else 0
        high = (1 << width - 1) - 1 if signed else (1 << width) - 1
        least, most = (z3.BitVecVal(end, width + 2) for end in (low, high))
        return z3.Extract(
            width - 1, 0, z3.If(found < least, least, z3.If(found > most, most, found))
        )

    return made


def _extreme(larger: bool, nan: bool) -> Callable[..., Computed]:
    """maxnum and minnum, or with `nan` maximum and minimum, which give NaN for one."""

    def call(run: _Evaluation, source: str, type_: str, terms: list[Bits]) -> Computed:
        one, other = (run.number(source, term) for term in terms)
        first = z3.fpGT(one, other) if larger else z3.fpLT(one, other)
        zeros = z3.And(z3.fpIsZero(one), z3.fpIsZero(other))
        negative = z3.Extract(terms[0].size() - 1, terms[0].size() - 1, terms[0]) == 1
        any_ = z3.Extract(0, 0, run.any(1)) == 1
        first = z3.If(zeros, (negative != larger) if nan else any_, first)
        found = z3.If(first, *terms)
        signalling = z3.Or(*(_is_signalling(source, each, term) for each, term
                             in ((one, terms[0]), (other, terms[1]))))  # fmt: skip
        if nan:
            either = z3.Or(z3.fpIsNaN(one), z3.fpIsNaN(other))
            none = run.coded(type_, z3.fpNaN(one.sort()))
            return z3.If(either, none, found), []
        found = z3.If(z3.fpIsNaN(one), terms[1], z3.If(z3.fpIsNaN(other), terms[0], found))
        return z3.If(signalling, run.any(terms[0].size()), found), []

    return call


def _is_signalling(type_: str, number: Any, bits: Bits) -> Bool:
    (_, digits) = _SORTS[type_]
    return z3.And(z3.fpIsNaN(number), z3.Extract(digits - 2, digits - 2, bits) == 0)


def _saturated_integer(signed: bool) -> Callable[..., Computed]:
    def call(run: _Evaluation, source: str, type_: str, terms: list[Bits]) -> Computed:
        width = run.width(type_)
        found, _ = run.to_integer(signed, source, terms[0], width)
        number = run.number(source, terms[0])
        low, high = _range(signed, width, source)
        whole = z3.fpRoundToIntegral(_ZERO, number)
        least = -(1 << width - 1) if signed else 0
        most = (1 << width - signed) - 1
        bits = z3.If(z3.fpLT(whole, low), z3.BitVecVal(least, width), z3.If(
            z3.fpGEQ(whole, high), z3.BitVecVal(most, width), found))  # fmt: skip
        return z3.If(z3.fpIsNaN(number), z3.BitVecVal(0, width), bits), []

    return call


def _class(run: _Evaluation, source: str, type_: str, terms: list[Bits]) -> Computed:
    """is.fpclass: bits from signalling NaN to +infinity (LLVM Language Reference)."""
    x, mask = run.number(source, terms[0]), z3.simplify(terms[1]).as_long()
    (_, digits), bits = _SORTS[source], terms[0]
    quiet = z3.Extract(digits - 2, digits - 2, bits) == 1
    down = z3.Extract(bits.size() - 1, bits.size() - 1, bits) == 1
    up = z3.Not(down)
    tests = [
        z3.And(z3.fpIsNaN(x), z3.Not(quiet)), z3.And(z3.fpIsNaN(x), quiet),
        z3.And(z3.fpIsInf(x), down), z3.And(z3.fpIsNormal(x), down),
        z3.And(z3.fpIsSubnormal(x), down), z3.And(z3.fpIsZero(x), down),
        z3.And(z3.fpIsZero(x), up), z3.And(z3.fpIsSubnormal(x), up),
        z3.And(z3.fpIsNormal(x), up), z3.And(z3.fpIsInf(x), up),
    ]  # fmt: skip
    return z3.If(z3.Or(*(test for bit, test in enumerate(tests) if mask >> bit & 1)), *_BITS), []


def _fused(run: _Evaluation, source: str, type_: str, terms: list[Bits]) -> Computed:
    return run.coded(type_, z3.fpFMA(_NEAREST, *(run.number(source, t) for t in terms))), []


def _fused_or_not(run: _Evaluation, source: str, type_: str, terms: list[Bits]) -> Computed:
    """fmuladd: the compiler may round once or twice."""
    one, other, more = (run.number(source, term) for term in terms)
    twice = run.coded(type_, z3.fpMul(_NEAREST, one, other))
    sum_ = run.coded(type_, z3.fpAdd(_NEAREST, run.number(type_, twice), more))
    once, _ = _fused(run, source, type_, terms)
    return z3.If(run.any(1) == 1, once, sum_), []


def _root(run: _Evaluation, source: str, type_: str, terms: list[Bits]) -> Computed:
    return run.coded(type_, z3.fpSqrt(_NEAREST, run.number(source, terms[0]))), []


def _shifted(left: bool) -> Callable[[Bits, Bits, Bits], Bits]:
    def made(a: Bits, b: Bits, by: Bits) -> Bits:
        width = a.size()
        both, count = z3.Concat(a, b), z3.ZeroExt(width, z3.URem(by, z3.BitVecVal(width, width)))
        if left:
            return z3.Extract(2 * width - 1, width, both << count)
        return z3.Extract(width - 1, 0, z3.LShR(both, count))

    return made


def _swapped(x: Bits) -> Bits:
    return z3.Concat(*(z3.Extract(at + 7, at, x) for at in range(0, x.size(), 8)))


CALLS: Mapping[str, Callable[..., Computed]] = {
    "fabs": _of_bits(lambda x: x & ~_sign(x)),
    "copysign": _of_bits(lambda x, y: x & ~_sign(x) | y & _sign(y)),
    "floor": _whole(z3.RTN()),
    "ceil": _whole(z3.RTP()),
    "trunc": _whole(_ZERO),
    "rint": _whole(_NEAREST),
    "nearbyint": _whole(_NEAREST),
    "roundeven": _whole(_NEAREST),
    "round": _whole(z3.RNA()),
    "lrint": _whole_integer(_NEAREST),
    "llrint": _whole_integer(_NEAREST),
    "lround": _whole_integer(z3.RNA()),
    "llround": _whole_integer(z3.RNA()),
    "sqrt": _root,
    "fma": _fused,
    "fmuladd": _fused_or_not,
    "maxnum": _extreme(larger=True, nan=False),
    "minnum": _extreme(larger=False, nan=False),
    "maximum": _extreme(larger=True, nan=True),
    "minimum": _extreme(larger=False, nan=True),
    "ctlz": _of_bits(_leading),
    "cttz": _of_bits(_trailing),
    "ctpop": _of_bits(_ones),
    "umin": _of_bits(lambda a, b: z3.If(z3.ULT(a, b), a, b)),
    "umax": _of_bits(lambda a, b: z3.If(z3.UGT(a, b), a, b)),
    "smin": _of_bits(lambda a, b: z3.If(a < b, a, b)),
    "smax": _of_bits(lambda a, b: z3.If(a > b, a, b)),
    "abs": _of_bits(lambda x, least: (z3.If(x < 0, -x, x), [z3.And(least == 1, x == _sign(x))])),
    "fshl": _of_bits(_shifted(left=True)),
    "fshr": _of_bits(_shifted(left=False)),
    "uadd.sat": _of_bits(_saturated(signed=False, add=True)),
    "usub.sat": _of_bits(_saturated(signed=False, add=False)),
    "sadd.sat": _of_bits(_saturated(signed=True, add=True)),
    "ssub.sat": _of_bits(_saturated(signed=True, add=False)),
    "fptosi.sat": _saturated_integer(signed=True),
    "fptoui.sat": _saturated_integer(signed=False),
    "bswap": _of_bits(_swapped),
    "is": _class,
    "expect": _of_bits(lambda x, likely: x),
}
_LIBRARY = {
    f"{name}{kind}": base
    for name, base in {
        "fabs": "fabs", "copysign": "copysign", "floor": "floor", "ceil": "ceil",
        "trunc": "trunc", "rint": "rint", "nearbyint": "nearbyint", "round": "round",
        "lrint": "lrint", "llrint": "llrint", "lround": "lround", "llround": "llround",
        "fmax": "maxnum", "fmin": "minnum", "sqrt": "sqrt", "fma": "fma",
    }.items()
    for kind in ("", "f")
}  # fmt: skip


def count(function: Instruction) -> tuple[int, int, int]:
    """Return the numbers of instructions, blocks and loops of a function."""
    blocks = list(function.blocks)
    size = sum(1 for block in blocks for _ in block.instructions)
    return size, len(blocks), len(_Graph(blocks).loops)
