//! What the rules say to requests, with those that answers have added meanwhile.
//!
//! The rules are looked at here and not in the machine, since paths have to be resolved for that.

use ralph_core::{
    event::{
        Answer, AskId, BackgroundCommand, BackgroundRefusal, CommandRefusal, Decider, Decision, Offer, PermissionMode,
        PermissionRequest, RememberedRule, Requester, Ruling, RunId, UserCommand,
    },
    machine::{Input, background_refusal},
    run::{Ask, Permissions},
};

use super::{config::Judge, run::Driver};

/// Why an answer to a request of which the record holds a part adds no rule.
const CUT: &str = "the request is longer than a record, and a rule must see all of it: allow it once";
/// Why an answer without a rule adds none.
const NO_OFFER: &str = "no rule can be made from the request: write one";

impl Driver {
    /// A request of the agent's, with what the rules say to it.
    pub(super) fn ruled(&self, iteration: u32, request: &PermissionRequest) -> Input {
        // An agent that was told to ask for nothing asks since its user's own settings for it say so.
        let asked = Ruling {
            decision: Decision::Ask,
            by: Decider::Mode {
                mode: PermissionMode::Auto,
            },
            offer: Offer::default(),
        };
        let permissions = &self.state().view.permissions;
        let judge = self.judge.as_ref();
        let ruling = judge.map_or(asked.clone(), |judge| judge.rule(request, permissions));
        // A question in words wants an answer in words, unless a rule says that there are to be none.
        let is_ruled = ruling.decision == Decision::Deny && matches!(ruling.by, Decider::Rule { .. });
        let ruling = if request.questions.is_empty() || is_ruled {
            ruling
        } else {
            asked
        };
        Input::PermissionRequested {
            iteration,
            request: Box::new(request.clone()),
            ruling,
        }
    }

    /// Has the rules look again at what waits, now that there are more of them, or another mode.
    pub(super) fn rule_anew(&mut self) {
        let Some(judge) = self.judge.clone() else { return };
        let permissions = &self.state().view.permissions;
        // What is not all there may be allowed by what is not there.
        let is_whole = |ask: &&Ask| !ask.cut && ask.request.questions.is_empty();
        let whole = permissions.pending.iter().filter(is_whole);
        let ruled = whole.map(|ask| Input::PermissionRuled {
            ask: ask.number,
            ruling: judge.rule(&ask.request, permissions),
        });
        let inputs: Vec<Input> = ruled.collect();
        self.own.extend(inputs);
    }

    /// Why the loop does not take a command.
    pub(super) fn refusal(&self, command: &UserCommand) -> Option<CommandRefusal> {
        if let Some(refusal) = command.refusal() {
            return Some(refusal);
        }
        let UserCommand::Answer { ask, answer, .. } = command else {
            return None;
        };
        let why = objection(&self.state().view.permissions, self.judge.as_deref(), *ask, answer)?;
        Some(CommandRefusal::Rule { ask: *ask, why })
    }

    /// Why nothing comes of a command about background tasks.
    pub(super) fn background_refusal(&self, command: &BackgroundCommand, by: Requester) -> Option<BackgroundRefusal> {
        let refused = background_refusal(&self.state().view, command, by);
        refused.or_else(|| match (command, by) {
            (BackgroundCommand::Start { command }, Requester::Agent) => self.ruled_out(command),
            (BackgroundCommand::Start { .. }, Requester::User) | (BackgroundCommand::Cancel { .. }, _) => None,
        })
    }

    /// Why the rules do not let an agent run `command`: what its own shell may not do, no task of its may do.
    fn ruled_out(&self, command: &str) -> Option<BackgroundRefusal> {
        let judge = self.judge.as_ref().filter(|judge| judge.asks())?;
        let request = PermissionRequest::of_shell(AskId("background".to_owned()), command);
        let ruling = judge.rule(&request, &self.state().view.permissions);
        match ruling.decision {
            Decision::Allow => None,
            decision @ (Decision::Ask | Decision::Deny) => Some(BackgroundRefusal::Rules {
                decision,
                by: ruling.by,
            }),
        }
    }
}

/// Why the answer to a question, which may have come too late for its agent, cannot be remembered; none to one that is not
/// open, which is told elsewhere.
pub(super) fn objection(
    permissions: &Permissions,
    judge: Option<&dyn Judge>,
    number: u32,
    answer: &Answer,
) -> Option<String> {
    let Answer::Allow {
        remember: Some(remember),
    } = answer
    else {
        return None;
    };
    let mut open = permissions.pending.iter().chain(&permissions.unanswered);
    let ask = open.find(|ask| ask.number == number)?;
    // It wants words, and the machine says so.
    if !ask.request.questions.is_empty() {
        return None;
    }
    if ask.cut {
        return Some(CUT.to_owned());
    }
    let rules = match remember.rules.is_empty() {
        true => &ask.offer.rules,
        false => &remember.rules,
    };
    if rules.is_empty() {
        return Some(NO_OFFER.to_owned());
    }
    judge?.objection(&ask.request, permissions, rules, &ask.offer.asked_by)
}

/// Rules that an answer to a question of `run` adds, as the project keeps them.
pub(super) fn of_project(rules: &[String], over: &[String], run: &RunId, ask: u32, at_ms: u64) -> Vec<RememberedRule> {
    let kept = rules.iter().map(|rule| RememberedRule {
        rule: rule.clone(),
        over: over.to_vec(),
        run: run.clone(),
        ask,
        at_ms,
    });
    kept.collect()
}
