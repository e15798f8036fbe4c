//! Applies the permission rules to requests, including rules that answers have added meanwhile.
//!
//! This is done here and not in the machine, since it has to resolve paths.

use std::{borrow::Cow, sync::Arc};

use ralph_core::{
    event::{
        Answer, Ask, AskId, BackgroundCommand, BackgroundRefusal, CommandRefusal, Decider, Decision, LimitKind,
        NewLimits, NewWorker, Offer, PermissionMode, PermissionRequest, RememberedRule, Requester, Ruling, RunId,
        SubagentStart, ToolKinds, UserCommand, Worker,
    },
    limits::LimitUnit,
    machine::{Input, background_refusal},
    run::Permissions,
};
use ralph_text::with_causes;

use super::{
    config::{AvailableAgent, PermissionDecider},
    parts::RunAgents,
    run::Driver,
};

/// Why no rule can be added for a request that is recorded only in part.
const CUT: &str = "the request is too long to be recorded in full, so no rule can be made from it; allow it once";
/// Why no rule is added if neither the answer nor the offer names one.
const NO_OFFER: &str = "no rule can be made from the request; write one yourself";

impl Driver {
    /// Returns a request of the agent as an input, with the decision of the rules.
    pub(super) fn ruled(&self, iteration: u32, request: &PermissionRequest) -> Input {
        // An agent that was told not to ask does so because its user's own settings for it say so.
        let asked = Ruling {
            decision: Decision::Ask,
            by: Decider::Mode {
                mode: PermissionMode::Auto,
            },
            offer: Offer::default(),
        };
        let permissions = self.permissions();
        let policy = self.agents.permission_policy.as_ref();
        let ruling = policy.map_or(asked.clone(), |policy| policy.rule(request, &permissions));
        // A question in words needs an answer in words, unless a rule denies it.
        let is_ruled = ruling.decision == Decision::Deny && matches!(ruling.by, Decider::Rule { .. });
        let ruling = match request.subagent {
            // The agent's own settings still apply to it.
            SubagentStart::Counted => Ruling {
                decision: Decision::Allow,
                ..asked
            },
            SubagentStart::No | SubagentStart::Yes if request.questions.is_empty() || is_ruled => ruling,
            SubagentStart::No | SubagentStart::Yes => asked,
        };
        Input::PermissionRequested {
            iteration,
            request: Box::new(request.clone()),
            ruling,
        }
    }

    /// The kinds of tools before whose use the agent of the next session has to ask.
    pub(super) fn concerns(&self) -> ToolKinds {
        let policy = self.agents.permission_policy.as_ref();
        policy.map_or(ToolKinds::NONE, |policy| {
            policy.concerns(&self.state().view.permissions)
        })
    }

    /// The rules, if the agent of the next session has to ask before any tool.
    pub(super) fn asked_policy(&self) -> Option<&Arc<dyn PermissionDecider>> {
        let policy = self.agents.permission_policy.as_ref();
        policy.filter(|_| !self.concerns().is_empty())
    }

    /// The permissions that apply to the requests of the running session.
    fn permissions(&self) -> Cow<'_, Permissions> {
        let permissions = &self.state().view.permissions;
        let is_told_to_ask = (self.agents.session.as_ref()).is_some_and(|session| session.is_told_to_ask);
        match permissions.mode {
            // It asks because of its user's own settings, which no mode may answer.
            Some(PermissionMode::Auto) if !is_told_to_ask => Cow::Owned(Permissions {
                mode: None,
                ..permissions.clone()
            }),
            Some(_) | None => Cow::Borrowed(permissions),
        }
    }

    /// Applies the rules again to pending requests, after rules were added or the mode has changed.
    pub(super) fn rule_anew(&mut self) {
        let Some(policy) = self.agents.permission_policy.clone() else {
            return;
        };
        let permissions = self.permissions();
        // A request that is recorded only in part could be allowed wrongly, because of its missing part.
        let is_whole = |ask: &&Ask| !ask.cut && ask.request.questions.is_empty();
        let whole = permissions.pending.iter().filter(is_whole);
        let ruled = whole.map(|ask| Input::PermissionRuled {
            ask: ask.number,
            ruling: policy.rule(&ask.request, &permissions),
        });
        let inputs: Vec<Input> = ruled.collect();
        self.own.extend(inputs);
    }

    /// Why the loop refuses a command; `None` if it takes it.
    pub(super) fn refusal(&self, command: &UserCommand) -> Option<CommandRefusal> {
        if let Some(refusal) = command.refusal() {
            return Some(refusal);
        }
        let (ask, answer) = match command {
            UserCommand::Answer { ask, answer, .. } => (ask, answer),
            UserCommand::SetLimits { limits } => return self.uncounted(limits),
            UserCommand::SetWorker { worker } => return self.unable(worker),
            UserCommand::SetPermissionMode { mode } => return self.unasking(*mode),
            _ => return None,
        };
        let why = objection(
            &self.state().view.permissions,
            self.agents.permission_policy.as_deref(),
            *ask,
            answer,
        )?;
        Some(CommandRefusal::Rule {
            ask: *ask,
            why: why.into(),
        })
    }

    /// The refusal of a mode in which agents have to ask, if one of the run's cannot.
    fn unasking(&self, mode: PermissionMode) -> Option<CommandRefusal> {
        let began_without = self.state().view.settings.permission_mode.is_auto();
        let mut available = self.agents.available.iter();
        let agent = available.find(|agent| began_without && !mode.is_auto() && !agent.can_ask_always)?;
        let adapter = agent.adapter.id().into();
        Some(CommandRefusal::Unasking { adapter })
    }

    /// The refusal of another worker: the run has no such agent, it cannot be given the model, or it does not report what
    /// a limit counts.
    fn unable(&self, new: &NewWorker) -> Option<CommandRefusal> {
        let settings = &self.state().view.settings;
        let Worker { adapter, model } = settings.worker_with(new);
        let mut available = self.agents.available.iter();
        let Some(agent) = available.find(|agent| agent.adapter.id() == adapter) else {
            let adapter = adapter.into();
            return Some(CommandRefusal::AdapterMissing { adapter });
        };
        let taken = model
            .as_deref()
            .map_or(Ok(()), |model| agent.adapter.takes_model(model));
        if let Err(error) = taken {
            let why = with_causes(&error).into();
            return Some(CommandRefusal::Model { why });
        }
        let limits = &settings.limits;
        let has_cost = agent.has_cost(model.as_deref(), &self.agents.prices);
        let limit = match (
            LimitUnit::Dollars.is_limited(limits) && !has_cost,
            LimitUnit::Tokens.is_limited(limits),
        ) {
            (true, _) => LimitKind::MaxCost,
            (false, true) if !agent.has_tokens() => LimitKind::MaxTokens,
            (false, _) => return None,
        };
        let adapter = adapter.into();
        Some(CommandRefusal::Uncounted { adapter, limit })
    }

    /// The refusal of a new limit that would not end the run, because an agent does not report what it counts.
    fn uncounted(&self, limits: &NewLimits) -> Option<CommandRefusal> {
        let RunAgents {
            available,
            workers,
            prices,
            ..
        } = &self.agents;
        let refusal = |agent: &AvailableAgent, limit| CommandRefusal::Uncounted {
            adapter: agent.adapter.id().into(),
            limit,
        };
        let own = self.state().view.settings.worker();
        let mut of_cost = available.iter().filter(|agent| {
            let mut workers = workers
                .iter()
                .chain([&own])
                .filter(|worker| worker.adapter == agent.adapter.id());
            workers.any(|worker| !agent.has_cost(worker.model.as_deref(), prices))
        });
        let mut of_tokens = available.iter().filter(|agent| !agent.has_tokens());
        let cost = limits.max_cost_usd.and_then(|_| of_cost.next());
        let tokens = limits.max_tokens.and_then(|_| of_tokens.next());
        let cost = cost.map(|agent| refusal(agent, LimitKind::MaxCost));
        cost.or_else(|| tokens.map(|agent| refusal(agent, LimitKind::MaxTokens)))
    }

    /// Why a command about background tasks is refused; `None` if it is not.
    pub(super) fn background_refusal(&self, command: &BackgroundCommand, by: Requester) -> Option<BackgroundRefusal> {
        let refused = background_refusal(&self.state().view, command, by);
        refused.or_else(|| match (command, by) {
            (BackgroundCommand::Start { command }, Requester::Agent) => self.denial_by_rules(command),
            (BackgroundCommand::Start { .. }, Requester::User) | (BackgroundCommand::Cancel { .. }, _) => None,
        })
    }

    /// Why the rules do not let an agent run `command`: its background tasks may do no more than its own shell.
    fn denial_by_rules(&self, command: &str) -> Option<BackgroundRefusal> {
        let policy = self.asked_policy()?;
        let request = PermissionRequest::for_shell(AskId("background".to_owned()), command);
        let ruling = policy.rule(&request, &self.state().view.permissions);
        match ruling.decision {
            Decision::Allow => None,
            decision @ (Decision::Ask | Decision::Deny) => Some(BackgroundRefusal::Rules {
                decision,
                by: ruling.by,
            }),
        }
    }
}

/// Why the rules of an answer to a question, which may have come too late for its agent, cannot be added. `None` for a
/// question that is not open, which the machine reports.
pub(super) fn objection(
    permissions: &Permissions,
    policy: Option<&dyn PermissionDecider>,
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
    // The question needs words, which the machine reports.
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
    policy?.objection(&ask.request, permissions, rules, &ask.offer.asked_by)
}

/// Returns the rules that an answer to a question of `run` adds, in the form that the project stores.
pub(super) fn project_rules(
    rules: &[String],
    over: &[String],
    run: &RunId,
    ask: u32,
    at_ms: u64,
) -> Vec<RememberedRule> {
    let kept = rules.iter().map(|rule| RememberedRule {
        rule: rule.clone(),
        over: over.to_vec(),
        run: run.clone(),
        ask,
        at_ms,
    });
    kept.collect()
}
