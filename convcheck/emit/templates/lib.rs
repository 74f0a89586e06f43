//! Runs the suites of this crate against your conversion, and prints TAP.
//!
//! Each module is a suite. Use it in a test target without a harness:
//!
//! ```text
//! use convcheck_suites::{onnx_cast_21_float32_to_bfloat16 as to_bfloat16, Run};
//!
//! fn main() -> std::process::ExitCode {
//!     let mut run = Run::begin();
//!     run.check(&to_bfloat16::SUITE, "your_function", your_function);
//!     run.end()
//! }
//! ```
//!
//! It exits with 0 if every answer is right, 1 if one is wrong, 3 if nothing was judged. With
//! `--exhaustive` it also tests every input, if the suite has a table for it.

use std::process::ExitCode;

// SUITES

const CHUNK: usize = 16384; // inputs that are asked in one call: they fit a second-level cache
const SHOWN: usize = 3; // wrong answers of a row that are printed

/// The bits of a number. A code is in the low bits; other bits are ignored.
pub trait Code: Copy + Eq + Into<u64> {
    fn low_bits_of(bits: u64) -> Self;
    fn masked(self, mask: Self) -> Self;
}

/// A number that a function takes or returns. Implement it for your own types.
pub trait Number: Copy {
    type Code: Code;
    fn from_code(code: Self::Code) -> Self;
    fn code(self) -> Self::Code;
}

macro_rules! codes {
    ($($code:ty: $($number:ty),*;)*) => {$(
        impl Code for $code {
            #[inline]
            fn low_bits_of(bits: u64) -> Self {
                bits as $code
            }
            #[inline]
            fn masked(self, mask: Self) -> Self {
                self & mask
            }
        }
        $(impl Number for $number {
            type Code = $code;
            #[inline]
            fn from_code(code: $code) -> Self {
                code as $number
            }
            #[inline]
            fn code(self) -> $code {
                self as $code
            }
        })*
    )*};
}

codes! { u8: u8, i8; u16: u16, i16; u32: u32, i32; u64: u64, i64; }

macro_rules! floats {
    ($($number:ty, $code:ty;)*) => {$(
        impl Number for $number {
            type Code = $code;
            #[inline]
            fn from_code(code: $code) -> Self {
                <$number>::from_bits(code)
            }
            #[inline]
            fn code(self) -> $code {
                self.to_bits()
            }
        }
    )*};
}

floats! { f32, u32; f64, u64; }

impl Number for bool {
    type Code = u8;
    #[inline]
    fn from_code(code: u8) -> Self {
        code != 0
    }
    #[inline]
    fn code(self) -> u8 {
        self.into()
    }
}

/// The expected result.
#[derive(Clone, Copy, PartialEq)]
pub enum Due {
    /// A code.
    Exact,
    /// Any NaN.
    Nan,
    /// Any NaN with its sign bit set.
    NegativeNan,
    /// A zero of either sign.
    Zero,
    /// Anything.
    Undefined,
}

/// A type of numbers. `infinity` and `last_number` are magnitudes: 0 without infinity, and NaN
/// above the last number. If `nan_is_sign`, NaN is the code of -0.
pub struct Format {
    pub name: &'static str,
    pub bits: u32,
    pub is_float: bool,
    pub mantissa: u32,
    pub bias: i32,
    pub has_zero: bool,
    pub nan_is_sign: bool,
    pub sign: u64,
    pub magnitude: u64,
    pub infinity: u64,
    pub last_number: u64,
}

/// A row of the standard's rules, with its sentence. Rows of one rule share a reading.
pub struct Row {
    pub name: &'static str,
    pub about: &'static str,
    pub rule: usize,
    pub readings: &'static [&'static str],
}

/// An input, the index of its row, and the expected result.
pub struct Vector<I, O>(pub I, pub usize, pub Due, pub O);

/// Consecutive inputs with one expected result: their number, the index of their row, the result.
pub struct Plateau<O>(pub u64, pub usize, pub Due, pub O);

/// Consecutive plateaus: those listed alternate, and their codes rise by a step each period.
pub struct Series<O: 'static> {
    pub count: u64,
    pub step: u64,
    pub plateaus: &'static [Plateau<O>],
}

/// The expected results under one reading. `series` covers all inputs in order, or is empty.
pub struct Reading<I: 'static, O: 'static> {
    pub vectors: &'static [Vector<I, O>],
    pub series: &'static [Series<O>],
}

/// A case of the standard, by the codes of its inputs and outputs.
pub struct Suite<I: 'static, O: 'static> {
    pub id: &'static str,
    pub rules: &'static str,
    pub input: Format,
    pub output: Format,
    pub rows: &'static [Row],
    pub readings: &'static [Reading<I, O>],
}

impl Format {
    fn is_nan(&self, code: u64) -> bool {
        if self.nan_is_sign {
            return code == self.sign;
        }
        self.is_float && code & self.magnitude > self.last_number
    }

    fn fits(&self, due: Due, code: u64, got: u64) -> bool {
        match due {
            Due::Exact => got == code,
            Due::Nan => self.is_nan(got),
            Due::NegativeNan => self.is_nan(got) && got & self.sign != 0,
            Due::Zero => got & self.magnitude == 0,
            Due::Undefined => true,
        }
    }

    /// The code and the number that it denotes.
    fn shown(&self, code: u64) -> String {
        let digits = (self.bits as usize + 3) / 4 + 2;
        format!("{code:#0digits$x} ({})", self.value(code))
    }

    fn value(&self, code: u64) -> String {
        let sign = if code & self.sign != 0 { "-" } else { "" };
        if !self.is_float {
            let size = if sign.is_empty() { code } else { (self.sign | self.magnitude) - code + 1 };
            return format!("{sign}{size}");
        }
        if self.is_nan(code) {
            return if self.nan_is_sign { "NaN".into() } else { format!("{sign}NaN") };
        }
        let magnitude = code & self.magnitude;
        if self.infinity != 0 && magnitude == self.infinity {
            return format!("{sign}Inf");
        }
        let (one, field) = (1u64 << self.mantissa, (magnitude >> self.mantissa) as i32);
        let normal = field != 0 || !self.has_zero;
        let exponent = (if normal { field } else { 1 }) - self.bias - self.mantissa as i32;
        let significand = (magnitude & (one - 1)) + if normal { one } else { 0 };
        let mut value = significand as f64;
        for _ in 0..exponent.abs() {
            value *= if exponent > 0 { 2.0 } else { 0.5 };
        }
        if value != 0.0 && !(1e-5..1e16).contains(&value) {
            return format!("{sign}{value:e}");
        }
        format!("{sign}{value}")
    }

    fn due(&self, due: Due, code: u64) -> String {
        match due {
            Due::Exact => self.shown(code),
            Due::Nan => "any NaN".into(),
            Due::NegativeNan => "any NaN with the sign bit set".into(),
            Due::Zero => "a zero of either sign".into(),
            Due::Undefined => "anything".into(),
        }
    }
}

/// A wrong answer: the input, the expected result and the answer.
struct Example(u64, Due, u64, u64);

/// The results of a row's inputs under a reading.
#[derive(Default)]
struct Tally {
    asked: u64,
    undefined: u64,
    wrong: u64,
    examples: Vec<Example>,
}

impl Tally {
    fn count(&mut self, format: &Format, input: u64, due: Due, code: u64, got: u64) {
        self.asked += 1;
        if due == Due::Undefined {
            self.undefined += 1;
        } else if !format.fits(due, code, got) {
            if self.examples.len() < SHOWN {
                self.examples.push(Example(input, due, code, got));
            }
            self.wrong += 1;
        }
    }
}

/// A place in the series of a reading.
#[derive(Default)]
struct Cursor {
    series: usize,
    place: u64,
    turn: usize,
    first: u64,
    added: u64,
}

impl Cursor {
    fn advance<O>(&mut self, series: &[Series<O>], first: u64) {
        let now = &series[self.series];
        self.first = first;
        self.place += 1;
        self.turn += 1;
        if self.turn == now.plateaus.len() {
            self.turn = 0;
            self.added = self.added.wrapping_add(now.step);
        }
        if self.place == now.count {
            *self = Cursor { series: self.series + 1, first, ..Cursor::default() };
        }
    }
}

type Tallies = Vec<Vec<Tally>>; // by reading and row

fn none_asked<I, O>(suite: &Suite<I, O>) -> Tallies {
    let rows = || suite.rows.iter().map(|_| Tally::default()).collect();
    suite.readings.iter().map(|_| rows()).collect()
}

/// A program's run, with the results of the functions that it checked.
pub struct Run {
    exhaustive: bool,
    points: u64,
    failed: u64,
    judged: u64,
}

impl Run {
    /// Begins with the program's arguments. All but `--exhaustive` are cargo's.
    pub fn begin() -> Self {
        println!("TAP version 13");
        let exhaustive = std::env::args().any(|word| word == "--exhaustive");
        Run { exhaustive, points: 0, failed: 0, judged: 0 }
    }

    /// Checks a function that converts one number.
    pub fn check<I: Number, O: Number>(
        &mut self,
        suite: &Suite<I::Code, O::Code>,
        name: &str,
        function: impl Fn(I) -> O,
    ) {
        self.check_slices(suite, name, |inputs: &[I], outputs: &mut [O]| {
            for (output, input) in outputs.iter_mut().zip(inputs) {
                *output = function(*input);
            }
        });
    }

    /// Checks a function that converts slices of equal length.
    pub fn check_slices<I: Number, O: Number>(
        &mut self,
        suite: &Suite<I::Code, O::Code>,
        name: &str,
        mut function: impl FnMut(&[I], &mut [O]),
    ) {
        let vectors = suite.readings[0].vectors;
        let inputs: Vec<I> = vectors.iter().map(|vector| I::from_code(vector.0)).collect();
        let mut outputs = vec![O::from_code(O::Code::low_bits_of(0)); inputs.len()];
        function(&inputs, &mut outputs);
        let tallies = judged_vectors(suite, &outputs);
        self.print(suite, name, &tallies, vectors.len() as u64, "vectors");
        if self.exhaustive && !suite.readings[0].series.is_empty() {
            let tallies = judged_all(suite, function);
            self.print(suite, name, &tallies, 1 << suite.input.bits, "inputs");
        }
    }

    /// Prints the plan and returns the exit status.
    pub fn end(self) -> ExitCode {
        println!("1..{}", self.points);
        if self.judged == 0 {
            println!("# nothing was judged");
        }
        ExitCode::from(if self.failed != 0 { 1 } else { 3 * u8::from(self.judged == 0) })
    }

    fn print<I, O>(
        &mut self,
        suite: &Suite<I, O>,
        name: &str,
        tallies: &Tallies,
        inputs: u64,
        of: &str,
    ) {
        for (index, row) in suite.rows.iter().enumerate() {
            let meant = meant(suite, tallies, index);
            let tally = &tallies[meant][index];
            if tally.asked == 0 {
                continue;
            }
            self.points += 1;
            self.failed += u64::from(tally.wrong != 0);
            self.judged += tally.asked - tally.undefined;
            let ok = if tally.wrong == 0 { "ok" } else { "not ok" };
            let more = if tally.undefined == tally.asked {
                " # SKIP undefined, any answer will do".to_string()
            } else if row.readings.len() > 1 {
                format!(", read as: {}", row.readings[meant])
            } else {
                String::new()
            };
            println!(
                "{ok} {} - {}, {name}: {}, {} of {inputs} {of}{more}",
                self.points, suite.id, row.name, tally.asked
            );
            if tally.wrong != 0 {
                print_failure(suite, tally, row, meant);
            }
        }
    }
}

/// The reading of a row's rule with the fewest wrong answers.
fn meant<I, O>(suite: &Suite<I, O>, tallies: &Tallies, row: usize) -> usize {
    let rule = suite.rows[row].rule;
    let wrong = |reading: &usize| -> u64 {
        let own = suite.rows.iter().zip(&tallies[*reading]);
        own.filter(|(other, _)| other.rule == rule).map(|(_, tally)| tally.wrong).sum()
    };
    (0..suite.rows[row].readings.len()).min_by_key(wrong).unwrap_or(0)
}

fn print_failure<I, O>(suite: &Suite<I, O>, tally: &Tally, row: &Row, meant: usize) {
    println!("  ---\n  wrong: {} of {}", tally.wrong, tally.asked - tally.undefined);
    print!("{}", row.about);
    if row.readings.len() > 1 {
        println!("  reading: {}", row.readings[meant]);
    }
    println!("  answers:");
    for Example(input, due, code, got) in &tally.examples {
        println!("    - input: {}", suite.input.shown(*input));
        println!("      expected: {}", suite.output.due(*due, *code));
        println!("      got: {}", suite.output.shown(*got));
    }
    let digits = (suite.input.bits as usize + 3) / 4 + 2;
    let first = tally.examples[0].0;
    println!("  explained by: convcheck explain {} {first:#0digits$x}\n  ...", suite.id);
}

fn judged_vectors<I: Code, O: Number>(suite: &Suite<I, O::Code>, outputs: &[O]) -> Tallies {
    let mut tallies = none_asked(suite);
    let mask = suite.output.sign | suite.output.magnitude;
    for (reading, tallies) in suite.readings.iter().zip(&mut tallies) {
        for (Vector(input, row, due, code), output) in reading.vectors.iter().zip(outputs) {
            let got = output.code().into() & mask;
            tallies[*row].count(&suite.output, (*input).into(), *due, (*code).into(), got);
        }
    }
    tallies
}

fn judged_all<I: Number, O: Number>(
    suite: &Suite<I::Code, O::Code>,
    mut function: impl FnMut(&[I], &mut [O]),
) -> Tallies {
    let mut tallies = none_asked(suite);
    let mut cursors: Vec<Cursor> = suite.readings.iter().map(|_| Cursor::default()).collect();
    let mut outputs = vec![O::from_code(O::Code::low_bits_of(0)); CHUNK];
    let mut inputs: Vec<I> = Vec::with_capacity(CHUNK);
    let all = 1u64 << suite.input.bits;
    for begin in (0..all).step_by(CHUNK) {
        let end = all.min(begin + CHUNK as u64);
        inputs.clear();
        inputs.extend((begin..end).map(|code| I::from_code(I::Code::low_bits_of(code))));
        let answers = &mut outputs[..inputs.len()];
        function(&inputs, answers);
        for (reading, (cursor, tallies)) in
            suite.readings.iter().zip(cursors.iter_mut().zip(&mut tallies))
        {
            judge_chunk(&suite.output, reading.series, cursor, tallies, begin, answers);
        }
    }
    tallies
}

fn judge_chunk<O: Number>(
    format: &Format,
    series: &[Series<O::Code>],
    cursor: &mut Cursor,
    tallies: &mut [Tally],
    begin: u64,
    answers: &[O],
) {
    let (mask, end) = (format.sign | format.magnitude, begin + answers.len() as u64);
    let low = O::Code::low_bits_of(mask);
    let mut input = begin;
    while input < end {
        let Plateau(length, row, due, code) = &series[cursor.series].plateaus[cursor.turn];
        let code = (*code).into().wrapping_add(cursor.added) & mask;
        let (last, wanted) = (cursor.first + length, O::Code::low_bits_of(code));
        let stop = end.min(last);
        let part = &answers[(input - begin) as usize..(stop - begin) as usize];
        let tally = &mut tallies[*row];
        if *due == Due::Undefined {
            tally.asked += stop - input;
            tally.undefined += stop - input;
        } else if *due == Due::Exact
            && !part.iter().fold(false, |wrong, got| wrong | (got.code().masked(low) != wanted))
        {
            tally.asked += stop - input;
        } else {
            for (input, got) in (input..stop).zip(part) {
                tally.count(format, input, *due, code, got.code().into() & mask);
            }
        }
        input = stop;
        if input == last {
            cursor.advance(series, last);
        }
    }
}
