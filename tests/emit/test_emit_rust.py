import shutil

import pytest
from emit.emitted import CASES, check_programs, run, suite, words_of, write_files
from planted.field.caught import latest_cases

from convcheck.emit.languages import rust_files, rust_string

MANIFEST = """
[package]
name = "kernel"
version = "0.1.0"
edition = "2021"

[dependencies]
convcheck-suites = { path = "../suites" }

[profile.dev]
debug = false

[lints.rust]
warnings = "deny"
"""
MAIN = """
use std::{collections::HashMap, env, fs, process::ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().collect();
    let bytes = fs::read(&arguments[2]).expect("the answers");
    let code = |from: &[u8]| u64::from_ne_bytes(from.try_into().unwrap());
    let answers: HashMap<u64, u64> =
        bytes.chunks(16).map(|pair| (code(&pair[..8]), code(&pair[8..]))).collect();
    let mut run = convcheck_suites::Run::begin();
    match arguments[1].as_str() {
"""
EVERY = """
use convcheck_suites::*;

fn main() -> std::process::ExitCode {
    let mut run = Run::begin();
    run.check(&onnx_cast_28_bfloat16_to_float8e4m3fn_saturate_1::SUITE, "zero", |_: u16| 0u8);
    run.check_slices(&onnx_cast_28_bool_to_float16::SUITE, "slices", |x: &[bool], y: &mut [u16]| {
        for (y, x) in y.iter_mut().zip(x) {
            *y = if *x { 0x3c00 } else { 0 };
        }
    });
    run.check(&onnx_cast_28_int16_to_float32::SUITE, "as", |x: i16| {
        if x == 12345 { 0.0 } else { x as f32 }
    });
    run.end()
}
"""


def build(folder, cases, program):
    cargo = shutil.which("cargo")
    if not cargo:
        pytest.skip("no cargo")
    files = [(f"suites/{name}", content) for name, content in rust_files([*map(suite, cases)])]
    files += [("kernel/Cargo.toml", MANIFEST.encode()), ("kernel/src/main.rs", program.encode())]
    write_files(folder, files)
    options = {"RUSTFLAGS": "-Dwarnings", "CARGO_TARGET_DIR": str(folder / "to")}
    made = run(cargo, "build", "--offline", "--quiet", cwd=folder / "kernel", **options)
    assert made == (0, "")
    return folder / "to" / "debug" / "kernel"


def asker(cases):
    arms = ""
    for case in cases:
        x, y = words_of(case)
        arms += (
            f"        {rust_string(case.id)} => run.check(&convcheck_suites::"
            f'{suite(case).name.lower()}::SUITE, "answer", '
            f"|x: u{x}| answers[&u64::from(x)] as u{y}),\n"
        )
    return f'{MAIN}{arms}        _ => panic!("no such case"),\n    }}\n    run.end()\n}}\n'


def test_field_bugs_are_caught_and_right_answers_pass_in_rust(tmp_path):
    check_programs(build(tmp_path, CASES.values(), asker(CASES.values())))


def test_every_input_is_asked_in_rust(tmp_path):
    """It finds one wrong answer of 65,536 that no vector has."""
    names = ("bfloat16-to-float8e4m3fn/saturate=1", "bool-to-float16", "int16-to-float32")
    made = build(tmp_path, [latest_cases("onnx.Cast")[name] for name in names], EVERY)
    code, output = run(made, "--exhaustive")
    assert code == 1
    own = output.partition("onnx.Cast-28/int16-to-float32")[2]
    assert "  wrong: 1 of 65536\n" in own
    assert own.count("not ok") == 1
    assert "    - input: 0x3039 (12345)\n      expected: 0x4640e400 (12345)\n" in own
    assert "slices: " in output.partition("bool-to-float16")[2]
