"""Random functions in LLVM IR, from the tables of instructions."""

import random
from dataclasses import dataclass, field

INTEGERS = ("i8", "i16", "i32", "i64")
FLOATS = ("half", "float", "double")
BINARY = ("add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor", "udiv", "sdiv", "urem",
          "srem")  # fmt: skip
FLAGS = {
    **dict.fromkeys(("add", "sub", "mul", "shl"), ("nuw", "nsw")),
    **dict.fromkeys(("lshr", "ashr", "udiv"), ("exact",)),
    "or": ("disjoint",),
}
COMPARED = ("eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle")
FLOAT_COMPARED = (
    *(f"{a}{b}" for a in "ou" for b in ("eq", "gt", "ge", "lt", "le", "ne")), "ord", "uno"
)  # fmt: skip
CALLS = ("umin", "umax", "smin", "smax", "uadd.sat", "usub.sat", "sadd.sat", "ssub.sat")
ONE = ("ctlz", "cttz", "abs", "ctpop", "bswap")
WHOLE = ("floor", "ceil", "trunc", "rint", "nearbyint", "roundeven", "round", "fabs", "sqrt")
SUFFIX = {"half": "f16", "float": "f32", "double": "f64"}


@dataclass
class Program:
    """A function of one number, as text."""

    draw: random.Random
    source: str
    target: str
    body: list[str] = field(default_factory=list)
    declared: set[str] = field(default_factory=set)
    values: dict[str, list[str]] = field(default_factory=dict)
    count: int = 0
    nested: bool = False

    def new(self, type_, text):
        self.count += 1
        name = f"%v{self.count}"
        self.body.append(f"  {name} = {text}")
        self.values.setdefault(type_, []).append(name)
        return name

    def call(self, result, name, *given):
        types = ", ".join(type_ for type_, _ in given)
        self.declared.add(f"declare {result} @{name}({types})")
        return self.new(result, f"call {result} @{name}({', '.join(map(' '.join, given))})")

    def number(self, type_):
        """Return a known value of a type, or a constant."""
        known = self.values.get(type_, [])
        if known and self.draw.random() < 0.8:
            return self.draw.choice(known[-4:])
        if type_ in FLOATS:
            return self.draw.choice(["0.0", "-0.0", "1.0", "-2.5", "448.0", "0.015625", "1024.0"])
        bits = int(type_[1:])
        near = [0, 1, 2, 3, 7, 8, bits - 1, (1 << bits - 1) - 1, -(1 << bits - 1), -1]
        return str(self.draw.choice([*near, self.draw.getrandbits(bits) - (1 << bits - 1)]))

    def step(self):
        """Add an instruction, a branch or a loop."""
        draw = self.draw.random()
        if self.nested or draw > 0.2:
            self._instruction()
        elif draw > 0.08:
            self._diamond()
        else:
            self._loop()

    def _several(self, label, type_):
        """Add a block of instructions. Return a value of it, and forget the others."""
        known = {key: list(names) for key, names in self.values.items()}
        self.body.append(f"{label}:")
        for _ in range(self.draw.randrange(1, 4)):
            self._instruction()
        found = self.new(type_, f"xor {type_} {self.number(type_)}, {self.number(type_)}")
        self.values = known
        return found

    def _diamond(self):
        type_, place = self.integer(), len(self.body)
        on = self.new("i1", f"icmp ult {type_} {self.number(type_)}, {self.number(type_)}")
        one, other, join = (f"{name}{place}" for name in ("then", "else", "join"))
        start = f"start{place}"
        self.body += [f"  br label %{start}", f"{start}:",
                      f"  br i1 {on}, label %{one}, label %{other}"]  # fmt: skip
        self.nested = True
        first = self._several(one, type_)
        self.body.append(f"  br label %{join}")
        second = self._several(other, type_)
        self.body += [f"  br label %{join}", f"{join}:"]
        self.new(type_, f"phi {type_} [ {first}, %{one} ], [ {second}, %{other} ]")
        self.nested = False

    def _loop(self):
        """Repeat some instructions up to four times."""
        type_, place = self.integer(), len(self.body)
        before, body, after = (f"{name}{place}" for name in ("before", "body", "after"))
        begun = self.number(type_)
        turns = self.new(type_, f"and {type_} {self.number(type_)}, 3")
        self.body += [f"  br label %{before}", f"{before}:", f"  br label %{body}"]
        known = {key: list(names) for key, names in self.values.items()}
        self.body.append(f"{body}:")
        count, total, next_, sum_ = (f"%{name}{place}" for name in ("i", "t", "n", "s"))
        self.body.append(f"  {count} = phi {type_} [ 0, %{before} ], [ {next_}, %{body} ]")
        self.body.append(f"  {total} = phi {type_} [ {begun}, %{before} ], [ {sum_}, %{body} ]")
        self.values.setdefault(type_, []).append(total)
        for _ in range(self.draw.randrange(1, 3)):
            self._instruction()
        self.body.append(f"  {sum_} = add {type_} {self.number(type_)}, {count}")
        self.body.append(f"  {next_} = add {type_} {count}, 1")
        more = f"%m{place}"
        self.body.append(f"  {more} = icmp ule {type_} {next_}, {turns}")
        self.body += [f"  br i1 {more}, label %{body}, label %{after}", f"{after}:"]
        self.values = known
        self.values.setdefault(type_, []).append(sum_)

    def _instruction(self):
        self.draw.choice([
            self._binary, self._binary, self._binary, self._compared, self._called, self._one,
            self._funnel, self._resized, self._select, self._float, self._float, self._whole,
            self._to_float, self._to_integer, self._other_float, self._float_compared, self._bits,
            self._class, self._table,
        ])()  # fmt: skip

    def integer(self):
        known = [type_ for type_ in INTEGERS if type_ in self.values]
        return self.draw.choice(known or list(INTEGERS))

    def floating(self):
        known = [type_ for type_ in FLOATS if type_ in self.values]
        return self.draw.choice(known or list(FLOATS))

    def _binary(self):
        type_, opcode = self.integer(), self.draw.choice(BINARY)
        other = self.number(type_)
        if opcode in ("udiv", "sdiv", "urem", "srem"):
            other = self.new(type_, f"or {type_} {other}, 1")
            if opcode[0] == "s":
                other = self.new(type_, f"and {type_} {other}, {(1 << int(type_[1:]) - 1) - 1}")
        if opcode in ("shl", "lshr", "ashr") and self.draw.random() < 0.7:
            other = self.new(type_, f"and {type_} {other}, {int(type_[1:]) - 1}")
        flags = [flag for flag in FLAGS.get(opcode, ()) if self.draw.random() < 0.2]
        self.new(type_, " ".join([opcode, *flags, type_, f"{self.number(type_)}, {other}"]))

    def _compared(self):
        type_ = self.integer()
        relation = self.draw.choice(COMPARED)
        self.new("i1", f"icmp {relation} {type_} {self.number(type_)}, {self.number(type_)}")

    def _called(self):
        type_ = self.integer()
        name = f"llvm.{self.draw.choice(CALLS)}.{type_}"
        self.call(type_, name, (type_, self.number(type_)), (type_, self.number(type_)))

    def _one(self):
        type_, base = self.integer(), self.draw.choice(ONE)
        if base == "bswap" and type_ == "i8":
            return
        more = [("i1", self.draw.choice(["true", "false"]))] if base in ONE[:3] else []
        self.call(type_, f"llvm.{base}.{type_}", (type_, self.number(type_)), *more)

    def _funnel(self):
        type_ = self.integer()
        given = [(type_, self.number(type_)) for _ in range(3)]
        self.call(type_, f"llvm.fsh{self.draw.choice('lr')}.{type_}", *given)

    def _resized(self):
        source, target = self.integer(), self.draw.choice(INTEGERS)
        if int(source[1:]) == int(target[1:]):
            return
        opcodes = ["zext", "sext"] if int(source[1:]) < int(target[1:]) else ["trunc"]
        self.new(target, f"{self.draw.choice(opcodes)} {source} {self.number(source)} to {target}")

    def _select(self):
        if "i1" not in self.values:
            return
        type_ = self.draw.choice([one for one in self.values if one != "i1"])
        one, other = self.number(type_), self.number(type_)
        self.new(type_, f"select i1 {self.number('i1')}, {type_} {one}, {type_} {other}")

    def _float(self):
        type_ = self.floating()
        opcode = self.draw.choice(["fadd", "fsub", "fmul", "fdiv"])
        self.new(type_, f"{opcode} {type_} {self.number(type_)}, {self.number(type_)}")

    def _whole(self):
        type_ = self.floating()
        base = self.draw.choice([*WHOLE, "copysign", "fneg"])
        if base == "fneg":
            self.new(type_, f"fneg {type_} {self.number(type_)}")
            return
        given = [(type_, self.number(type_)) for _ in range(2 if base == "copysign" else 1)]
        self.call(type_, f"llvm.{base}.{SUFFIX[type_]}", *given)

    def _to_float(self):
        source, target = self.integer(), self.draw.choice(FLOATS)
        opcode = self.draw.choice(["sitofp", "uitofp"])
        self.new(target, f"{opcode} {source} {self.number(source)} to {target}")

    def _to_integer(self):
        source, target = self.floating(), self.draw.choice(INTEGERS)
        opcode = self.draw.choice(["fptosi", "fptoui"])
        if self.draw.random() < 0.5:
            name = f"llvm.{opcode}.sat.{target}.{SUFFIX[source]}"
            self.call(target, name, (source, self.number(source)))
        else:
            self.new(target, f"{opcode} {source} {self.number(source)} to {target}")

    def _other_float(self):
        source, target = self.floating(), self.draw.choice(FLOATS)
        if source != target:
            opcode = "fpext" if FLOATS.index(source) < FLOATS.index(target) else "fptrunc"
            self.new(target, f"{opcode} {source} {self.number(source)} to {target}")

    def _float_compared(self):
        type_ = self.floating()
        relation = self.draw.choice(FLOAT_COMPARED)
        self.new("i1", f"fcmp {relation} {type_} {self.number(type_)}, {self.number(type_)}")

    def _bits(self):
        pair = self.draw.choice([("i16", "half"), ("i32", "float"), ("i64", "double")])
        source, target = pair if self.draw.random() < 0.5 else pair[::-1]
        self.new(target, f"bitcast {source} {self.number(source)} to {target}")

    def _class(self):
        type_, mask = self.floating(), str(self.draw.getrandbits(10))
        self.call(
            "i1", f"llvm.is.fpclass.{SUFFIX[type_]}", (type_, self.number(type_)), ("i32", mask)
        )

    def _table(self):
        type_ = self.integer()
        low = self.new(type_, f"and {type_} {self.number(type_)}, 7")
        at = low if type_ == "i64" else self.new("i64", f"zext {type_} {low} to i64")
        place = f"%p{self.count}"
        self.body.append(
            f"  {place} = getelementptr inbounds [8 x i16], ptr @table, i64 0, i64 {at}"
        )
        self.new("i16", f"load i16, ptr {place}")

    def finish(self):
        """Return the module: the result depends on all last values."""
        bits = int(self.target[1:])
        found = "0"
        for type_, names in list(self.values.items()):
            for name in names[-2:]:
                value, width = name, {"half": 16, "float": 32, "double": 64}.get(type_)
                if width:
                    value = self.new(f"i{width}", f"bitcast {type_} {name} to i{width}")
                width = width or int(type_[1:])
                if width != bits:
                    opcode = "zext" if width < bits else "trunc"
                    value = self.new(self.target, f"{opcode} i{width} {value} to {self.target}")
                found = self.new(self.target, f"xor {self.target} {found}, {value}")
        numbers = ", ".join(f"i16 {number}" for number in (7, -1, 0, 1000, 32767, -32768, 5, 9))
        return "\n".join([
            f"@table = internal constant [8 x i16] [{numbers}]", *sorted(self.declared),
            f"define {self.target} @f({self.source} %x) {{", *self.body,
            f"  ret {self.target} {found}", "}", "",
        ])  # fmt: skip


def program(seed):
    """Return a module with a function f, and the types of its number and result."""
    draw = random.Random(seed)
    source = draw.choice([*INTEGERS, *FLOATS])
    made = Program(draw, source, draw.choice(INTEGERS))
    made.values[source] = ["%x"]
    for _ in range(draw.randrange(3, 12)):
        made.step()
    return made.finish(), source, made.target
