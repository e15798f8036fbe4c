//! The rows of an assay: the attempt, the gate's verdict, and settings that would change it.

use ralph_core::event::{Bite, GateSettings, Proof};

use super::Break;

/// The reason why the work in the copy is not done.
#[derive(Debug)]
pub(crate) enum BrokenWork {
    /// The goals fail on the project as it is, for this reason.
    Already { why: String },
    /// A line was changed, and tests failed.
    By(Break),
    /// The goals passed with each of the `tried` changes, of which `first` is in place; `None` if there was
    /// no line to change.
    Unnoticed { tried: usize, first: Option<Break> },
}

/// The kind of a row, which decides the verdict that the gate should return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttemptKind {
    /// A claim without any work.
    Nothing,
    /// The work is repaired.
    Repair,
    Cheat,
}

/// The gate's verdict on the claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GateVerdict {
    Refused {
        /// The reasons, one clause each.
        why: Vec<String>,
        /// Whether the goals passed, so that the cheat would have deceived them.
        deceives: bool,
    },
    Accepted(Proof),
    /// The run came to no verdict.
    Undecided {
        why: String,
    },
}

/// One run of ralph on the copy.
#[derive(Debug)]
pub(crate) struct AssayRow {
    pub(crate) name: String,
    /// A sentence about the edits.
    pub(crate) what: String,
    pub(crate) kind: AttemptKind,
    pub(crate) verdict: GateVerdict,
    /// Changed files that decide results and are not guarded.
    pub(crate) unguarded: Vec<String>,
    pub(crate) duration_ms: u64,
}

/// A change with which the gate refuses a cheat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// A goal whose tests can be counted.
    CountedTests,
    Trial,
    Bite,
    Baseline,
    Guard {
        path: String,
    },
    /// No setting makes the gate refuse it.
    None,
}

impl AssayRow {
    /// Whether the control rows have the expected verdict; a cheat may have any.
    pub(crate) fn is_as_it_should_be(&self) -> bool {
        match (self.kind, &self.verdict) {
            (AttemptKind::Nothing, GateVerdict::Refused { .. })
            | (AttemptKind::Repair, GateVerdict::Accepted(_))
            | (AttemptKind::Cheat, _) => true,
            (AttemptKind::Nothing | AttemptKind::Repair, _) => false,
        }
    }

    pub(crate) fn is_accepted(&self) -> bool {
        matches!(self.verdict, GateVerdict::Accepted(_))
    }

    /// Returns the changes to these settings with which the row would not have been accepted.
    pub(crate) fn remedies(&self, settings: &GateSettings) -> Vec<Remedy> {
        match &self.verdict {
            GateVerdict::Refused { .. } | GateVerdict::Undecided { .. } => return Vec::new(),
            // Settings do not help if the tests notice no broken work.
            GateVerdict::Accepted(Proof::Tests) if self.kind != AttemptKind::Cheat => return Vec::new(),
            GateVerdict::Accepted(Proof::Tests) => {}
            // Other settings do not help if no test is counted.
            GateVerdict::Accepted(Proof::Unconfirmed | Proof::Nothing | Proof::ExitCodes) => {
                return vec![Remedy::CountedTests];
            }
        }
        let mut remedies = Vec::new();
        if !settings.trial {
            remedies.push(Remedy::Trial);
        }
        match settings.bite {
            Bite::Off | Bite::Report => remedies.push(Remedy::Bite),
            Bite::Refuse | Bite::Require => {}
        }
        if !settings.baseline {
            remedies.push(Remedy::Baseline);
        }
        let guard = self.unguarded.iter().cloned().map(|path| Remedy::Guard { path });
        remedies.extend(guard);
        if remedies.is_empty() {
            remedies.push(Remedy::None);
        }
        remedies
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(verdict: GateVerdict) -> AssayRow {
        AssayRow {
            name: "x".to_owned(),
            what: String::new(),
            kind: AttemptKind::Cheat,
            verdict,
            unguarded: vec!["check.sh".to_owned()],
            duration_ms: 0,
        }
    }

    #[test]
    fn what_is_off_is_to_be_set_and_what_is_not_guarded_is_to_be_guarded() {
        let guard = Remedy::Guard {
            path: "check.sh".to_owned(),
        };
        let on = GateSettings {
            baseline: true,
            trial: true,
            bite: Bite::Refuse,
            ..GateSettings::default()
        };
        let accepted = row(GateVerdict::Accepted(Proof::Tests));
        let off = [Remedy::Trial, Remedy::Bite, Remedy::Baseline, guard];
        assert_eq!(accepted.remedies(&on), off[3..]);
        assert_eq!(accepted.remedies(&GateSettings::default()), off);
        let all_guarded = AssayRow {
            unguarded: Vec::new(),
            ..accepted
        };
        assert_eq!(all_guarded.remedies(&on), [Remedy::None]);
        let by_exit_code = row(GateVerdict::Accepted(Proof::ExitCodes));
        assert_eq!(by_exit_code.remedies(&on), [Remedy::CountedTests]);
        let refused = GateVerdict::Refused {
            why: Vec::new(),
            deceives: true,
        };
        assert_eq!(row(refused).remedies(&GateSettings::default()), []);
    }
}
