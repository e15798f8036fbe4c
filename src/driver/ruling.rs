//! What the rules say to requests, with those that answers have added meanwhile.
//!
//! The rules are looked at here and not in the machine, since paths have to be resolved for that.

use crate::{
    event::{
        Answer, CommandRefusal, Decider, Decision, Offer, PermissionMode, PermissionRequest, Remember, Ruling,
        UserCommand,
    },
    machine::Input,
    run::Ask,
};

use super::run::Driver;

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
        let added = &self.state().view.permissions.rules;
        let judge = self.judge.as_ref();
        let ruling = judge.map_or(asked.clone(), |judge| judge.rule(request, added));
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

    /// Has the rules look again at what waits, now that there are more of them.
    pub(super) fn rule_anew(&mut self) {
        let Some(judge) = self.judge.clone() else { return };
        let permissions = &self.state().view.permissions;
        // What is not all there may be allowed by what is not there.
        let is_whole = |ask: &&Ask| !ask.cut && ask.request.questions.is_empty();
        let whole = permissions.pending.iter().filter(is_whole);
        let ruled = whole.map(|ask| Input::PermissionRuled {
            ask: ask.number,
            ruling: judge.rule(&ask.request, &permissions.rules),
        });
        let inputs: Vec<Input> = ruled.collect();
        self.own.extend(inputs);
    }

    /// Why the loop does not take a command.
    pub(super) fn refusal(&self, command: &UserCommand) -> Option<CommandRefusal> {
        if let Some(refusal) = command.refusal() {
            return Some(refusal);
        }
        let UserCommand::Answer {
            ask,
            answer: Answer::Allow {
                remember: Some(remember),
            },
        } = command
        else {
            return None;
        };
        let why = self.objection(*ask, remember)?;
        Some(CommandRefusal::Rule { ask: *ask, why })
    }

    /// Why the answer to a question cannot be remembered; none to one that waits no more, which is told elsewhere.
    fn objection(&self, number: u32, remember: &Remember) -> Option<String> {
        let permissions = &self.state().view.permissions;
        let ask = permissions.pending.iter().find(|ask| ask.number == number)?;
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
        let judge = self.judge.as_ref()?;
        judge.objection(&ask.request, &permissions.rules, rules, &ask.offer.asked_by)
    }
}
