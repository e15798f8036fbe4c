//! Names of the vocabulary's choices, as settings and manifests spell them.

use ralph_core::event::{
    Bite, GoalsWhen, Mode, OnDayLimit, PermissionMode, Proof, ReviewWhen, SessionMode, ToolKind, Unanswered,
};
use ralph_system::proc::StopSignal;

use super::texts::Choice;

impl Choice for SessionMode {
    const CHOICES: &'static [(&'static str, Self)] = &[("fresh", SessionMode::Fresh), ("resume", SessionMode::Resume)];
}

impl Choice for OnDayLimit {
    const CHOICES: &'static [(&'static str, Self)] = &[("wait", OnDayLimit::Wait), ("stop", OnDayLimit::Stop)];
}

impl Choice for ReviewWhen {
    const CHOICES: &'static [(&'static str, Self)] = &[("task", ReviewWhen::Task), ("end", ReviewWhen::End)];
}

impl Choice for Mode {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("implementation", Mode::Implementation),
        ("refactor", Mode::Refactor),
        ("fix", Mode::Fix),
    ];
}

impl Choice for Bite {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("off", Bite::Off),
        ("report", Bite::Report),
        ("refuse", Bite::Refuse),
        ("require", Bite::Require),
    ];
}

impl Choice for Proof {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("any", Proof::Nothing),
        ("passed", Proof::ExitCodes),
        ("verified", Proof::Tests),
    ];
}

impl Choice for GoalsWhen {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("claim", GoalsWhen::Claim),
        ("iteration", GoalsWhen::Iteration),
        ("both", GoalsWhen::Iteration),
    ];
}

impl Choice for PermissionMode {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("auto", PermissionMode::Auto),
        ("ask", PermissionMode::Ask),
        ("restricted", PermissionMode::Restricted),
        ("readonly", PermissionMode::Readonly),
    ];
}

impl Choice for Unanswered {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("deny", Unanswered::Deny),
        ("allow", Unanswered::Allow),
        ("pause", Unanswered::Pause),
        ("block", Unanswered::Block),
    ];
}

impl Choice for ToolKind {
    const CHOICES: &'static [(&'static str, Self)] = &ToolKind::NAMES;
}

impl Choice for StopSignal {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("interrupt", StopSignal::Interrupt),
        ("terminate", StopSignal::Terminate),
    ];
}
