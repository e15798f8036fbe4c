//! Names of the vocabulary's choices, as settings and manifests spell them.

use ralph_core::event::{
    Bite, GoalsWhen, KnownFailures, Mode, PermissionMode, Proof, ReviewWhen, RoomUse, SessionMode, ToolKind,
    Unanswered, WindowPace,
};
use ralph_system::proc::StopSignal;

use super::texts::NamedChoice;

impl NamedChoice for SessionMode {
    const CHOICES: &'static [(&'static str, Self)] = &[("fresh", SessionMode::Fresh), ("resume", SessionMode::Resume)];
}

impl NamedChoice for WindowPace {
    const CHOICES: &'static [(&'static str, Self)] = &[("free", WindowPace::Free), ("even", WindowPace::Even)];
}

impl NamedChoice for ReviewWhen {
    const CHOICES: &'static [(&'static str, Self)] = &[("task", ReviewWhen::Task), ("end", ReviewWhen::End)];
}

impl NamedChoice for Mode {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("implementation", Mode::Implementation),
        ("refactor", Mode::Refactor),
        ("fix", Mode::Fix),
    ];
}

impl NamedChoice for KnownFailures {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("block", KnownFailures::Block), ("forgive", KnownFailures::Forgive)];
}

impl NamedChoice for RoomUse {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("auto", RoomUse::Auto),
        ("required", RoomUse::Required),
        ("off", RoomUse::Off),
    ];
}

impl NamedChoice for Bite {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("off", Bite::Off),
        ("report", Bite::Report),
        ("refuse", Bite::Refuse),
        ("require", Bite::Require),
    ];
}

impl NamedChoice for Proof {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("any", Proof::Nothing),
        ("passed", Proof::ExitCodes),
        ("verified", Proof::Tests),
    ];
}

impl NamedChoice for GoalsWhen {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("background", GoalsWhen::Background),
        ("claim", GoalsWhen::Claim),
        ("iteration", GoalsWhen::Iteration),
        ("both", GoalsWhen::Iteration),
    ];
}

impl NamedChoice for PermissionMode {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("auto", PermissionMode::Auto),
        ("ask", PermissionMode::Ask),
        ("restricted", PermissionMode::Restricted),
        ("readonly", PermissionMode::Readonly),
    ];
}

impl NamedChoice for Unanswered {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("deny", Unanswered::Deny),
        ("allow", Unanswered::Allow),
        ("pause", Unanswered::Pause),
        ("block", Unanswered::Block),
    ];
}

impl NamedChoice for ToolKind {
    const CHOICES: &'static [(&'static str, Self)] = &ToolKind::NAMES;
}

impl NamedChoice for StopSignal {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("interrupt", StopSignal::Interrupt),
        ("terminate", StopSignal::Terminate),
    ];
}
