"""Cases of field bugs, and how many vectors judge and oracle catch."""

from functools import cache

from catalogue import CATALOG
from comparing import asked, wanted
from oracle import convert, fits, pypto_cast
from planted.asking import Scripted

from convcheck.ask.elements import ask
from convcheck.backends.protocol import Outputs
from convcheck.judge.answers import EVERYWHERE, Avoid
from convcheck.judge.calls import judge
from convcheck.judge.result import FAILURES
from convcheck.rules.cases import cases
from convcheck.rules.model import op_and_version, version_key

BULK = Avoid(placements=EVERYWHERE - {"", "support", "bulk", "sweep"})


@cache
def latest_cases(op):
    specs = [spec for spec in CATALOG.specs.values() if spec.op == op]
    in_order = sorted(specs, key=lambda spec: version_key(op_and_version(spec.id)[1]))
    return {case.name: case for spec in in_order for case in cases(spec)}


def case_of(bug):
    return latest_cases(bug.op)[bug.case]


def caught_by(convert, vectors):
    backend = Scripted(
        lambda case, inputs: Outputs(
            (convert(inputs[0].reshape(-1)).reshape(inputs[0].shape),), (case.outputs[0].name,)
        )
    )
    answers = ask(backend, vectors, lambda *call: None, {}, BULK)
    return sum(g.count for g in judge(vectors, answers).groups if g.verdict in FAILURES)


def demanded(case, bits):
    if case.op == "onnx.Cast":
        return wanted(asked(case), bits)
    pair, said = (case.inputs[0].name, case.outputs[0].name), dict(case.attributes)
    _, version = op_and_version(case.spec)
    if case.op == "openvino.Convert":
        return [convert.expect(case.op, *pair, code) for code in bits.tolist()]
    assert case.op == "pypto.cast"
    return [pypto_cast.expect(version, *pair, said, code) for code in bits.tolist()]


def refuted(target, wants, got):
    """Return how many answers are wrong under the most favourable reading; None is a refusal."""

    def is_wrong(want, number, answer):
        reading = want.readings[min(number, len(want.readings) - 1)]
        if answer is None:
            return reading[0] not in ("refused", "undefined")
        return not fits(reading, target, answer)

    numbers = range(max(len(want.readings) for want in wants))
    pairs = list(zip(wants, got, strict=True))
    return min(sum(is_wrong(want, n, answer) for want, answer in pairs) for n in numbers)
