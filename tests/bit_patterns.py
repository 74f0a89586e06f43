"""Draw interesting bit patterns, the same ones for the same seed."""


def field(draw, bits):
    top = (1 << bits) - 1
    if draw.random() < 0.5:
        return draw.randint(0, top)
    run = (1 << draw.randint(0, bits)) - 1
    return ((run << draw.randint(0, bits)) + draw.randint(-1, 1)) & top
