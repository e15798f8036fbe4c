//! The obligations of an agent's program. The list in `docs/spec/agent.md` is written from this one.

/// Something that a program does if ralph can rely on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Obligation {
    /// Never changes; a new obligation gets the next number.
    pub number: u8,
    /// A few words for a table.
    pub title: &'static str,
    pub level: RequirementLevel,
    /// The whole obligation, with the program as its subject.
    pub text: &'static str,
    /// Advice to the author of a program that does not meet it.
    pub remedy: &'static str,
}

/// How much depends on an obligation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequirementLevel {
    /// Runs go wrong without it.
    Must,
    /// Runs are worse without it.
    Should,
}

impl RequirementLevel {
    /// The word of the specification.
    pub fn word(self) -> &'static str {
        match self {
            RequirementLevel::Must => "MUST",
            RequirementLevel::Should => "SHOULD",
        }
    }
}

const fn must(number: u8, title: &'static str, text: &'static str, remedy: &'static str) -> Obligation {
    Obligation {
        number,
        title,
        level: RequirementLevel::Must,
        text,
        remedy,
    }
}

const fn should(number: u8, title: &'static str, text: &'static str, remedy: &'static str) -> Obligation {
    Obligation {
        level: RequirementLevel::Should,
        ..must(number, title, text, remedy)
    }
}

pub(super) const START: Obligation = must(
    1,
    "starts",
    "The program MUST be found as the adapter file names it, and start.",
    "set `command.program` to a name on PATH or to a path, and make the file executable",
);
pub(super) const VERSION: Obligation = must(
    2,
    "tells its version",
    "With the arguments `probe.args` it MUST print a version number within 30 seconds, exit with 0, and do nothing else.",
    "answer `probe.args` with one line such as `my-agent 1.2.0`, before anything else is looked at",
);
pub(super) const VERIFIED: Obligation = should(
    3,
    "is the verified version",
    "The version SHOULD be the one that `verified` names.",
    "set `verified` to this version once all other obligations are met",
);
pub(super) const PROMPT: Obligation = must(
    4,
    "gets the prompt",
    "It MUST take its prompt from where `command.prompt` says, and work on it: standard input up to its end, or the file \
     `{prompt_file}`.",
    "read standard input up to its end, or the file that `{prompt_file}` names",
);
pub(super) const DIRECTORY: Obligation = must(
    5,
    "works in its directory",
    "It MUST work in the directory in which it was started.",
    "take relative paths from the working directory, and do not change to another one",
);
pub(super) const STREAM: Obligation = must(
    6,
    "writes events only",
    "With a structured dialect, every line of its standard output MUST be one event of the dialect, and SHOULD be one if the \
     dialect is another agent's own. Everything else goes to standard error.",
    "write each event as one line, whole, and everything for people to standard error",
);
pub(super) const TOOLS: Obligation = must(
    7,
    "pairs tools",
    "Every use of a tool that it reports MUST have a start and then an end with the same `call`, before the turn succeeds.",
    "report `tool-started` before a tool runs and `tool-ended` after it, with the same `call`",
);
pub(super) const USAGE: Obligation = must(
    8,
    "counts usage",
    "Usage MUST be reported if `capabilities` promises it: whole numbers from 0 up, cached tokens as a part of the input \
     tokens. With `usage.counts = \"session\"` the numbers of a continued session never fall.",
    "report what each request used, or set `capabilities.usage`, `capabilities.cost` and `usage.counts` to what is true",
);
pub(super) const END: Obligation = must(
    9,
    "tells its end",
    "It MUST report how its turn ended: once, as its last event, and as a success only if it was one.",
    "end every turn with one `turn-ended`, and write nothing after it",
);
pub(super) const EXIT: Obligation = must(
    10,
    "exits",
    "After its turn it MUST exit by itself within 10 seconds, with 0 if the turn succeeded.",
    "exit with 0 after a turn that succeeded; do not wait for more input",
);
pub(super) const LEAVES_NOTHING: Obligation = must(
    11,
    "leaves nothing running",
    "It MUST NOT leave processes running when it exits. ralph would end them.",
    "wait for the processes that the program starts, or end them, before it exits",
);
pub(super) const LONG_PROMPT: Obligation = must(
    12,
    "gets a long prompt",
    "It MUST take a prompt of 200 kB whole.",
    "read the prompt until its end, not into a buffer of a fixed size, and do not pass it on as an argument",
);
pub(super) const VARIABLES: Obligation = must(
    13,
    "ignores variables",
    "It MUST ignore variables whose names begin with `RALPH_` and that it does not know.",
    "read the variables that the program knows by name, and no others",
);
pub(super) const SLOW_READER: Obligation = must(
    14,
    "waits for a reader",
    "It MUST wait while its output is not read, and then lose nothing.",
    "write to standard output with writes that block until all is written",
);
pub(super) const REFUSAL: Obligation = must(
    15,
    "tells a refusal",
    "If its model refuses the key, it MUST report a problem of the kind `auth` and that the turn failed.",
    "report the problem before `turn-ended` with `\"ok\": false`",
);
pub(super) const REFUSAL_EXIT: Obligation = must(
    16,
    "exits with a failure",
    "After a turn that failed it MUST exit with another code than 0. With a dialect of another agent it SHOULD.",
    "exit with 1 after a turn that failed",
);
pub(super) const INTERRUPT: Obligation = must(
    17,
    "ends on an interrupt",
    "If `stop.first` is `interrupt`, it MUST end within `stop.grace_ms` after SIGINT, whatever it is doing.",
    "handle SIGINT, or let it end the program; or set `stop.first = \"terminate\"`",
);
pub(super) const TERMINATE: Obligation = must(
    18,
    "ends on terminate",
    "It MUST end within `stop.grace_ms` after SIGTERM, whatever it is doing.",
    "handle SIGTERM, or let it end the program; raise `stop.grace_ms` if it needs longer",
);
pub(super) const STOPPED: Obligation = must(
    19,
    "a stop is no success",
    "It MUST NOT report success for a turn that was stopped.",
    "do not write `turn-ended` with `\"ok\": true` in the handler of a signal",
);
pub(super) const STOPS_TOOLS: Obligation = should(
    20,
    "stops its tools",
    "When it is stopped it SHOULD end the processes of its tools, also those that ignore SIGTERM.",
    "in the handler of a signal, end the running tool and wait for it",
);
pub(super) const CONTINUES: Obligation = must(
    21,
    "continues a session",
    "If the adapter file has `command.resume`, it MUST continue the session that it is given, and report the same id.",
    "use the id after `command.resume`, and report it in `opened`; or remove `command.resume`",
);
pub(super) const REMEMBERS: Obligation = must(
    22,
    "remembers",
    "A continued session MUST know the turns before.",
    "store the conversation by the id of its session when a turn ends, and read it when the session continues",
);
pub(super) const LOST_SESSION: Obligation = must(
    23,
    "tells a lost session",
    "A session that it cannot continue MUST be reported as a problem of the kind `session-lost`, and the turn as failed. It \
     MUST NOT begin a new one in its place.",
    "report `session-lost` if the id is unknown; ralph then starts a new session itself",
);

/// All obligations, in the order of their numbers.
pub const OBLIGATIONS: [Obligation; 23] = [
    START,
    VERSION,
    VERIFIED,
    PROMPT,
    DIRECTORY,
    STREAM,
    TOOLS,
    USAGE,
    END,
    EXIT,
    LEAVES_NOTHING,
    LONG_PROMPT,
    VARIABLES,
    SLOW_READER,
    REFUSAL,
    REFUSAL_EXIT,
    INTERRUPT,
    TERMINATE,
    STOPPED,
    STOPS_TOOLS,
    CONTINUES,
    REMEMBERS,
    LOST_SESSION,
];

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use ralph_core::testing::assert_committed_part;

    use super::*;

    #[test]
    fn the_specification_has_the_committed_obligations() {
        let mut list = "\n".to_owned();
        for (at, obligation) in OBLIGATIONS.iter().enumerate() {
            assert_eq!(usize::from(obligation.number), at + 1, "{}", obligation.title);
            assert!(obligation.text.contains(obligation.level.word()), "{}", obligation.text);
            writeln!(
                list,
                "{}. **{}.** {}",
                obligation.number, obligation.title, obligation.text
            )
            .expect("a string takes every write");
        }
        list.push('\n');
        let filter = "-p ralph-loop-agent the_specification_has";
        assert_committed_part("docs/spec/agent.md", "obligations", &list, filter);
    }
}
