//! The rows of an assay: what was tried, what the gate said, and what would have it say something else.

use ralph_core::event::{Bite, GateSettings, Proof};

use super::Break;

/// Why the work in the copy is not done.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The goals fail on the project as it is, for this reason.
    Already { why: String },
    /// A line was changed, and tests failed.
    By(Break),
    /// The goals passed with each of so many changes, the first of which is in place; none where there was nothing to change.
    Unnoticed { tried: usize, first: Option<Break> },
}

/// The deed of a row, by what the gate should say of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A claim without any work.
    Nothing,
    /// The work is put right.
    Repair,
    Cheat,
}

/// The gate's answer to the claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Refused {
        /// The reasons, one clause each.
        why: Vec<String>,
        /// Whether the goals passed: a cheat with which they fail deceives nobody here.
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
pub(crate) struct Row {
    pub(crate) name: String,
    /// One sentence about what was done.
    pub(crate) what: String,
    pub(crate) kind: Kind,
    pub(crate) verdict: Verdict,
    /// Files that were changed although they decide results, and that nothing guards.
    pub(crate) unguarded: Vec<String>,
    pub(crate) duration_ms: u64,
}

/// A change by which a cheat is refused.
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
    /// No setting refuses it.
    None,
}

impl Row {
    /// Whether the row is as it has to be for the others to prove anything; a cheat may come out in any way.
    pub(crate) fn is_as_it_should_be(&self) -> bool {
        match (self.kind, &self.verdict) {
            (Kind::Nothing, Verdict::Refused { .. }) | (Kind::Repair, Verdict::Accepted(_)) | (Kind::Cheat, _) => true,
            (Kind::Nothing | Kind::Repair, _) => false,
        }
    }

    pub(crate) fn is_accepted(&self) -> bool {
        matches!(self.verdict, Verdict::Accepted(_))
    }

    /// The changes of such settings by which this would not have been accepted.
    pub(crate) fn remedies(&self, settings: &GateSettings) -> Vec<Remedy> {
        match &self.verdict {
            Verdict::Refused { .. } | Verdict::Undecided { .. } => return Vec::new(),
            // Settings do not help where tests notice nothing.
            Verdict::Accepted(Proof::Tests) if self.kind != Kind::Cheat => return Vec::new(),
            Verdict::Accepted(Proof::Tests) => {}
            // Other settings do not help where no test is counted.
            Verdict::Accepted(Proof::Unconfirmed | Proof::Nothing | Proof::ExitCodes) => {
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

    fn row(verdict: Verdict) -> Row {
        Row {
            name: "x".to_owned(),
            what: String::new(),
            kind: Kind::Cheat,
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
        let accepted = row(Verdict::Accepted(Proof::Tests));
        let off = [Remedy::Trial, Remedy::Bite, Remedy::Baseline, guard];
        assert_eq!(accepted.remedies(&on), off[3..]);
        assert_eq!(accepted.remedies(&GateSettings::default()), off);
        let all_guarded = Row {
            unguarded: Vec::new(),
            ..accepted
        };
        assert_eq!(all_guarded.remedies(&on), [Remedy::None]);
        let by_exit_code = row(Verdict::Accepted(Proof::ExitCodes));
        assert_eq!(by_exit_code.remedies(&on), [Remedy::CountedTests]);
        let refused = Verdict::Refused {
            why: Vec::new(),
            deceives: true,
        };
        assert_eq!(row(refused).remedies(&GateSettings::default()), []);
    }
}
