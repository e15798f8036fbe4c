//! The output of an agent, in each dialect: one verdict ends it, and where its bytes are cut makes no difference.

#![no_main]

use jiff::tz::TimeZone;
use libfuzzer_sys::fuzz_target;
use ralph_agent::dialect::{DialectKind, Finish, ZonedClock};
use ralph_core::event::{AgentSignal, Exit};

fuzz_target!(|bytes: &[u8]| {
    for (name, kind) in DialectKind::NAMES {
        let whole = signals(kind, &[bytes]);
        let verdicts = whole
            .iter()
            .filter(|signal| matches!(signal, AgentSignal::TurnEnded { .. }));
        assert_eq!(verdicts.count(), 1, "{name}: {whole:?}");
        let (head, rest) = bytes.split_at(bytes.len() / 3);
        assert_eq!(signals(kind, &[head, rest]), whole, "{name}, cut at {}", head.len());
    }
});

fn signals(kind: DialectKind, pieces: &[&[u8]]) -> Vec<AgentSignal> {
    let clock = ZonedClock {
        now_ms: 1_795_000_000_000,
        zone: TimeZone::UTC,
        named: |_| None,
    };
    let (mut parser, mut out) = (kind.parser(), Vec::new());
    for piece in pieces {
        parser.feed(piece, &clock, &mut out);
    }
    let finish = Finish {
        exit: Some(Exit::Code { code: 0 }),
        stderr: "",
    };
    parser.finish(finish, &clock, &mut out);
    out
}
