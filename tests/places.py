from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
GOLDEN = TESTS / "golden"
EXAMPLES = ROOT / "docs" / "examples"
KERNELS = ROOT / "examples"
