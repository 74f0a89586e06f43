//! Read a pack. `reader FILE...` prints id, input, rule and expected values of each vector.
//!
//! The first line of a file is the head of the case; each other line is a vector:
//! `[INPUT,RULE,EXPECTED...]`, or `{"input":INPUT,"rule":RULE,"expected":[EXPECTED...]}` for a call.

use std::{env, fs, process};

/// A vector, with the input and the expected values as JSON.
struct Vector<'a> {
    id: u64,
    input: &'a str,
    rule: usize,
    expected: &'a str,
}

fn fnv1a(code: u64, text: &str) -> u64 {
    text.bytes().fold(code, |code, byte| (code ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Return the length of the JSON text that begins with a quote.
fn length_of_text(text: &str) -> usize {
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.expect("a text ends") + 2
}

fn vector<'a>(case: &str, line: &'a str) -> Option<Vector<'a>> {
    let last = line.rfind(']')?;
    let (input, rest) = match line.strip_prefix("{\"input\":") {
        Some(call) => call.split_once(",\"rule\":")?,
        None => (&line[1..][..length_of_text(&line[1..])], &line[2 + length_of_text(&line[1..])..]),
    };
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let start = line.len() - rest.len() + digits;
    let after = line[start..].strip_prefix(",\"expected\":[").or(line[start..].strip_prefix(','))?;
    let expected = &after[..last + after.len() - line.len()];
    let id = fnv1a(fnv1a(0xcbf2_9ce4_8422_2325, case), &format!(" {input}"));
    Some(Vector { id, input, rule: rest[..digits].parse().ok()?, expected })
}

fn main() {
    for file in env::args().skip(1) {
        let text = fs::read_to_string(&file).unwrap_or_else(|error| {
            eprintln!("{file}: {error}");
            process::exit(2)
        });
        let name = text.split('"').nth(3).expect("the name of the case");
        for line in text.lines().skip(1).take_while(|line| !line.starts_with(']')) {
            let one = vector(name, line).expect("a vector");
            println!("{:016x}\t{}\t{}\t[{}]", one.id, one.input, one.rule, one.expected);
        }
    }
}
