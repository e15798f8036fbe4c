//! Recorded output of the real programs in many situations, for the dialects' tests.

use std::path::Path;

use ralph_core::event::{AgentSignal, Exit, Problem, ProblemKind};
use ralph_text::{KeptEscapes, PlainText};

use crate::transcript::Transcript;

use super::{DialectKind, Finish, Tail, ZonedClock};

/// The distance between two cuts of a recording: about the length of a line.
const CUT_BYTES: usize = 997;

#[derive(Clone)]
pub(super) struct RecordedSession {
    pub(super) name: &'static str,
    pub(super) stdout: Vec<u8>,
    /// The lines of stderr as plain text.
    pub(super) stderr: String,
    pub(super) exit: Exit,
}

/// The recordings of one program, by name.
macro_rules! recordings {
    ($cli:literal: $($name:literal)*) => {
        vec![$($crate::dialect::recordings_tests::RecordedSession::new(
            $name,
            include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/", $cli, "/", $name, ".jsonl")),
            include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/", $cli, "/", $name, ".stderr")),
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/", $cli, "/", $name, ".exit")),
        )),*]
    };
}
pub(super) use recordings;

/// The tests of a dialect with the recordings of a program, which `all` in the same module lists.
macro_rules! tests_of_recordings {
    ($kind:expr, $cli:literal) => {
        #[test]
        fn recordings_give_the_signals_that_were_reviewed() {
            $crate::dialect::recordings_tests::assert_reviewed($kind, $cli, &all());
        }

        #[test]
        fn a_person_can_read_what_happened() {
            $crate::dialect::recordings_tests::assert_reads_well($kind, $cli, $crate::dialect::recordings_tests::recordings!($cli: "success" "toolfail" "http429"));
        }

        #[test]
        fn every_recording_in_pieces_of_any_size_gives_the_same_signals() {
            $crate::dialect::recordings_tests::assert_pieces_change_nothing($kind, &all());
        }

        #[test]
        fn a_recording_cut_at_every_byte_gives_the_same_signals() {
            for recording in $crate::dialect::recordings_tests::recordings!($cli: "resume-2") {
                $crate::dialect::recordings_tests::assert_cuts_change_nothing($kind, &recording);
            }
        }

        #[test]
        fn a_recording_that_stops_at_any_byte_ends_with_exactly_one_verdict() {
            for recording in $crate::dialect::recordings_tests::recordings!($cli: "resume-2") {
                $crate::dialect::recordings_tests::assert_one_verdict_wherever_it_stops($kind, &recording);
            }
        }

        #[test]
        fn noise_between_the_lines_changes_no_signal_but_is_said() {
            for recording in $crate::dialect::recordings_tests::recordings!($cli: "toolfail" "http429x2" "sig-SIGINT" "cut") {
                $crate::dialect::recordings_tests::assert_noise_is_said_once($kind, &recording);
            }
        }
    };
}
pub(super) use tests_of_recordings;

impl RecordedSession {
    pub(super) fn new(name: &'static str, stdout: &[u8], stderr: &[u8], exit: &str) -> Self {
        let exit: i32 = exit.trim().parse().expect("an exit code");
        let exit = if exit < 0 {
            Exit::Signal { signal: -exit }
        } else {
            Exit::Code { code: exit }
        };
        let (mut plain, mut tail) = (PlainText::new(KeptEscapes::Nothing), Tail::default());
        plain.feed(stderr, |line| tail.push(line));
        plain.finish(|line| tail.push(line));
        Self {
            name,
            stdout: stdout.to_vec(),
            stderr: tail.text(),
            exit,
        }
    }

    /// A recording with handwritten output.
    pub(super) fn made_up(stdout: &str, stderr: &str, exit: Exit) -> Self {
        Self {
            name: "made up",
            stdout: stdout.as_bytes().to_vec(),
            stderr: stderr.to_owned(),
            exit,
        }
    }
}

/// The time at which all recordings are replayed.
pub(super) const NOW: &str = "2026-11-20T10:00:00Z";

pub(super) const OK: Exit = Exit::Code { code: 0 };

pub(super) fn signals(kind: DialectKind, recording: &RecordedSession) -> Vec<AgentSignal> {
    signals_of_pieces(kind, &[&recording.stdout], recording)
}

fn signals_of_pieces(kind: DialectKind, pieces: &[&[u8]], recording: &RecordedSession) -> Vec<AgentSignal> {
    let clock = ZonedClock::at(NOW);
    let mut dialect = kind.parser();
    let mut out = Vec::new();
    for line in recording.stderr.lines() {
        dialect.stderr_line(line, &clock, &mut out);
    }
    for piece in pieces {
        dialect.feed(piece, &clock, &mut out);
    }
    let finish = Finish {
        exit: Some(recording.exit),
        stderr: &recording.stderr,
    };
    dialect.finish(finish, &clock, &mut out);
    out
}

/// Compares the signals of each recording with the reviewed snapshot.
pub(super) fn assert_reviewed(kind: DialectKind, cli: &str, recordings: &[RecordedSession]) {
    for recording in recordings {
        let lines = signals(kind, recording)
            .into_iter()
            .map(|signal| serde_json::to_string(&signal).expect("signals are JSON"));
        let shown = lines.collect::<Vec<_>>().join("\n");
        let path = format!("../../../../tests/fixtures/{cli}/signals");
        insta::with_settings!({ snapshot_path => path, prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(recording.name, shown);
        });
    }
}

/// Compares the transcript of each recording with the reviewed snapshot.
pub(super) fn assert_reads_well(kind: DialectKind, cli: &str, recordings: Vec<RecordedSession>) {
    for recording in recordings {
        let (mut transcript, mut out) = (Transcript::new(Path::new("/repo"), 80), Vec::new());
        for signal in signals(kind, &recording) {
            transcript.render(&signal, &mut out);
        }
        let shown = String::from_utf8(out).expect("UTF-8");
        let shown = shown.replace("\r\n", "\n").replace('\x1b', "^");
        let path = format!("../../../../tests/fixtures/{cli}/transcripts");
        insta::with_settings!({ snapshot_path => path, prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(recording.name, shown);
        });
    }
}

/// Checks that the signals do not depend on where the bytes of a recording are cut.
pub(super) fn assert_cuts_change_nothing(kind: DialectKind, recording: &RecordedSession) {
    let name = recording.name;
    let whole = signals(kind, recording);
    // The cuts are far apart, so that few lines are cut twice; all rounds together cut at every byte.
    for first in 0..CUT_BYTES.min(recording.stdout.len() + 1) {
        let (head, rest) = recording.stdout.split_at(first);
        let pieces: Vec<_> = [head].into_iter().chain(rest.chunks(CUT_BYTES)).collect();
        let cut = signals_of_pieces(kind, &pieces, recording);
        assert_eq!(cut, whole, "{name} cut at {first} and after every {CUT_BYTES} bytes");
    }
}

/// Checks that the signals do not depend on the size of the pieces.
pub(super) fn assert_pieces_change_nothing(kind: DialectKind, recordings: &[RecordedSession]) {
    for recording in recordings {
        let whole = signals(kind, recording);
        for size in [1, 2, 3, 7, 64, 4096] {
            let pieces: Vec<_> = recording.stdout.chunks(size).collect();
            let name = recording.name;
            assert_eq!(
                signals_of_pieces(kind, &pieces, recording),
                whole,
                "{name} in pieces of {size}"
            );
        }
    }
}

/// Checks that a recording cut off at any byte ends with exactly one verdict, which is success only after its last
/// line.
pub(super) fn assert_one_verdict_wherever_it_stops(kind: DialectKind, recording: &RecordedSession) {
    let name = recording.name;
    let last_line = recording.stdout.trim_ascii_end().len();
    for at in 0..=recording.stdout.len() {
        let out = signals_of_pieces(kind, &[&recording.stdout[..at]], recording);
        let verdicts: Vec<_> = out
            .iter()
            .filter_map(|signal| match signal {
                AgentSignal::TurnEnded { ok, .. } => Some(*ok),
                _ => None,
            })
            .collect();
        assert_eq!(verdicts.len(), 1, "{name} stopped at {at}");
        assert!(!verdicts[0] || at >= last_line, "{name} stopped at {at} is no success");
        assert!(
            matches!(out.last(), Some(AgentSignal::TurnEnded { .. })),
            "{name} stopped at {at}"
        );
    }
}

/// Checks that unknown input changes no other signal and is reported once.
pub(super) fn assert_noise_is_said_once(kind: DialectKind, recording: &RecordedSession) {
    let name = recording.name;
    let whole = signals(kind, recording);
    let mut noisy = b"npm warn something\n".to_vec();
    for line in recording.stdout.split_inclusive(|byte| *byte == b'\n') {
        noisy.extend_from_slice(b"\0\0\xff garbage {\r\n\n{\"type\":\"brand.new\",\"x\":1}\n\0");
        noisy.extend_from_slice(line.strip_suffix(b"\n").unwrap_or(line));
        noisy.extend_from_slice(b"\r\n");
    }
    let is_noise = |signal: &AgentSignal| match signal {
        AgentSignal::Noted { text } => text.starts_with("not an event"),
        AgentSignal::Unknown { event, .. } => event == "brand.new",
        _ => false,
    };
    let mut out = signals_of_pieces(kind, &[&noisy], recording);
    let before = out.len();
    out.retain(|signal| !is_noise(signal));
    assert!(before - out.len() <= 2, "{name}: each kind of noise is said once");
    assert_eq!(out, whole, "{name}");
}

/// The problem with which a recording ends; `None` if its turn succeeded without one.
pub(super) fn problem(kind: DialectKind, recording: &RecordedSession) -> Option<Problem> {
    let problems: Vec<_> = signals(kind, recording)
        .into_iter()
        .filter_map(|signal| match signal {
            AgentSignal::Problem { problem } => Some(problem),
            _ => None,
        })
        .collect();
    assert!(problems.len() <= 1, "{}: {problems:?}", recording.name);
    problems.into_iter().next()
}

/// Checks the kind of problem with which each recording ends.
pub(super) fn assert_problems(kind: DialectKind, expected: &[(RecordedSession, ProblemKind)]) {
    for (recording, expected) in expected {
        let problem = problem(kind, recording);
        assert_eq!(
            problem.as_ref().map(|problem| problem.kind),
            Some(*expected),
            "{}: {problem:?}",
            recording.name
        );
    }
}

/// Converts a time to milliseconds since 1970.
pub(super) fn ms(time: &str) -> u64 {
    let time: jiff::Timestamp = time.parse().expect("a time");
    u64::try_from(time.as_millisecond()).expect("after 1970")
}
