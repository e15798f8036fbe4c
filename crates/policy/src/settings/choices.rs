//! Names of the vocabulary's choices, as settings and manifests spell them.

use ralph_core::event::{
    Bite, GoalsWhen, KnownFailures, Mode, PermissionMode, Proof, ReviewWhen, RoomUse, SessionMode, ToolKind,
    Unanswered, WindowPace,
};
use ralph_system::proc::StopSignal;

use super::texts::NamedChoice;
use crate::choices;

choices! {
    SessionMode: "fresh" = Fresh, "resume" = Resume;
    WindowPace: "free" = Free, "even" = Even;
    ReviewWhen: "task" = Task, "end" = End;
    Mode: "implementation" = Implementation, "refactor" = Refactor, "fix" = Fix;
    KnownFailures: "block" = Block, "forgive" = Forgive;
    RoomUse: "auto" = Auto, "required" = Required, "off" = Off;
    Bite: "off" = Off, "report" = Report, "refuse" = Refuse, "require" = Require;
    Proof: "any" = Nothing, "passed" = ExitCodes, "verified" = Tests;
    GoalsWhen: "background" = Background, "claim" = Claim, "iteration" = Iteration;
    PermissionMode: "auto" = Auto, "ask" = Ask, "restricted" = Restricted, "readonly" = Readonly;
    Unanswered: "deny" = Deny, "allow" = Allow, "pause" = Pause, "block" = Block;
    StopSignal: "interrupt" = Interrupt, "terminate" = Terminate;
}

impl NamedChoice for ToolKind {
    const CHOICES: &'static [(&'static str, Self)] = &ToolKind::NAMES;
}
