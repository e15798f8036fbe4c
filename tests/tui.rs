//! The screen as users have it: the real binary in a terminal, real keys, and the resulting cells.

mod answering;
pub mod ending;
mod keys;
mod looks;
mod newcomer;
mod opening;
mod output;
mod replaying;
mod restoring;
mod steering;
mod terminal;

use ralph_core::event::{Event, Record, RunEvent, StopReason};
use ralph_system::proc::Size;
use ralph_ui::tui::ScreenLayout;

use crate::harness::{Sandbox, Script};
pub use terminal::Terminal;

/// An agent that says it is ready and waits to be released, one task per iteration.
pub const PATIENT: &str = r#"echo "ready $n"; await "go$n"; work; echo "finished $n""#;

/// The screen over `PLAN.md` with an adapter `script`.
pub fn watching(sandbox: &Sandbox, script: &Script) -> Terminal {
    sandbox.install(script);
    Terminal::start(&screen(sandbox), 100, 30)
}

pub fn screen(sandbox: &Sandbox) -> crate::harness::Program {
    sandbox
        .ralph(["--adapter", "script"])
        .env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent"))
        .env("RALPH_BACKOFF_BASE", "10ms")
        .env("RALPH_BACKOFF_MAX", "40ms")
}

/// The size of the agent's terminal on a screen of this size, over the plan of a new sandbox.
pub fn pane(cols: u16, rows: u16) -> Size {
    ScreenLayout::new(cols, rows, 2).pane()
}

fn reason(records: &[Record]) -> Option<&StopReason> {
    match &records.last()?.event {
        Event::Run(RunEvent::Stopped { reason, .. }) => Some(reason),
        _ => None,
    }
}
