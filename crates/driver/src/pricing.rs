//! Gives the usage of a session its cost, if the agent reports tokens and no cost, and tells the agent what it may spend.

use std::sync::Arc;

use ralph_agent::{ModelPrice, Prices};
use ralph_core::{
    event::{AgentSignal, Usage},
    limits::{LIMITS, LimitRow, LimitScope, LimitUnit, consumption_at, limits_now},
    run::RunView,
};
use ralph_state::control::{IterationBudget, TokenPrice};

/// The prices that apply to one session.
pub(super) struct SessionPricing {
    /// `None` if the agent reports its cost.
    prices: Option<Arc<Prices>>,
    adapter: String,
    /// The requested model.
    model: Option<String>,
    /// The model as the agent calls it.
    reported: Option<String>,
}

impl SessionPricing {
    pub(super) fn new(prices: Option<Arc<Prices>>, adapter: &str, model: Option<String>) -> Self {
        Self {
            prices,
            adapter: adapter.to_owned(),
            model,
            reported: None,
        }
    }

    /// The price of the requested model; `None` if the agent reports its cost, or no price is known.
    pub(super) fn of_request(&self) -> Option<ModelPrice> {
        let models = self.model.as_deref();
        self.prices.as_ref()?.find(&self.adapter, models)
    }

    /// Returns the signal with an estimated cost, if it has tokens and no cost.
    pub(super) fn price(&mut self, signal: AgentSignal) -> AgentSignal {
        match signal {
            AgentSignal::Usage { usage } => AgentSignal::Usage {
                usage: self.estimated(usage),
            },
            AgentSignal::Opened { model, session } => {
                self.reported = model.clone().or(self.reported.take());
                AgentSignal::Opened { model, session }
            }
            other => other,
        }
    }

    fn estimated(&self, usage: Usage) -> Usage {
        let models = || [&self.model, &self.reported].into_iter().flatten().map(String::as_str);
        let price = || self.prices.as_ref()?.find(&self.adapter, models());
        match usage.cost_usd {
            Some(_) => usage,
            None => {
                let cost_usd = price().and_then(|price| price.cost(&usage));
                Usage {
                    cost_usd,
                    estimated: cost_usd.is_some(),
                    ..usage
                }
            }
        }
    }
}

/// The rest of the limits of the run, the day and the task for the iteration that starts; `None` if they bound neither
/// tokens nor cost.
pub(super) fn iteration_budget(view: &RunView, price: Option<ModelPrice>, now_ms: u64) -> Option<IterationBudget> {
    let work = view.iterations.latest().filter(|latest| latest.role.is_work());
    let task = work.and_then(|work| work.task.as_ref());
    let work = task.map(|task| view.iterations.work.get(task).cloned().unwrap_or_default());
    let (limits, used) = (limits_now(view), consumption_at(view, now_ms, work.as_ref()));
    let is_known = |row: &LimitRow| match row.scope {
        LimitScope::Run | LimitScope::Hour | LimitScope::Iteration => true,
        LimitScope::Task => used.task.is_some(),
        LimitScope::Day => used.today.is_some(),
    };
    let mut budget = IterationBudget::default();
    for row in LIMITS.iter().filter(|row| is_known(row)) {
        let left = row
            .max(&limits)
            .map(|max| (max - row.used(&used).unwrap_or(0.0)).max(0.0));
        match row.unit {
            LimitUnit::Dollars => budget.cost_usd = budget.cost_usd.into_iter().chain(left).reduce(f64::min),
            LimitUnit::Tokens => {
                // Whole numbers far below the precision of f64.
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                let left = left.map(|left| left as u64);
                budget.tokens = budget.tokens.into_iter().chain(left).min();
            }
            LimitUnit::Count | LimitUnit::Milliseconds => {}
        }
    }
    budget.price = price.filter(|_| budget.cost_usd.is_some()).map(|price| TokenPrice {
        input: price.input,
        output: price.output,
        cached_input: price.cached_input,
    });
    (budget != IterationBudget::default()).then_some(budget)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pricing(model: Option<&str>) -> SessionPricing {
        let price = |input| ModelPrice {
            input,
            output: 0.0,
            cached_input: None,
        };
        let prices = vec![("big".to_owned(), price(5.0)), ("small".to_owned(), price(1.0))];
        SessionPricing::new(Some(Arc::new(Prices::new(prices))), "codex", model.map(str::to_owned))
    }

    fn million(cost_usd: Option<f64>) -> AgentSignal {
        let usage = Usage {
            input_tokens: Some(1_000_000),
            cost_usd,
            ..Usage::default()
        };
        AgentSignal::Usage { usage }
    }

    fn cost(signal: &AgentSignal) -> (Option<f64>, bool) {
        let AgentSignal::Usage { usage } = signal else {
            panic!("{signal:?} is no usage");
        };
        (usage.cost_usd, usage.estimated)
    }

    #[test]
    fn the_requested_model_has_the_price_and_else_the_one_that_the_agent_reports() {
        let opened = || AgentSignal::Opened {
            session: None,
            model: Some("small-2".to_owned()),
        };
        let mut named = pricing(Some("big"));
        named.price(opened());
        assert_eq!(cost(&named.price(million(None))), (Some(5.0), true));
        let mut unnamed = pricing(None);
        assert_eq!(cost(&unnamed.price(million(None))), (None, false));
        unnamed.price(opened());
        assert_eq!(cost(&unnamed.price(million(None))), (Some(1.0), true));
    }

    #[test]
    fn an_iteration_may_spend_what_is_left_of_the_tightest_limit() {
        let mut view = RunView::default();
        assert_eq!(iteration_budget(&view, None, 0), None);
        let limits = &mut view.settings.limits;
        (limits.max_tokens, limits.max_cost_usd, limits.per_day.max_tokens) = (Some(5_000), Some(2.0), Some(900));
        view.usage = Usage {
            input_tokens: Some(3_000),
            output_tokens: Some(1_000),
            cost_usd: Some(0.5),
            ..Usage::default()
        };
        let price = ModelPrice {
            input: 1.0,
            output: 2.0,
            cached_input: None,
        };
        let budget = iteration_budget(&view, Some(price), 0).expect("limits");
        // The limit of the day counts once the day is known.
        assert_eq!((budget.tokens, budget.cost_usd), (Some(1_000), Some(1.5)));
        assert_eq!(budget.price.map(|price| price.output), Some(2.0));
    }

    #[test]
    fn a_reported_cost_stays_as_it_is() {
        assert_eq!(
            cost(&pricing(Some("big")).price(million(Some(0.5)))),
            (Some(0.5), false)
        );
        let mut reports_cost = SessionPricing::new(None, "claude", Some("big".to_owned()));
        assert_eq!(cost(&reports_cost.price(million(None))), (None, false));
    }
}
